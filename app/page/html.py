"""The page: one static HTML file that predicts in the browser by the printed formula, without a network."""

from string import Template

from trainlaw.app.explain.term_descriptions import words_of_terms
from trainlaw.app.models.errors import (
    BY_CNN,
    METRIC_TITLES,
    OURS,
    error_lines,
    estimators,
    held_out_kind,
    overall_error,
)
from trainlaw.app.models.multi_gpu import ASSUMPTION, with_built_in_single_gpu_formula
from trainlaw.app.models.scopes import handler, handling
from trainlaw.app.models.terms import terms_of
from trainlaw.app.page.script import content_hash, script_of, template
from trainlaw.app.text.html import table_html
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.app.text.svg import escape
from trainlaw.formulas import Expression, Formula
from trainlaw.formulas.printers import mathml_expression, mathml_symbol
from trainlaw.formulas.printers.naming import indexed, letter

# Changes of a card's rates, such as `trainlaw predict --gpu "T4 with 2x bandwidth"` knows them.
_FACTORS = ("0.5", "0.75", "1", "1.25", "1.5", "2", "3", "4")


def page_html(formula: Formula) -> str:
    """Return the page of a formula, by its scope; every text of a user or a file is escaped.

    Raises InputError where the scope has no page, or a feature does not follow from the inputs on offer.
    """
    page: str = handler(formula, "page")(formula)
    return page


def run_page_html(formula: Formula) -> str:
    """Return the page of a formula of whole iterations.

    One that needs the time on one GPU has the built-in formula in its place.
    """
    formula = with_built_in_single_gpu_formula(formula)
    script, style = script_of(formula), template("page.css")
    facts = formula.provenance
    version = escape(facts.get("trainlaw_version", ""))
    return Template(template("page.html")).substitute(
        version=version,
        script_hash=content_hash(script),
        style_hash=content_hash(style),
        origin=f"trainlaw {version}, table {escape(facts.get('table', 'unknown'))}, sha256 of the data "
        f"{escape(facts.get('table_sha256', 'unknown'))}",
        summary=escape(_summary(formula)),
        error=escape(_error(formula)),
        groups=_groups(formula),
        factors="".join(_factor(text) for text in _FACTORS),
        terms=_terms(formula),
        formula=_equation(formula),
        symbols=_symbols(formula),
        errors=_errors(formula),
        style=style,
        script=script,
    )


def _summary(formula: Formula) -> str:
    runs = formula.provenance.get("rows")
    number = f"{runs:,} " if isinstance(runs, int) else ""
    return f"A prediction by one formula, evolved from {number}measured runs. {_error(formula)}".strip()


def _error(formula: Formula) -> str:
    error = show_percent(overall_error(formula, OURS))
    where = f"{held_out_kind(formula)}s that were held out"
    return f"Mean error on {where}: {error} %." if error != "-" else ""


def _factor(text: str) -> str:
    return f'<option value="{text}">{"as it is" if text == "1" else f"{text}&#215;"}</option>'


def _groups(formula: Formula) -> str:
    """One list of choices per constant that differs by group, such as by harness."""
    fields = []
    for index, constant in enumerate(formula.grouped):
        options = "".join(
            f'<option value="{escape(name)}">{escape(name)}</option>' for name in constant.values
        )
        label = f'<label for="group-{index}">{escape(constant.key)}</label>'
        choices = f'<select id="group-{index}"><option value="">any other</option>{options}</select>'
        fields.append(f'<div class="field">{label}{choices}</div>')
    return "".join(fields)


def _symbols_of(formula: Formula) -> dict[str, str]:
    found = {spec.name: mathml_symbol(spec.symbol) for spec in formula.used_features}
    return found | {constant.name: mathml_symbol(indexed(constant.name)) for constant in formula.grouped}


def _equation(formula: Formula) -> str:
    written = mathml_expression(formula.expression, _symbols_of(formula))
    target = mathml_symbol(formula.target.symbol)
    return f'<math display="block"><mrow>{target}<mo>=</mo>{written}</mrow></math>'


def _terms(formula: Formula) -> str:
    rows = [
        _term(str(index), words.name, words.sentence, _filled(term, formula))
        for index, (term, words) in enumerate(
            zip(terms_of(formula, formula.expression), words_of_terms(formula), strict=True)
        )
    ]
    if not handling(formula).covers_multi_gpu:
        rows.append(_term("exchange", "all-reduce time", f"{ASSUMPTION}.", ""))
    return "\n".join(rows)


def _term(key: str, name: str, sentence: str, mathematics: str) -> str:
    label = f'tabindex="0" role="group" aria-label="{escape(name)} in numbers"'
    shown = f'<div class="sums" {label}>{mathematics}</div>' if mathematics else ""
    return (
        f'<li data-term="{key}"><div class="term"><h3>{escape(name)}</h3><span class="share"></span></div>'
        f'<span class="bar"></span>{shown}<p class="soft">{escape(sentence)}</p></li>'
    )


def _filled(term: Expression, formula: Formula) -> str:
    """The term in symbols, and once more with places that the script fills with numbers."""
    used = formula.used_features
    places = {
        spec.name: f'<mrow><mtext data-feature="{index}">?</mtext></mrow>' for index, spec in enumerate(used)
    }
    places |= {
        constant.name: f'<mrow><mtext data-group="{index}">?</mtext></mrow>'
        for index, constant in enumerate(formula.grouped)
    }
    symbols, numbers = mathml_expression(term, _symbols_of(formula)), mathml_expression(term, places)
    # Two elements, between which a narrow screen breaks the line.
    return f"<math>{symbols}</math> <math><mrow><mo>=</mo>{numbers}</mrow></math>"


def _symbols(formula: Formula) -> str:
    rows = [
        [letter(spec.symbol), spec.name, "" if spec.unit.is_dimensionless else spec.unit, spec.meaning,
         *map(show_number, formula.ranges.get(spec.name, (float("nan"), float("nan"))))]
        for spec in formula.used_features
    ]  # fmt: skip
    header = ["symbol", "name", "unit", "meaning", "least in training", "most"]
    return table_html("Symbols of the formula.", header, rows, ["", "", "", "", "n", "n"])


def _errors(formula: Formula) -> str:
    """The held-out errors beside the rivals': overall, then per architecture."""
    names, lines = estimators(formula), error_lines(formula, BY_CNN)
    if not names or not lines:
        return ""
    overall = [
        [title, *(show_percent(overall_error(formula, name, metric)) for name in names)]
        for metric, title in METRIC_TITLES.items()
        if metric in formula.errors["summary"].get(OURS, {})
    ]
    each = [
        [line.name, line.rows, *(show_percent(line.errors.get(name, float("nan"))) for name in names)]
        for line in lines
    ]
    numbers = ["n"] * len(names)
    where = f"on {held_out_kind(formula)}s that were held out"
    first = table_html(f"Error {where}, %.", ["measure", *names], overall, ["", *numbers])
    header = ["architecture", "runs", *names]
    second = table_html(f"Mean error per architecture {where}, %.", header, each, ["", "n", *numbers])
    protocol = escape(formula.errors.get("protocol", ""))
    return (
        f'<section aria-labelledby="errors-title"><h2 id="errors-title">How wrong it is</h2>'
        f'<p class="soft">{protocol}</p>{first}<p></p>{second}</section>'
    )
