"""The page of a formula with user-defined features: inputs, live result and worked examples, offline."""

from math import isfinite

from trainlaw.app.models.custom_inputs import PUBLISHED, cases_of, group_keys, shown_unit, with_entered_sizes
from trainlaw.app.page.script import literal
from trainlaw.app.text.html import page_style, render, template_text
from trainlaw.app.text.numbers import show_number
from trainlaw.app.text.tables import Column, Table, plain_text
from trainlaw.formulas import FeatureSpec, Formula
from trainlaw.formulas.printers import mathml_expression, mathml_symbol, print_javascript
from trainlaw.formulas.printers.mathml import mathml_symbols
from trainlaw.formulas.printers.naming import letter

_LOWEST = -1e300  # stands for minus infinity, which JSON lacks


def custom_page_html(formula: Formula) -> str:
    """Return the page; every text of a user or a file is escaped."""
    formula = with_entered_sizes(formula)
    target, groups = formula.target, group_keys(formula)
    # Worked examples have a table to themselves.
    facts = {name: plain_text(value) for name, value in formula.provenance.items() if name != "cases"}
    return render(
        "custom_page.html",
        title=target.meaning.capitalize(),
        version=facts.get("trainlaw_version", ""),
        style=page_style(),
        script=_script(formula),
        summary=facts.get("method", "Predicted by one formula."),
        target_meaning=target.meaning,
        grouped=list(groups.items()),
        inputs=[_label(spec) for spec in formula.used_features],
        target=mathml_symbol(target.symbol),
        expression=mathml_expression(formula.expression, mathml_symbols(formula)),
        symbols=_symbol_table(formula),
        constants=[(key, _constant_table(formula, key, names)) for key, names in groups.items()],
        provenance=list(facts.items()),
    )


def _script(formula: Formula) -> str:
    used = formula.used_features
    facts = {
        "features": [spec.name for spec in used],
        "low": [spec.low if isfinite(spec.low) else _LOWEST for spec in used],
        "ranges": {name: list(ends) for name, ends in formula.ranges.items()},
        "keys": list(group_keys(formula)),
        "unit": str(formula.target.unit),
        "shown": list(shown_unit(formula)),
        "published": PUBLISHED,
        "cases": [dict(case) for case in cases_of(formula)],
    }
    predict = f"(() => {{\n{print_javascript(formula)}return predict;\n}})()"
    return f"const FORMULA = {{...{literal(facts)},predict:{predict}}};\n{template_text('custom_page.js')}"


def _unit(spec: FeatureSpec) -> str:
    return "" if spec.unit.is_dimensionless else str(spec.unit)


def _label(spec: FeatureSpec) -> str:
    unit = _unit(spec)
    return f"{spec.meaning}, {spec.name}" + (f" [{unit}]" if unit else "")


def _symbol_table(formula: Formula) -> Table:
    header = ["symbol", "name", "unit", "meaning", "source"]
    rows = [
        [letter(spec.symbol), spec.name, _unit(spec), spec.meaning, spec.source]
        for spec in formula.used_features
    ]
    return Table.of(header, rows)


def _constant_table(formula: Formula, key: str, groups: tuple[str, ...]) -> Table:
    rows = [
        [constant.name, *(show_number(constant.values[group]) for group in groups)]
        for constant in formula.grouped
        if constant.key == key
    ]
    return Table.of([Column("constant"), *groups], rows, "number")
