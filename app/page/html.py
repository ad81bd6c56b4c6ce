"""The page of a formula: one static HTML file that predicts in the browser, offline."""

from pathlib import Path
from typing import NamedTuple

from trainlaw.app.explain.term_descriptions import words_of_parts
from trainlaw.app.inputs.prices import EXAMPLE, read_prices
from trainlaw.app.models.multi_gpu import SCALED, with_built_in_single_gpu_formula
from trainlaw.app.models.scopes import Inputs, chosen_output, handling
from trainlaw.app.models.terms import parts_of
from trainlaw.app.page.custom import custom_page_html
from trainlaw.app.page.script import names_kinds, script_of, titled_parts
from trainlaw.app.page.style import page_style
from trainlaw.app.text.html import render
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.app.text.tables import Column, Table
from trainlaw.datasets.measurements.runs import STACKS
from trainlaw.formulas import Expression, Formula
from trainlaw.formulas.printers import mathml_expression, mathml_symbol
from trainlaw.formulas.printers.mathml import mathml_symbols
from trainlaw.formulas.printers.naming import letter
from trainlaw.validate.held_out_errors import (
    BY_CNN,
    METRIC_TITLES,
    OURS,
    error_lines,
    estimators,
    held_out_kind,
    overall_error,
)


class _Part(NamedTuple):
    """A term of the formula: MathML in symbols, and with places for numbers."""

    name: str
    sentence: str
    symbols: str
    numbers: str


class _Share(NamedTuple):
    """A share of the time by what it goes into: the terms that it is the sum of, or a sentence instead."""

    title: str
    parts: tuple[_Part, ...]
    sentence: str = ""


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
    return chosen_output(formula, "page", PAGES)


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
        style=page_style(),
        script=script_of(formula),
        summary=f"Predicted by one formula, fitted to {number}measured runs. {error}".strip(),
        currency=read_prices(Path(EXAMPLE)).currency,
        stacks=STACKS,
        grouped=[(constant.key, list(constant.values)) for constant in formula.grouped],
        shares=_shares(formula),
        names_kinds=names_kinds(formula),
        target=mathml_symbol(formula.target.symbol),
        expression=mathml_expression(formula.expression, mathml_symbols(formula)),
        symbols=_symbol_table(formula),
        errors=_errors(formula),
        origin={key: facts.get(key, "unknown") for key in ("table", "table_sha256")},
    )


#: A formula of one layer has no page: the layers of all CNNs would not fit.
PAGES = {Inputs.RUN: run_page_html, Inputs.FEATURES: custom_page_html}


def _stated_error(formula: Formula) -> str:
    error = show_percent(overall_error(formula, OURS))
    return f"Mean error on held-out {held_out_kind(formula)}s: {error} %." if error != "-" else ""


def _shares(formula: Formula) -> list[_Share]:
    parts = [part.expression for part in parts_of(formula, formula.expression)]
    words, symbols = words_of_parts(formula), mathml_symbols(formula)

    def part(place: int) -> _Part:
        in_symbols = mathml_expression(parts[place], symbols)
        return _Part(words[place].name, words[place].sentence, in_symbols, _numbers(parts[place], formula))

    shares = [_Share(title, tuple(map(part, places))) for title, places in titled_parts(formula).items()]
    if not handling(formula).covers_multi_gpu:
        shares.append(_Share("all-reduce of the gradients", (), f"{SCALED}."))
    return shares


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
    ends = [Column("training minimum", "number"), Column("maximum", "number")]
    return Table.of(["symbol", "name", "unit", "meaning", *ends], rows)


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
    return _Errors(
        formula.errors.get("protocol", ""),
        held_out_kind(formula),
        Table.of([Column("metric"), *names], overall, "number"),
        Table.of([Column("architecture"), "runs", *names], each, "number"),
    )
