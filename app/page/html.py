"""The page of a formula: one static HTML file that predicts in the browser, offline."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from trainlaw.app.inputs.prices import EXAMPLE, read_prices
from trainlaw.app.inputs.retired import check_retired
from trainlaw.app.models.builtin import offered_formulas
from trainlaw.app.models.calibration import own_error
from trainlaw.app.models.multi_gpu import SCALED, formula_of_choices
from trainlaw.app.models.scopes import Inputs, handling
from trainlaw.app.models.stated_error import evolution_sentence
from trainlaw.app.models.term_descriptions import DescribedTerm
from trainlaw.app.page.script import FIELDS, names_kinds, offered, script_of, specs_of, titled_terms
from trainlaw.app.text.html import page_style, render
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.app.text.tables import RUNS, Table, TableColumn
from trainlaw.formulas import Formula, constants
from trainlaw.formulas.printers.mathml import mathml_expression, mathml_symbol, mathml_symbols
from trainlaw.formulas.printers.naming import letter
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.baselines import title_of
from trainlaw.validate.error_table import BY_CNN, METRIC_TITLES
from trainlaw.validate.formula_errors import (
    carried_errors,
    error_lines,
    estimators,
    held_out_kind,
    overall_error,
)
from trainlaw.validate.result import OURS


def page_html(formula: Formula) -> str:
    """Return the page of a formula of iterations or forward passes; texts of users and files are escaped.

    Raises InputError where the scope has no page, or the page cannot compute a feature from its inputs.
    """
    if handling(formula).inputs is Inputs.FEATURES:
        check_retired("page", "custom")
    formula = formula_of_choices(formula, "page")
    laws = {"": formula, **offered_formulas(formula)}
    facts = formula.provenance
    return render(
        "page.html",
        title=f"Time of a CNN {'forward pass' if formula.scope == FORWARD else 'training iteration'}",
        version=facts.get("trainlaw_version", ""),
        style=page_style(),
        script=script_of(formula),
        summary=_summary(formula),
        summary_of_pass=_summary(laws.get(FORWARD, formula)),
        **_form([(name, _choice(name, law)) for name, law in laws.items()]),
        shares=_shares(laws),
        names_kinds=names_kinds(formula),
        target=mathml_symbol(formula.target.symbol),
        expression=_in_symbols(formula),
        shorter_formulas=[
            (name, f"{_choice(name, law)}, {len(constants(law.expression))} constants", _in_symbols(law))
            for name, law in laws.items()
            if name
        ],
        symbols=_symbol_table(laws.values()),
        errors=_errors(formula),
        origin={key: facts.get(key, "unknown") for key in ("table", "table_sha256")},
    )


#: Changes of a GPU's rates that `trainlaw predict --gpu "T4 with 2x bandwidth"` takes as well.
_FACTORS = ("0.5", "0.75", "1", "1.25", "1.5", "2", "3", "4")


def _form(laws: Sequence[tuple[str, str]]) -> dict[str, object]:
    """Return the fields of the form, and the pairs of value and text that lists offer.

    laws : name and text of each formula on offer.
    """
    price = FIELDS["price"]._replace(label=FIELDS["price"].label.format(**vars(read_prices(Path(EXAMPLE)))))
    fields = {**FIELDS, "price": price}
    options = {
        name: [(fields[name].first, fields[name].usual)] * bool(fields[name].usual)
        + [(each, each) for each in listed if (name, each) != ("precision", "default")]
        for name, listed in offered().items()
    }
    rates = [(factor, "unchanged" if factor == "1" else f"{factor}\u00d7") for factor in _FACTORS]
    options |= {"formula": [*laws], "peak": rates, "bandwidth": rates}
    return {"fields": fields, "options": options}


def _summary(formula: Formula) -> str:
    runs, error = formula.provenance.get("rows"), show_percent(overall_error(formula, OURS))
    number = f"{runs:,} " if isinstance(runs, int) else ""
    stated = f" Mean error on held-out {held_out_kind(formula)}s: {error} %." if error != "-" else ""
    calibrated = own_error(formula)
    stated = f" {calibrated[0].upper()}{calibrated[1:]}." if calibrated else stated
    return f"Predicted by one formula, fitted to {number}measured runs.{stated}"


def _choice(name: str, formula: Formula) -> str:
    """Return how the page offers a formula, short enough for its list: its name and stated error."""
    error = show_percent(overall_error(formula, OURS))
    timed = "forward pass" if formula.scope == FORWARD else f"training, {name or 'full'}"
    return f"{timed}: {own_error(formula) or f'error {error} %'}"


def _in_symbols(formula: Formula) -> str:
    return mathml_expression(formula.expression, mathml_symbols(formula))


def _shares(laws: Mapping[str, Formula]) -> list[dict[str, object]]:
    """Return the shares of the time of each formula on offer, under the names of the template.

    formula : that a share is of, as the page chooses it; None for a share of all. parts : the terms that it
    is the sum of, each as MathML in symbols and with places for numbers; a share without has a sentence.
    """
    places = {spec.name: place for place, spec in enumerate(specs_of(laws.values()))}
    shares = [share for name, law in laws.items() for share in _shares_of(law, name, places)]
    if not handling(laws[""]).covers_multi_gpu:
        shares.append(
            dict(title="all-reduce of the gradients", parts=(), formula=None, sentence=f"{SCALED}.")
        )
    return shares


def _shares_of(formula: Formula, name: str, features: Mapping[str, int]) -> Iterator[dict[str, object]]:
    symbols = mathml_symbols(formula)
    # The script fills these placeholders with numbers.
    numbers = {
        feature: f'<mrow><mtext data-feature="{index}">?</mtext></mrow>'
        for feature, index in features.items()
    }

    def part(term: DescribedTerm) -> dict[str, str]:
        whole = term.part.expression
        shown = {
            key: mathml_expression(whole, names)
            for key, names in (("symbols", symbols), ("numbers", numbers))
        }
        return dict(name=term.name, sentence=term.sentence, **shown)

    for title, terms in titled_terms(formula).items():
        yield dict(title=title, parts=[*map(part, terms)], formula=name, sentence="")


def _symbol_table(formulas: Iterable[Formula]) -> Table:
    unknown = (float("nan"), float("nan"))
    formulas = tuple(formulas)
    ranges = {name: ends for formula in reversed(formulas) for name, ends in formula.ranges.items()}
    rows = [
        [
            letter(spec.symbol),
            spec.name,
            "" if spec.unit.is_dimensionless else spec.unit,
            spec.meaning,
            *map(show_number, ranges.get(spec.name, unknown)),
        ]
        for spec in specs_of(formulas)
    ]
    ends = [TableColumn("training minimum", "number"), TableColumn("maximum", "number")]
    return Table.of(["symbol", "name", "unit", "meaning", *ends], rows)


def _errors(formula: Formula) -> dict[str, object] | None:
    """Return the held-out errors of every estimator, overall and per architecture; None without any."""
    names, lines = estimators(formula), error_lines(formula, BY_CNN)
    if not names or not lines:
        return None
    titles = list(map(title_of, names))
    overall = [
        [title, *(show_percent(overall_error(formula, name, metric)) for name in names)]
        for metric, title in METRIC_TITLES.items()
        if metric in formula.errors.get("summary", {}).get(OURS, {})
    ]
    each = [
        [line.name, line.rows, *(show_percent(line.errors.get(name, float("nan"))) for name in names)]
        for line in lines
    ]
    return dict(
        protocol=formula.errors.get("protocol", ""),
        evolution=evolution_sentence(carried_errors(formula)),
        held_out=held_out_kind(formula),
        overall=Table.of([TableColumn("metric"), *titles], overall, "number"),
        by_cnn=Table.of([TableColumn("architecture"), RUNS, *titles], each, "number"),
    )
