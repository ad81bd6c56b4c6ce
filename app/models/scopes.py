"""How formulas of each scope are handled: one row per scope, and the functions that dispatch on it.

To add a scope: add its name to `trainlaw.formulas.scopes`, and a row here. What a formula is entered with
(`Inputs`) chooses its workbook, page, table and description; each of these rooms has a function per member.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from types import MappingProxyType

from trainlaw.datasets import CNN_LAYER_FEATURES, FEATURES, LAYER_FEATURES, PAIR_FEATURES, RunTable
from trainlaw.datasets.features.cnn_layer_features import CNN_LAYER_COLUMNS
from trainlaw.datasets.features.feature import Feature, written_out
from trainlaw.datasets.measurements.formula_rows import CnnLayers, FormulaRows, run_layers, run_rows
from trainlaw.formulas import SCOPES, Expression, FeatureSpec, Formula, InputError
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.scopes import (
    CUSTOM,
    FORWARD,
    GPU_PAIR,
    LAYER,
    MEASURED_LAYER,
    MULTI_GPU,
    MULTI_GPU_RUN,
    RUN,
)


class Inputs(Enum):
    """The entries of a user from which a formula gives a value."""

    RUN = "the settings of a run"
    LAYERS = "the settings of a run, whose layers are summed"
    FEATURES = "the features of the formula"


@dataclass(frozen=True)
class ScopeHandling:
    """The handling of formulas of one scope.

    features : what such a formula may be made of, by name; empty where its features define themselves.
    inputs : what it is entered with. is_predictable : whether `trainlaw predict` takes it, else `advice`
    says what to do with it. takes_names : whether an exported program can look up GPU and CNN by name.
    covers_multi_gpu : whether the formula itself gives the time on several GPUs. row_counts : base columns
    that are counts of a row, not settings of a run. rows : a table of runs as the rows of such a formula.
    cnn_layers : the layers that its rows need.
    """

    features: Mapping[str, Feature]
    inputs: Inputs
    is_predictable: bool
    advice: str = "export it to .py, .js, .c, .R, .jl, .tex or .json"
    takes_names: bool = False
    covers_multi_gpu: bool = False
    row_counts: frozenset[str] = frozenset()
    rows: Callable[[RunTable, Sequence[str]], FormulaRows] = run_rows
    cnn_layers: Callable[[RunTable], CnnLayers | None] = lambda runs: None


_WHOLE_RUN = ScopeHandling(FEATURES, Inputs.RUN, is_predictable=True)
_FEATURES_ALONE = ScopeHandling({}, Inputs.FEATURES, is_predictable=False)

SCOPE_HANDLING: Mapping[str, ScopeHandling] = MappingProxyType(
    {
        RUN: replace(_WHOLE_RUN, takes_names=True),
        # On one GPU, so that there is nothing for several to add.
        FORWARD: replace(_WHOLE_RUN, takes_names=True, covers_multi_gpu=True),
        LAYER: ScopeHandling(
            CNN_LAYER_FEATURES,
            Inputs.LAYERS,
            is_predictable=True,
            row_counts=frozenset(CNN_LAYER_COLUMNS),
            rows=run_layers,
            cnn_layers=CnnLayers.of,
        ),
        MEASURED_LAYER: replace(_FEATURES_ALONE, features=LAYER_FEATURES),
        MULTI_GPU: replace(
            _WHOLE_RUN,
            is_predictable=False,
            advice="it gives how much longer several GPUs take than one; name it with --scaling-formula, "
            "next to a --formula for one GPU",
            covers_multi_gpu=True,
        ),
        MULTI_GPU_RUN: replace(_WHOLE_RUN, covers_multi_gpu=True),
        GPU_PAIR: replace(
            _FEATURES_ALONE,
            features=PAIR_FEATURES,
            advice="use it with `trainlaw predict-from-profile --formula`",
        ),
        CUSTOM: _FEATURES_ALONE,
    }
)


def takes_runs(formula: Formula) -> bool:
    """Return whether a formula is of whole runs, which page and workbook offer as choices."""
    return handling(formula).inputs is Inputs.RUN


def handling(formula: Formula) -> ScopeHandling:
    """Return the row of a formula's scope."""
    return SCOPE_HANDLING[formula.scope]


def check_predictable(formula: Formula) -> None:
    """Raise InputError for a formula that no configuration of CNN, GPU and batch has a prediction of."""
    if not handling(formula).is_predictable:
        raise InputError(f"this formula models {SCOPES[formula.scope].title}; {handling(formula).advice}")


def check_scope(formula: Formula, *allowed: str, origin: str = "", advice: str = "") -> None:
    """Raise InputError for a formula of another scope than those allowed, UnknownNameError for a feature.

    origin : where the formula is from; advice : what to do instead; both for the message.
    """
    if formula.scope not in allowed:
        wanted = ", or ".join(SCOPES[name].title for name in allowed)
        raise InputError(
            f"{f'{origin}: ' * bool(origin)}expected a formula that models {wanted}, got one of "
            f"{SCOPES[formula.scope].title}{f'; {advice}' * bool(advice)}"
        )
    check_features(formula)


def check_features(formula: Formula) -> None:
    """Raise UnknownNameError for a feature that formulas of this scope do not have."""
    if handling(formula).features:
        feature_specs_for(formula.scope, (spec.name for spec in formula.used_features))


def feature_specs_for(scope: str, names: Iterable[str]) -> tuple[FeatureSpec, ...]:
    """Return the specs of features of a scope; raises UnknownNameError for an unknown one."""
    return tuple(_feature(scope, name).spec for name in names)


def _feature(scope: str, name: str) -> Feature:
    known = SCOPE_HANDLING[scope].features
    check_name("feature of layers" if scope == LAYER else "feature", name, known)
    return known[name]


@cache
def feature_expression(name: str, scope: str = RUN) -> Expression:
    """Return a feature as an expression over base columns of runs, GPUs, CNNs and layers, in its unit.

    Raises UnknownNameError for a feature that the scope does not have.

    >>> from trainlaw.formulas import to_text
    >>> to_text(feature_expression("conv_compute_s"))
    '6 * batch_per_gpu * conv_macs / peak_flop_per_s'
    """
    _feature(scope, name)
    return written_out(SCOPE_HANDLING[scope].features, name)


def formula_rows(formula: Formula, runs: RunTable, names: Sequence[str] | None = None) -> FormulaRows:
    """Return the rows of runs that a formula is evaluated on, with its features or those of other names.

    Raises UnknownNameError for an unknown feature, InputError where the layers of a CNN are not known.
    """
    if names is None:
        check_features(formula)
        names = [spec.name for spec in formula.used_features]
    return handling(formula).rows(runs, names)


class Held:
    """A formula as the key of a cache, equal to itself alone: formulas hold mappings, which have no hash."""

    __slots__ = ("formula",)

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.formula is other.formula

    def __hash__(self) -> int:
        return id(self.formula)
