"""Reference models that are fitted to the same rows as a formula: one table, one row each.

To add a baseline, write a class with `fit` and `predict` (see `Estimator`) in the file of its subject, and
add its row to `TABLE`. Studies, titles and tests read the table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from trainlaw.formulas.errors import InputError, unknown_name
from trainlaw.formulas.scopes import (
    GPU_PAIR,
    MEASURED_LAYER,
    MULTI_GPU,
    MULTI_GPU_RUN,
    RUN,
    check_scope_name,
)
from trainlaw.validate.baselines.anchors import (
    AnchorLine,
    OperationsNonnegative,
    ProfetEnsemble,
    anchor_bandwidth_ratio,
    anchor_peak_ratio,
)
from trainlaw.validate.baselines.closed_forms import cf5, cf9, cf12, cf21, cf21_tensor
from trainlaw.validate.baselines.engines import Gplearn, Pyoperon
from trainlaw.validate.baselines.hand_form import HandForm
from trainlaw.validate.baselines.layers import (
    LayerPerceptron,
    layer_boosting_on_product,
    layer_matrix_product,
    layer_roofline,
)
from trainlaw.validate.baselines.learned import (
    GradientBoosting,
    Perceptron,
    RandomForest,
    boosting_on_cf21,
    boosting_on_perfect_scaling,
    boosting_on_roofline,
)
from trainlaw.validate.baselines.linear import (
    MedianTime,
    NonnegativeLinear,
    PowerLaw,
    anchor_ratio,
    layer_null,
    null_compute,
    null_memory,
    null_scaling,
)
from trainlaw.validate.baselines.many_core import many_core_seconds
from trainlaw.validate.baselines.roofline import LayerwiseRoofline, Roofline
from trainlaw.validate.baselines.several_gpus import MG13, ComposedScaling, PerfectScaling, RingScaling
from trainlaw.validate.baselines.sparse import LogarithmicLasso, NonnegativePath
from trainlaw.validate.estimators import EstimatorFactory


@dataclass(frozen=True)
class Baseline:
    """A row of the table of baselines.

    Attributes
    ----------
    name : str
        Unique key, as in `trainlaw study --against`.
    title : str
        Name shown to the user.
    scope : str
        Scope of the formulas to compare with, a key of `trainlaw.formulas.scopes.SCOPES`; "" for all.
    make : EstimatorFactory
        Returns a new, unfitted estimator; can be pickled.
    requires : str
        What it needs beyond the rows of its scope: "" for nothing, "engine" for a third-party engine
        (`trainlaw[peers]`), "profile" for the operation times of one GPU pair.
    """

    name: str
    title: str
    scope: str
    make: EstimatorFactory
    requires: str = ""


#: From the simplest to the most elaborate, by scope.
TABLE: tuple[Baseline, ...] = (
    Baseline("null_compute", "null: FLOPs / peak", RUN, null_compute),
    Baseline("null_memory", "null: bytes / bandwidth", RUN, null_memory),
    Baseline("roofline", "roofline", RUN, Roofline),
    Baseline("power_law", "power law", RUN, PowerLaw),
    Baseline("nonnegative_linear", "non-negative linear", RUN, NonnegativeLinear),
    Baseline("cf5", "hand-derived, 5 terms", RUN, cf5),
    Baseline("cf9", "hand-derived, 9 terms", RUN, cf9),
    Baseline("cf12", "hand-derived, 12 terms", RUN, cf12),
    Baseline("cf21", "hand-derived, 21 terms", RUN, cf21),
    Baseline("cf21_tensor", "hand-derived, 21 terms, tensor exponent", RUN, cf21_tensor),
    Baseline("hand_form", "hand-derived skeleton, 19 constants", RUN, HandForm),
    Baseline("nnls_path", "sparse non-negative sum of times", RUN, NonnegativePath),
    Baseline("lasso_log", "lasso in logarithms and products", RUN, LogarithmicLasso),
    Baseline("layerwise_roofline", "layer-wise roofline", RUN, LayerwiseRoofline),
    Baseline("random_forest", "random forest", RUN, RandomForest),
    Baseline("gradient_boosting", "gradient boosting", RUN, GradientBoosting),
    Baseline("gradient_boosting_on_roofline", "boosting on roofline", RUN, boosting_on_roofline),
    Baseline("gradient_boosting_on_cf21", "boosting on 21 terms", RUN, boosting_on_cf21),
    Baseline("perceptron", "perceptron", RUN, Perceptron),
    Baseline("gplearn", "gplearn", RUN, Gplearn, "engine"),
    Baseline("pyoperon", "pyoperon", RUN, Pyoperon, "engine"),
    Baseline("null_scaling", "null: constant x time on one GPU", MULTI_GPU, null_scaling),
    Baseline("perfect_scaling", "null: perfect scaling", MULTI_GPU, PerfectScaling),
    Baseline("ring_scaling", "ring all-reduce", MULTI_GPU, RingScaling),
    Baseline("mg13", "hand-derived, 13 constants", MULTI_GPU, MG13),
    Baseline(
        "gradient_boosting_on_perfect_scaling",
        "boosting on perfect scaling",
        MULTI_GPU,
        boosting_on_perfect_scaling,
    ),
    Baseline("composed_scaling", "21 terms, then a ring", MULTI_GPU_RUN, ComposedScaling),
    Baseline("anchor_ratio", "null: ratio per pair", GPU_PAIR, anchor_ratio, "profile"),
    Baseline("profet_line", "PROFET, linear leg", GPU_PAIR, AnchorLine, "profile"),
    Baseline("operations_nonnegative", "non-negative operations", GPU_PAIR, OperationsNonnegative, "profile"),
    Baseline("profet_ensemble", "PROFET, ensemble", GPU_PAIR, ProfetEnsemble, "profile"),
    Baseline("anchor_peak_ratio", "null: anchor's time x peak ratio", GPU_PAIR, anchor_peak_ratio),
    Baseline(
        "anchor_bandwidth_ratio", "null: anchor's time x bandwidth ratio", GPU_PAIR, anchor_bandwidth_ratio
    ),
    Baseline("layer_null", "null: FLOPs / peak", MEASURED_LAYER, layer_null),
    Baseline("layer_roofline", "roofline of a layer", MEASURED_LAYER, layer_roofline),
    Baseline("layer_matrix_product", "hand-derived matrix product", MEASURED_LAYER, layer_matrix_product),
    Baseline("layer_boosting", "boosting", MEASURED_LAYER, GradientBoosting),
    Baseline(
        "layer_boosting_on_product",
        "boosting on matrix product",
        MEASURED_LAYER,
        layer_boosting_on_product,
    ),
    Baseline("layer_perceptron", "perceptron, as MLPredict", MEASURED_LAYER, LayerPerceptron),
    Baseline("constant", "constant: the median time", "", MedianTime),
)


def index_by_name(rows: Iterable[Baseline]) -> Mapping[str, Baseline]:
    """Return the baselines by name.

    Parameters
    ----------
    rows : iterable of Baseline
        A table of baselines.

    Returns
    -------
    mapping of str to Baseline
        Read-only, in the order of the rows.

    Raises
    ------
    InputError
        If two rows have the same name.
    UnknownNameError
        If a row has an unknown scope.
    """
    index: dict[str, Baseline] = {}
    for row in rows:
        if row.scope:
            check_scope_name(row.scope)
        if row.name in index:
            raise InputError(f"two baselines are named {row.name!r}: rename one")
        index[row.name] = row
    return MappingProxyType(index)


_BY_NAME = index_by_name(TABLE)


def baseline(name: str) -> Baseline:
    """Return the baseline with this name.

    Parameters
    ----------
    name : str
        Unique key in `TABLE`.

    Returns
    -------
    Baseline
        Its row.

    Raises
    ------
    UnknownNameError
        With near names, if there is no such baseline.

    Examples
    --------
    >>> baseline("cf9").title
    'hand-derived, 9 terms'
    """
    if name not in _BY_NAME:
        raise unknown_name("baseline", name, _BY_NAME)
    return _BY_NAME[name]


def baselines_for(scope: str, requires: str = "") -> dict[str, EstimatorFactory]:
    """Return the factories of the baselines of a scope by name, in the order of the table.

    Parameters
    ----------
    scope : str
        A key of `trainlaw.formulas.scopes.SCOPES`.
    requires : str
        What these baselines need beyond the rows of the scope, as in `Baseline`.

    Returns
    -------
    dict of str to EstimatorFactory
        With those of all scopes last.

    Raises
    ------
    UnknownNameError
        If there is no such scope.

    Examples
    --------
    >>> list(baselines_for("gpu_pair"))
    ['anchor_peak_ratio', 'anchor_bandwidth_ratio', 'constant']
    """
    check_scope_name(scope)
    return {row.name: row.make for row in TABLE if row.scope in (scope, "") and row.requires == requires}


def named_baselines(*names: str) -> dict[str, EstimatorFactory]:
    """Return the factories of the baselines with these names.

    Parameters
    ----------
    *names : str
        Unique keys in `TABLE`.

    Returns
    -------
    dict of str to EstimatorFactory
        In the order of the names.

    Raises
    ------
    UnknownNameError
        With near names, if there is no such baseline.
    """
    return {name: baseline(name).make for name in names}


def title_of(estimator: str) -> str:
    """Return the name of an estimator as shown to the user.

    Parameters
    ----------
    estimator : str
        Name of a baseline, or of another estimator, which keeps its name.

    Returns
    -------
    str
        Title.

    Examples
    --------
    >>> title_of("cf9"), title_of("my_model")
    ('hand-derived, 9 terms', 'my_model')
    """
    return _BY_NAME[estimator].title if estimator in _BY_NAME else estimator


__all__ = [
    "TABLE",
    "Baseline",
    "baseline",
    "baselines_for",
    "index_by_name",
    "many_core_seconds",
    "named_baselines",
    "title_of",
]
