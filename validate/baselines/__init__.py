"""Reference models that are fitted to the same rows as a formula: one table, one row each.

To add a baseline, write a class with `fit` and `predict` (see `Estimator`) in the file of its subject, and
add its row to `TABLE`. Studies, titles and tests read the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from trainlaw.formulas.errors import check_name, unknown_name
from trainlaw.formulas.scopes import GPU_PAIR, MEASURED_LAYER, MULTI_GPU, RUN, SCOPES
from trainlaw.validate.baselines.engines import Gplearn, Pyoperon
from trainlaw.validate.baselines.forms import (
    cf9,
    layer_matrix_product,
    layer_roofline,
    mg13,
    perfect_scaling,
    ring_scaling,
    roofline,
)
from trainlaw.validate.baselines.learned import GradientBoosting, boosting_on_perfect_scaling
from trainlaw.validate.baselines.null_models import anchor_peak_ratio, median_time, null_compute
from trainlaw.validate.baselines.sparse import NonnegativePath
from trainlaw.validate.estimators import EstimatorFactory


@dataclass(frozen=True)
class Baseline:
    """A row of the table of baselines.

    name : unique key, as in `trainlaw study --against`. title : name shown to the user. scope : of the
    formulas to compare with, a key of `trainlaw.formulas.scopes.SCOPES`; "" for all. make : returns a
    new, unfitted estimator; can be pickled. requires : what it needs beyond the rows of its scope: "" for
    nothing, "engine" for a third-party engine (`trainlaw[peers]`).
    """

    name: str
    title: str
    scope: str
    make: EstimatorFactory
    requires: str = ""


#: From the simplest to the most elaborate, by scope.
TABLE: tuple[Baseline, ...] = (
    Baseline("null_compute", "null: FLOPs / peak", RUN, null_compute),
    Baseline("roofline", "roofline", RUN, roofline),
    Baseline("cf9", "hand-derived, 9 terms", RUN, cf9),
    Baseline("nnls_path", "sparse non-negative sum of times", RUN, NonnegativePath),
    Baseline("gplearn", "gplearn", RUN, Gplearn, "engine"),
    Baseline("pyoperon", "pyoperon", RUN, Pyoperon, "engine"),
    Baseline("perfect_scaling", "null: perfect scaling", MULTI_GPU, perfect_scaling),
    Baseline("ring_scaling", "ring all-reduce", MULTI_GPU, ring_scaling),
    Baseline("mg13", "hand-derived, 13 constants", MULTI_GPU, mg13),
    Baseline(
        "gradient_boosting_on_perfect_scaling",
        "boosting on perfect scaling",
        MULTI_GPU,
        boosting_on_perfect_scaling,
    ),
    Baseline("anchor_peak_ratio", "null: anchor's time x peak ratio", GPU_PAIR, anchor_peak_ratio),
    Baseline("layer_roofline", "roofline of a layer", MEASURED_LAYER, layer_roofline),
    Baseline("layer_matrix_product", "hand-derived matrix product", MEASURED_LAYER, layer_matrix_product),
    Baseline("gradient_boosting", "gradient boosting", "", GradientBoosting),
    Baseline("constant", "constant: the median time", "", median_time),
)

NO_SEARCH, RANDOM_SEARCH = "no_search", "random_search"
STEPWISE, PRUNED_LAW, LASSO = "stepwise", "pruned_law", "lasso"
#: Titles of what a study fits in addition to its search, so that evolution shows what it adds.
CONTROLS: Mapping[str, str] = MappingProxyType(
    {
        NO_SEARCH: "the law, fitted",
        RANDOM_SEARCH: "random search",
        STEPWISE: "stepwise selection",
        PRUNED_LAW: "the law, pruned",
        LASSO: "lasso path",
    }
)

# Models of one pair of GPUs (tools/builtin/pair_models.py), with which only built-in formulas were compared.
_OF_PAIRS = {"operations_nonnegative": "non-negative operations", "profet_line": "PROFET, linear model"}
_BY_NAME: Mapping[str, Baseline] = MappingProxyType({row.name: row for row in TABLE})


def baseline(name: str) -> Baseline:
    """Return the baseline with this name; UnknownNameError, with near names, where there is none.

    >>> baseline("cf9").title
    'hand-derived, 9 terms'
    """
    if name not in _BY_NAME:
        raise unknown_name("baseline", name, _BY_NAME)
    return _BY_NAME[name]


def baselines_for(scope: str, requires: str = "") -> dict[str, EstimatorFactory]:
    """Return the factories of the baselines of a scope by name, in the order of the table, those of all
    last.

    requires : what they need beyond the rows of the scope, as in `Baseline`. Raises UnknownNameError for
    another scope.

    >>> list(baselines_for("gpu_pair"))
    ['anchor_peak_ratio', 'gradient_boosting', 'constant']
    """
    check_name("scope of a formula", scope, SCOPES)
    return {row.name: row.make for row in TABLE if row.scope in (scope, "") and row.requires == requires}


def named_baselines(*names: str) -> dict[str, EstimatorFactory]:
    """Return the factories of the baselines with these names, in this order; raises as `baseline`."""
    return {name: baseline(name).make for name in names}


def title_of(estimator: str) -> str:
    """Return the name of an estimator as shown to the user; one that is no baseline keeps its name.

    >>> title_of("cf9"), title_of("my_model")
    ('hand-derived, 9 terms', 'my_model')
    """
    titles = {**CONTROLS, **_OF_PAIRS, **{row.name: row.title for row in TABLE}}
    return titles.get(estimator, estimator)
