"""How formulas of each scope are handled: one row per scope, and the functions that dispatch on it.

To add a scope: add its name to `trainlaw.formulas.scopes`, and a row here. Functions of higher floors are
named as "package.module:function" and resolved when they are needed, so that this file imports none of them
and `trainlaw predict` loads no workbook.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

from trainlaw.datasets import (
    CNN_LAYER_FEATURES,
    FEATURES,
    LAYER_FEATURES,
    PAIR_FEATURES,
    RunTable,
)
from trainlaw.datasets.features.cnn_layer_features import CNN_LAYER_COLUMNS
from trainlaw.datasets.features.feature import Feature, written_out
from trainlaw.datasets.measurements.formula_rows import CnnLayers, FormulaRows, run_layers, run_rows
from trainlaw.formulas import SCOPES, Expression, FeatureSpec, Formula, InputError
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.scopes import CUSTOM, GPU_PAIR, LAYER, MEASURED_LAYER, MULTI_GPU, MULTI_GPU_RUN, RUN

_APP = "trainlaw.app"


@dataclass(frozen=True)
class ScopeHandling:
    """What differs between formulas of one scope and those of another.

    features : what such a formula may be made of, by name; empty where its features define themselves.
    describe, predict, workbook, page, table : functions as "package.module:function"; empty where there is
    none, and `advice` then says what to do instead. takes_names : whether an exported program can look up GPU
    and CNN by name. covers_multi_gpu : whether the formula itself gives the
    time on several GPUs. row_counts : base columns that are counts of a row, not settings of a run.
    rows : a table of runs as the rows of such a formula. cnn_layers : the layers that its rows need.
    """

    features: Mapping[str, Feature]
    describe: str
    workbook: str
    table: str
    page: str = ""
    predict: str = ""
    advice: str = "export it to .xlsx, .csv, .py, .c, .js, .sql, .onnx or .json"
    takes_names: bool = False
    covers_multi_gpu: bool = False
    row_counts: frozenset[str] = frozenset()
    rows: Callable[[RunTable, Sequence[str]], FormulaRows] = run_rows
    cnn_layers: Callable[[RunTable], CnnLayers | None] = lambda runs: None


_WHOLE_RUN = ScopeHandling(
    FEATURES,
    describe=f"{_APP}.terminal.formula:describe_for_run",
    predict=f"{_APP}.predictions.predict:predict_runs",
    workbook=f"{_APP}.workbook.book:run_workbook_plan",
    page=f"{_APP}.page.html:run_page_html",
    table=f"{_APP}.exports.prediction_table:run_prediction_csv",
)
_OWN_INPUTS = ScopeHandling(
    {},
    describe=f"{_APP}.models.custom_inputs:describe_custom",
    workbook=f"{_APP}.workbook.custom:custom_workbook_plan",
    page=f"{_APP}.page.custom:custom_page_html",
    table=f"{_APP}.exports.prediction_table:case_csv",
)

SCOPE_HANDLING: Mapping[str, ScopeHandling] = MappingProxyType(
    {
        RUN: replace(_WHOLE_RUN, takes_names=True),
        LAYER: ScopeHandling(
            CNN_LAYER_FEATURES,
            describe=f"{_APP}.terminal.formula:describe_for_run",
            predict=f"{_APP}.predictions.predict:predict_runs",
            workbook=f"{_APP}.workbook.book:layer_workbook_plan",
            table=f"{_APP}.exports.prediction_table:layer_prediction_csv",
            row_counts=frozenset(CNN_LAYER_COLUMNS),
            rows=run_layers,
            cnn_layers=CnnLayers.of,
        ),
        MEASURED_LAYER: replace(_OWN_INPUTS, features=LAYER_FEATURES),
        MULTI_GPU: replace(
            _WHOLE_RUN,
            describe=f"{_APP}.terminal.formula:describe_scaling_formula",
            predict="",
            advice="it gives how much longer several GPUs take than one; name it with --scaling-formula, "
            "next to a --formula for one GPU",
            covers_multi_gpu=True,
        ),
        MULTI_GPU_RUN: replace(_WHOLE_RUN, covers_multi_gpu=True),
        GPU_PAIR: replace(
            _OWN_INPUTS,
            features=PAIR_FEATURES,
            advice="use it with `trainlaw predict-from-profile --formula`",
        ),
        CUSTOM: _OWN_INPUTS,
    }
)


def handling(formula: Formula) -> ScopeHandling:
    """Return the row of a formula's scope."""
    return SCOPE_HANDLING[formula.scope]


def handler(formula: Formula, purpose: str) -> Callable[..., Any]:
    """Return the function of a formula's scope for a purpose, such as "workbook".

    Raises InputError where the scope has none.
    """
    name = getattr(handling(formula), purpose)
    if not name:
        title, advice = SCOPES[formula.scope].title, handling(formula).advice
        raise InputError(f"this formula models {title}, which has no {purpose}; {advice}")
    function: Callable[..., Any] = resolve_name(name)
    return function


def check_predictable(formula: Formula) -> None:
    """Raise InputError for a formula that no configuration of CNN, GPU and batch has a prediction of."""
    if not handling(formula).predict:
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
