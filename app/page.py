"""The page: one static HTML file that predicts in the browser by the printed formula, without a network."""

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from math import isnan
from string import Template
from typing import Any

from trainlaw.app.error_tables import LEVEL, OURS, interval_of, overall_error
from trainlaw.app.feature_expressions import feature_expression
from trainlaw.app.html_tables import table_html
from trainlaw.app.lookup_tables import cnn_label, cnn_rows, gpu_rows, precision_rows
from trainlaw.app.quantities import show_number, show_percent
from trainlaw.app.svg import escape
from trainlaw.app.terms import plain_expression, terms_of
from trainlaw.app.workbook_cells import (
    FIRST_BATCH,
    FIRST_CNN,
    FIRST_GPU,
    FIRST_PRECISION,
    INPUTS,
    OF_PRECISION,
)
from trainlaw.formulas import Expression, Formula, InputError, to_text, variables
from trainlaw.formulas.printers import mathml_expression, mathml_symbol, print_javascript

_TICKS = {"has_optimizer": "optimizer", "has_input_copy": "copy"}
_CHOSEN = {*INPUTS, *OF_PRECISION, "peak_flop_per_s"}  # not facts of a GPU or CNN


def page_html(formula: Formula) -> str:
    """Return the page of a formula; every text of a user or a file is escaped.

    Raises InputError where a feature of the formula does not follow from GPU, CNN and the inputs on offer.
    """
    script = _script(formula)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    symbols = {spec.name: mathml_symbol(spec.symbol) for spec in formula.used_features}
    written = mathml_expression(plain_expression(formula), symbols)
    target, facts = mathml_symbol(formula.target.symbol), formula.provenance
    return Template(_text("page.html")).substitute(
        version=escape(facts.get("trainlaw_version", "")),
        script_hash=f"sha256-{digest}",
        origin=escape(f"trainlaw {facts.get('trainlaw_version', '')}, table {facts.get('table', 'unknown')}, "
                      f"{facts.get('table_sha256', '')[:12]}"),
        error=escape(_error(formula)),
        formula=f'<math display="block"><mrow>{target}<mo>=</mo>{written}</mrow></math>',
        symbols=_symbols(formula),
        script=script,
    )  # fmt: skip


def _text(name: str) -> str:
    return resources.files("trainlaw.app").joinpath(f"templates/{name}").read_text(encoding="utf-8")


def _error(formula: Formula) -> str:
    error = show_percent(overall_error(formula, OURS))
    return f"Error on GPUs that were held out: {error} %, mean over GPU groups." if error != "-" else ""


def _symbols(formula: Formula) -> str:
    rows = [
        [spec.symbol, spec.name, "" if spec.unit.is_dimensionless else spec.unit, spec.meaning,
         *map(show_number, formula.ranges.get(spec.name, (float("nan"), float("nan"))))]
        for spec in formula.used_features
    ]  # fmt: skip
    header = ["symbol", "name", "unit", "meaning", "least in training", "most"]
    return table_html("Symbols of the formula.", header, rows, ["", "", "", "", "n", "n"])


def _script(formula: Formula) -> str:
    expressions = {spec.name: feature_expression(spec.name) for spec in formula.used_features}
    needed = {name for expression in expressions.values() for name in variables(expression)} - _CHOSEN
    peaks = {str(row["peak_column"]) for row in precision_rows().values()}
    tables = {
        "GPUS": _columns(gpu_rows(), needed | peaks),
        "CNNS": _columns(cnn_rows(), needed),
        "PRECISIONS": precision_rows(),
    }
    known = set().union(*(row for table in tables.values() for row in table.values()))
    if needed - known:
        missing = sorted(needed - known)[0]
        raise InputError(
            f"the page cannot compute {missing!r}, which the formula needs; export to .py instead"
        )
    parts = [f"const {name} = {_literal(table)};" for name, table in tables.items()]
    return "\n".join([*parts, f"const LAW = {_law(formula, expressions)};", _text("page.js")])


def _columns(table: Mapping[str, Mapping[str, Any]], names: set[str]) -> dict[str, dict[str, Any]]:
    """The wanted columns of a look-up table; unknown numbers are null."""
    return {
        label: {name: _null_for_nan(value) for name, value in row.items() if name in names}
        for label, row in table.items()
    }


def _null_for_nan(value: Any) -> Any:
    return None if isinstance(value, float) and isnan(value) else value


def _law(formula: Formula, expressions: Mapping[str, Expression]) -> str:
    """The formula as a JavaScript object: functions by our printer, everything else JSON."""
    features = []
    for spec in formula.used_features:
        low, high = formula.ranges.get(spec.name, (None, None))
        unit = "" if spec.unit.is_dimensionless else str(spec.unit)
        fixed = _literal({"name": spec.name, "unit": unit, "low": low, "high": high})
        features.append(f"{{...{fixed}, compute: {_function(expressions[spec.name])}}}")
    parts = [
        f"{{text: {_literal(to_text(term, 3))}, compute: {_function(term)}}}" for term in terms_of(formula)
    ]
    first = {
        "gpu": FIRST_GPU,
        "cnn": cnn_label(*FIRST_CNN),
        "precision": FIRST_PRECISION,
        "batch": str(FIRST_BATCH),
    }
    fixed = {
        "factor": interval_of(formula),
        "level": 100 * LEVEL,
        "precisions": list(formula.provenance.get("precisions", ["fp32"])),
        "first": first,
        "inputs": [
            short for name, short in _TICKS.items() if any(name in variables(e) for e in expressions.values())
        ],
    }
    predict = _function(plain_expression(formula))
    lists = f"features: [{', '.join(features)}], terms: [{', '.join(parts)}]"
    return f"{{...{_literal(fixed)}, {lists}, predict: {predict}}}"


def _function(expression: Expression) -> str:
    """The printed function in a scope of its own, since each brings its helpers."""
    return f"(() => {{\n{print_javascript(expression, 'compute')}return compute;\n}})()"


def _literal(value: Any) -> str:
    """JSON that is inert inside a script element."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
