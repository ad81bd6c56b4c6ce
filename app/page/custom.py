"""The page of a formula whose features are its own: inputs, live result, worked cases, without a network."""

from string import Template

from trainlaw.app.models.custom_inputs import PUBLISHED, cases_of, group_keys, shown_unit, with_entered_sizes
from trainlaw.app.page.script import content_hash, literal, template
from trainlaw.app.text.html import table_html
from trainlaw.app.text.numbers import show_number
from trainlaw.app.text.svg import escape
from trainlaw.app.text.tables import plain_text
from trainlaw.formulas import Formula
from trainlaw.formulas.printers import mathml_expression, mathml_symbol, print_javascript
from trainlaw.formulas.printers.naming import indexed, letter


def custom_page_html(formula: Formula) -> str:
    """Return the page; every text of a user or a file is escaped."""
    formula = with_entered_sizes(formula)
    script, style = _script(formula), template("page.css")
    target = formula.target
    facts = {name: value for name, value in formula.provenance.items() if name != "cases"}
    origin = "".join(f"<p>{escape(name)}: {escape(plain_text(value))}</p>" for name, value in facts.items())
    return Template(template("custom_page.html")).substitute(
        title=escape(target.meaning.capitalize()),
        summary=escape(plain_text(facts.get("method", "A prediction by one formula."))),
        target=escape(target.meaning),
        fields=_fields(formula),
        formula=_equation(formula),
        symbols=_symbols(formula),
        constants=_constants(formula),
        origin=origin,
        style=style,
        script=script,
        style_hash=content_hash(style),
        script_hash=content_hash(script),
    )


def _script(formula: Formula) -> str:
    used = formula.used_features
    facts = {
        "features": [spec.name for spec in used],
        "low": [spec.low if abs(spec.low) < float("inf") else -1e300 for spec in used],
        "ranges": {name: list(ends) for name, ends in formula.ranges.items()},
        "keys": list(group_keys(formula)),
        "unit": str(formula.target.unit),
        "shown": list(shown_unit(formula)),
        "published": PUBLISHED,
        "cases": [dict(case) for case in cases_of(formula)],
    }
    law = f"(() => {{\n{print_javascript(formula)}return predict;\n}})()"
    return f"const LAW = {{...{literal(facts)},predict:{law}}};\n{template('custom_page.js')}"


def _fields(formula: Formula) -> str:
    """A list of choices per label, a number per feature."""
    fields = []
    for index, (key, groups) in enumerate(group_keys(formula).items()):
        options = "".join(f"<option>{escape(group)}</option>" for group in groups)
        choices = f'<select id="group-{index}">{options}</select>'
        fields.append(f'<div class="field"><label for="group-{index}">{escape(key)}</label>{choices}</div>')
    for index, spec in enumerate(formula.used_features):
        unit = "" if spec.unit.is_dimensionless else f" [{spec.unit}]"
        label = f'<label for="input-{index}">{escape(f"{spec.meaning}, {spec.name}{unit}")}</label>'
        number = f'<input id="input-{index}" type="number" step="any" aria-describedby="fault">'
        fields.append(f'<div class="field">{label}{number}</div>')
    return "".join(fields)


def _equation(formula: Formula) -> str:
    symbols = {spec.name: mathml_symbol(spec.symbol) for spec in formula.used_features}
    symbols |= {constant.name: mathml_symbol(indexed(constant.name)) for constant in formula.grouped}
    written = mathml_expression(formula.expression, symbols)
    target = mathml_symbol(formula.target.symbol)
    return f'<math display="block"><mrow>{target}<mo>=</mo>{written}</mrow></math>'


def _symbols(formula: Formula) -> str:
    header = ["symbol", "name", "unit", "meaning", "source"]
    rows = []
    for spec in formula.used_features:
        unit = "" if spec.unit.is_dimensionless else spec.unit
        rows.append([letter(spec.symbol), spec.name, unit, spec.meaning, spec.source])
    return table_html("Symbols of the formula.", header, rows, [""] * len(header))


def _constants(formula: Formula) -> str:
    tables = []
    for key, groups in group_keys(formula).items():
        rows = [
            [item.name, *(show_number(item.values[group]) for group in groups)]
            for item in formula.grouped
            if item.key == key
        ]
        tables.append(
            table_html(f"Constants by {key}.", ["constant", *groups], rows, ["", *["n"] * len(groups)])
        )
    return "<p></p>".join(tables)
