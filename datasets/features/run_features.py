"""Features of runs: times at data-sheet rates (work over peak, bytes over bandwidth), and all of them.

A training iteration computes each product three times (forward, gradient of the input, gradient of the
weights), and one multiply-accumulate is two operations: 6 FLOP per MAC. The sums over im2col elements,
convolution outputs and weights come from expanding the time of a matrix product that under-utilises the GPU,
2MNK/P (1+K0/K)(1+N0/N)(1+M0/M), so they are counted at the same 6 FLOP per element and peak rate.
Parameters are 4 bytes each. A launch costs 10 us, an iteration 1 ms, a copy from the host 1/(10 GB/s): round
figures, which the constants of a formula correct.

Features of runs on several GPUs are the time on one GPU, and what communication adds. Gradients are reduced
in one of four ways, each with features that are 0 for the others: in buckets, which travel during the
backward pass; tensor by tensor; through parameter servers; or by torch's DataParallel, which copies the CNN
from one GPU of a node to the others in each iteration. They have the precision of the run: on the same GPUs
half-precision runs transfer them in half the time. One GPU communicates nothing: 0 s.

The ring is that of Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations", JPDC 69(2), 2009. Buckets of 25 MB are the default of torch's DistributedDataParallel. Where
GPUs cannot access each other's memory, data pass through that of the host, at about 4 GB/s whatever the link.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from trainlaw.datasets.features.amounts import wide_amounts
from trainlaw.datasets.features.feature import Feature, chosen_features, features_of
from trainlaw.datasets.features.work import works
from trainlaw.formulas.algebra.units import SECOND
from trainlaw.formulas.features import FeatureSpec

TARGET = FeatureSpec("time_s", "t", SECOND, "time of one training iteration", low=0.0)

FORWARD_TARGET = replace(TARGET, meaning="time of one forward pass")

#: The measured time of the same configuration on one GPU, seconds; nan where it was not measured.
SINGLE_GPU_TIME = "single_gpu_time_s"
SCALING_FEATURES: tuple[Feature, ...] = tuple(features_of("scaling").values())
#: Times of the skeleton: work at the rate of the precision, work outside tensor cores at the fp32 rate, and
#: bytes through the level 2 cache.
SKELETON_FEATURES: tuple[Feature, ...] = (
    *features_of("skeleton").values(),
    *(work.feature for work in works()),
)
#: Features that each run has: all but `SCALING_FEATURES`, which runs on one GPU lack.
OF_ANY_RUN = {
    **features_of("run", "gpu", "cnn", "link", "time"),
    **{row.spec.name: row for row in SKELETON_FEATURES},
    **features_of("communication"),
}
FEATURES: Mapping[str, Feature] = MappingProxyType(
    OF_ANY_RUN
    | {row.spec.name: row for row in SCALING_FEATURES}
    | {amount.name: amount.feature for amount in wide_amounts() if amount.name not in OF_ANY_RUN}
)


def feature_specs(
    names: Iterable[str] | None = None, features: Mapping[str, Feature] = FEATURES
) -> tuple[FeatureSpec, ...]:
    """Return the specifications of features.

    Parameters
    ----------
    names : iterable of str, optional
        Names in `features`; all of them by default.
    features : mapping of str to Feature
        A table of features: `FEATURES` of runs, `LAYER_FEATURES`, `CNN_LAYER_FEATURES` or `PAIR_FEATURES`.

    Returns
    -------
    tuple of FeatureSpec
        Name, symbol, unit, meaning and valid range of each, in the order of `names`.

    Raises
    ------
    UnknownNameError
        A name is not in `features`.

    Examples
    --------
    >>> [str(spec.unit) for spec in feature_specs(["macs", "conv_compute_s"])]
    ['MAC/sample', 's']
    """
    return tuple(feature.spec for feature in chosen_features(features, names))
