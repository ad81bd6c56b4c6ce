"""The skeleton of a formula of whole iterations: which parts add up, and what each of them may hold.

    time = max(compute + fp32 lanes + memory + depthwise + kernels, host, least) + copy

The device's work takes a sum of times: products at the peak rate of the precision, work outside tensor cores
at the fp32 rate, bytes through the level 2 cache, depthwise convolutions, and a time per kernel. The host
launches meanwhile, so the longer of the two counts, and never less than the peak rates allow.

Expected constants are round figures from hardware and algorithms: one pass over all products is 1, Winograd
halves 3 x 3 convolutions, an output is written and read about ten times in an iteration, pageable copies run
at 2.5 GB/s. What was tuned on which runs is said in docs/explanation/law.md.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.search import BracketSearch, evolved, required_bracket
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.evolve import Bracket, Factor
from trainlaw.evolve.settings import EXPONENTIAL
from trainlaw.formulas import Expression, FeatureSpec
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import RUN
from trainlaw.validate.baselines.inputs import class_weights, rows_drawn

_TEMPLATE = parse_text(
    "max(max((((hole_compute + hole_simt) + hole_memory) + hole_depthwise) + hole_kernels, host_s), "
    "least_time_s) + hole_copy"
)


def software_factors(channels_last: float, fused: float) -> tuple[Factor, Factor]:
    """Return what software changes in 16 bits: expected exponents of NHWC and of fused NHWC kernels."""
    return (
        Factor("runs_channels_last", -1.5, 1.0, expected=channels_last, kind=EXPONENTIAL),
        Factor("runs_fused", -1.5, 1.0, expected=fused, kind=EXPONENTIAL),
    )


# Peak rates are stated at the boost clock; the base clock is nearer to what a long run keeps. Rates that
# only tensor cores reach are used less well, the higher they are.
_COMPUTE = Bracket(
    "hole_compute",
    (
        ("other_matrix_s", 1.0), ("conv3x3_matrix_s", 0.5), ("im2col_matrix_s", 10.0),
        ("conv1x1_matrix_s", 0.3), ("conv_output_matrix_s", 50.0),
    ),
    (
        Factor("matrix_number", 0.0, 0.9, expected=0.15),
        Factor("clock_ratio", -1.0, 0.0, expected=-0.6),
    ),
    (
        "other_matrix_s", "conv3x3_matrix_s", "matrix_number", "clock_ratio",
    ),
)  # fmt: skip
_SIMT = Bracket(
    "hole_simt",
    (
        ("im2col_simt_s", 10.0), ("conv_input_simt_s", 50.0), ("grouped_conv_simt_s", 1.0),
        ("grouped_channels_last_simt_s", 5.0), ("conv_weight_simt_s", 100.0), ("thin_conv_simt_s", 0.5),
        ("conv_output_simt_s", 30.0),
    ),
    (
        Factor("dual_issue", -1.0, 0.0, expected=-0.6),
        Factor("cache_per_lane", -1.0, 0.0, expected=-0.8),
        # Transposing costs lanes; fused kernels need neither unfolded images nor their own copies.
        *software_factors(0.3, -0.5),
    ),
    (
        "im2col_simt_s", "conv_input_simt_s", "grouped_conv_simt_s", "grouped_channels_last_simt_s",
        "conv_weight_simt_s", "thin_conv_simt_s", "dual_issue", "cache_per_lane", "runs_channels_last",
        "runs_fused",
    ),
)  # fmt: skip
_MEMORY = Bracket(
    "hole_memory",
    (
        ("conv_own_cached_s", 6.0), ("light_own_cached_s", 3.0), ("parameter_memory_s", 5.0),
        ("gate_cached_s", 3.0),
        ("other_normalization_cached_s", 3.0), ("optimizer_memory_s", 3.0),
    ),
    # Layout copies and separate normalisations move about half of the bytes.
    (Factor("is_amd", 0.0, 2.5, expected=0.7, kind=EXPONENTIAL), *software_factors(-0.5, -0.7)),
    (
        "conv_own_cached_s", "light_own_cached_s", "parameter_memory_s", "is_amd",
        "runs_channels_last", "runs_fused",
    ),
)  # fmt: skip
_DEPTHWISE = Bracket(
    "hole_depthwise",
    (("depthwise_output_cached_s", 40.0), ("depthwise_simt_s", 6.0)),
    (
        Factor("is_amd", 0.0, 2.5, expected=1.2, kind=EXPONENTIAL),
        Factor("cache_per_lane", -1.0, 0.0, expected=-0.1),
    ),
    ("depthwise_output_cached_s", "depthwise_simt_s", "is_amd"),
)
_KERNELS = required_bracket(
    "hole_kernels",
    (("conv_launch_s", 2.0), ("iteration_overhead_s", 1.0)),
    (Factor("clock_number", -3.0, 0.0, expected=-1.0),),
)
_COPY = required_bracket("hole_copy", (("input_copy_s", 4.0),))
BRACKETS = (_COMPUTE, _SIMT, _MEMORY, _DEPTHWISE, _KERNELS, _COPY)


#: What an iteration takes at least: the host's launches, and the products at the peak rate.
FLOORS = ("host_s", "least_time_s")


def names_of(brackets: Iterable[Bracket], floors: Iterable[str] = FLOORS) -> tuple[str, ...]:
    """Return the features of a skeleton with these brackets and floors, each once."""
    brackets = tuple(brackets)
    terms = (name for bracket in brackets for name, _ in bracket.terms)
    factors = (factor.feature for bracket in brackets for factor in bracket.factors)
    return tuple(dict.fromkeys((*terms, *factors, *floors)))


SKELETON_NAMES = names_of(BRACKETS)
#: Formulas tried by a search that fills the skeleton, where all that is required is there from the start:
#: 1,000 left the errors on held-out GPUs and architectures as they are.
SKELETON_EVALUATIONS = 400
#: Weights and exponents; of those that are always there, two are 1 or -1 and not written.
MOST_CONSTANTS = 30
# Deviations of less than a factor of exp(0.35) count by their square, larger ones by their size; half of the
# usual weight of the priors. Both chosen on the LOGO error of the required part (docs/explanation/law.md).
_LOSS_WIDTH, _PRIOR_WEIGHT = 0.35, 1e-3


class SkeletonSearch(BracketSearch):
    """Evolves a formula within the skeleton.

    settings : of the search; budget and random seed are kept, the rest is set here. The formula is chosen by
    its errors without each GPU group, without each source and without each kind of CNN; it is the one that is
    chosen most often when these are resampled.
    """

    usual_brackets: ClassVar[tuple[Bracket, ...]] = BRACKETS
    division_columns = ("source", "cnn_family")
    template: ClassVar[Expression] = _TEMPLATE
    target: ClassVar[FeatureSpec] = TARGET
    scope: ClassVar[str] = RUN
    floors: ClassVar[tuple[str, ...]] = FLOORS
    choice: ClassVar[str] = "most_stable"

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None = None
    ) -> Self:
        """Search; X : features of runs, (n_runs, k). y, seconds, and groups : (n_runs,).

        divisions : labels of the columns `division_columns`, (n_runs, n_labels); None without any.
        """
        settings = replace(
            self.settings,
            template=self.template,
            brackets=self.brackets,
            islands=1,
            population=self.population_of(100),
            max_nodes=150,
            loss_width=_LOSS_WIDTH,
            prior_weight=_PRIOR_WEIGHT,
            choice=self.choice,
        )
        rows, names = rows_drawn(groups), names_of(self.usual_brackets, self.floors)
        search = evolved(feature_specs(names), self.target, settings, self.scope)
        return self.keep(
            search.fit(
                X[list(names)].iloc[rows],
                y[rows],
                groups[rows],
                sample_weight=class_weights(X.iloc[rows]),
                further_groups=[] if divisions is None else _dividing(divisions.iloc[rows]),
            )
        )


def _dividing(divisions: pd.DataFrame) -> list[np.ndarray]:
    """Return the columns of labels, each (n_runs,), that divide the runs into groups at all."""
    return [divisions[name].to_numpy(dtype=str) for name in divisions if divisions[name].nunique() > 1]


def fits_skeleton(X: pd.DataFrame) -> bool:
    """Return whether all quantities of the skeleton are known for every run of X, (n_runs, k)."""
    return set(SKELETON_NAMES) <= set(X) and bool(np.isfinite(X[list(SKELETON_NAMES)].to_numpy()).all())
