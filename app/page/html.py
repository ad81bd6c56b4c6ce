"""The page of a formula: one static HTML file that predicts in the browser, offline."""

from typing import NamedTuple

from trainlaw.app.explain.term_descriptions import words_of_parts
from trainlaw.app.models.errors import (
    BY_CNN,
    METRIC_TITLES,
    OURS,
    error_lines,
    estimators,
    held_out_kind,
    overall_error,
)
from trainlaw.app.models.multi_gpu import SCALED, with_built_in_single_gpu_formula
from trainlaw.app.models.scopes import handler, handling
from trainlaw.app.models.terms import parts_of
from trainlaw.app.page.script import script_of
from trainlaw.app.text.html import Table, render, template_text
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.formulas import Expression, Formula
from trainlaw.formulas.printers import mathml_expression, mathml_symbol
from trainlaw.formulas.printers.mathml import mathml_symbols
from trainlaw.formulas.printers.naming import letter


class _Term(NamedTuple):
    """A term of the time: `key` names it for the script; MathML in symbols, and with places for numbers."""

    key: str
    name: str
    sentence: str
    symbols: str = ""
    numbers: str = ""


class _Errors(NamedTuple):
    """The held-out errors: of every estimator overall, and per architecture."""

    protocol: str
    held_out: str
    overall: Table
    by_cnn: Table


def page_html(formula: Formula) -> str:
    """Return the page of a formula, by its scope; every text of a user or a file is escaped.

    Raises InputError where the scope has no page, or the page cannot compute a feature from its inputs.
    """
    page: str = handler(formula, "page")(formula)
    return page


def run_page_html(formula: Formula) -> str:
    """Return the page of a formula of whole iterations.

    In a formula that needs the time on one GPU the built-in formula takes its place.
    """
    formula = with_built_in_single_gpu_formula(formula)
    facts, error = formula.provenance, _stated_error(formula)
    runs = facts.get("rows")
    number = f"{runs:,} " if isinstance(runs, int) else ""
    return render(
        "page.html",
        title="Time of a CNN training iteration",
        version=facts.get("trainlaw_version", ""),
        style=template_text("page.css"),
        script=script_of(formula),
        summary=f"Predicted by one formula, evolved from {number}measured runs. {error}".strip(),
        error=error,
        grouped=[(constant.key, list(constant.values)) for constant in formula.grouped],
        terms=_terms(formula),
        target=mathml_symbol(formula.target.symbol),
        expression=mathml_expression(formula.expression, mathml_symbols(formula)),
        symbols=_symbol_table(formula),
        errors=_errors(formula),
        origin={key: facts.get(key, "unknown") for key in ("table", "table_sha256")},
    )


def _stated_error(formula: Formula) -> str:
    error = show_percent(overall_error(formula, OURS))
    return f"Mean error on held-out {held_out_kind(formula)}s: {error} %." if error != "-" else ""


def _terms(formula: Formula) -> list[_Term]:
    parts = [part.expression for part in parts_of(formula, formula.expression)]
    described = zip(parts, words_of_parts(formula), strict=True)
    symbols = mathml_symbols(formula)
    terms = [
        _Term(
            str(index), words.name, words.sentence, mathml_expression(term, symbols), _numbers(term, formula)
        )
        for index, (term, words) in enumerate(described)
    ]
    if not handling(formula).covers_multi_gpu:
        terms.append(_Term("all-reduce", "all-reduce time", f"{SCALED}."))
    return terms


def _numbers(term: Expression, formula: Formula) -> str:
    """The term as MathML with placeholders that the script fills with numbers."""
    places = {
        spec.name: f'<mrow><mtext data-feature="{index}">?</mtext></mrow>'
        for index, spec in enumerate(formula.used_features)
    }
    places |= {
        constant.name: f'<mrow><mtext data-group="{index}">?</mtext></mrow>'
        for index, constant in enumerate(formula.grouped)
    }
    return mathml_expression(term, places)


def _symbol_table(formula: Formula) -> Table:
    unknown = (float("nan"), float("nan"))
    rows = [
        [letter(spec.symbol), spec.name, "" if spec.unit.is_dimensionless else spec.unit, spec.meaning,
         *map(show_number, formula.ranges.get(spec.name, unknown))]
        for spec in formula.used_features
    ]  # fmt: skip
    header = ["symbol", "name", "unit", "meaning", "training minimum", "maximum"]
    return Table(header, rows, ["", "", "", "", "n", "n"])


def _errors(formula: Formula) -> _Errors | None:
    """The held-out errors of all estimators; None where the formula carries none."""
    names, lines = estimators(formula), error_lines(formula, BY_CNN)
    if not names or not lines:
        return None
    overall = [
        [title, *(show_percent(overall_error(formula, name, metric)) for name in names)]
        for metric, title in METRIC_TITLES.items()
        if metric in formula.errors.get("summary", {}).get(OURS, {})
    ]
    each = [
        [line.name, line.rows, *(show_percent(line.errors.get(name, float("nan"))) for name in names)]
        for line in lines
    ]
    numbers = ["n"] * len(names)
    return _Errors(
        formula.errors.get("protocol", ""),
        held_out_kind(formula),
        Table(["metric", *names], overall, ["", *numbers]),
        Table(["architecture", "runs", *names], each, ["", "n", *numbers]),
    )
