"""The report of a study as one self-contained HTML file."""

from collections.abc import Iterator, Mapping
from html import escape
from importlib.metadata import version

from trainlaw.app.models.front import LAW, FrontRow, front_table, worth_text
from trainlaw.app.report import plots
from trainlaw.app.report.errors import member_points, reported_errors
from trainlaw.app.report.front import front_plot, support_plot, support_table
from trainlaw.app.report.story import story_of
from trainlaw.app.studies.definition import LIBRARIES, definition_text
from trainlaw.app.studies.front import StudyFront
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.terminal.formula import equation_text
from trainlaw.app.text.html import render, template_text
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.app.text.tables import Table, TableColumn, plain_text
from trainlaw.datasets import TARGET
from trainlaw.formulas import SCOPES, Apply, Elasticities, Expression, Formula, ParetoFront
from trainlaw.formulas.algebra.expression import additive_terms, count_nodes, sides_of
from trainlaw.formulas.printers.mathml import mathml_expression, mathml_symbol
from trainlaw.formulas.proofs.elasticities import Proof
from trainlaw.validate.baselines import title_of
from trainlaw.validate.error_table import BY_CNN, BY_GPU
from trainlaw.validate.formula_errors import carried_errors
from trainlaw.validate.result import OURS

# Nodes above which a maximum is written on several lines, and a product in pieces, between which lines break.
_LONG_TERM, _LONG_PRODUCT = 12, 24
_SIGNS = {"mul": "<mo>&#183;</mo>", "div": "<mo>/</mo>"}


def report_html(outcome: StudyOutcome) -> str:
    """Return the whole report as one HTML text; every text of a user or a file is escaped."""
    formula, facts = outcome.formula, outcome.provenance
    errors, runs, target = carried_errors(formula), outcome.result.predictions, formula.target
    subject = "Time of a CNN training iteration" if target == TARGET else target.meaning.capitalize()
    return render(
        "report.html",
        title=f"{subject}: {facts.get('table', 'study')}",
        subtitle=f"{len(runs):,} held-out runs, {runs[BY_GPU].nunique()} GPU groups, "
        f"{runs[BY_CNN].nunique()} architectures; "
        f"seed {facts.get('seed')}, trainlaw {facts.get('trainlaw_version')}",
        version=facts.get("trainlaw_version", ""),
        style=template_text("report.css"),
        verdict=outcome.verdict,
        missing=outcome.missing,
        absent=[(title_of(name), remedy) for name, remedy in outcome.absent.items()],
        held_out=errors.held_out,
        story=story_of(outcome.result, errors),
        formula=equation_text(formula),
        target=mathml_symbol(target.symbol),
        equation=_equation(formula),
        terms=_terms(outcome),
        symbols=_symbols(outcome),
        errors=reported_errors(outcome, errors),
        properties=_properties(formula),
        few=_few(outcome),
        front=_front(outcome.front) if len(outcome.front) > 1 else None,
        folds=_folds(outcome),
        provenance=_provenance(outcome),
    )


# A line of the formula: how far it is indented, a word in front, and MathML in pieces that stay whole.
_Line = tuple[int, str, tuple[str, ...]]


def _equation(formula: Formula) -> list[_Line]:
    """Return the right side of the formula line by line, its quantities under their names."""
    names = {
        spec.name: f"<mtext>{escape(spec.name.removesuffix('_s').replace('_', ' '))}</mtext>"
        for spec in formula.used_features
    }
    part = SCOPES[formula.scope].part
    summed = f"sum over every {part} of" if part else ""
    return list(_summed(formula.ungrouped, names, 0, summed))


def _summed(
    expression: Expression, names: Mapping[str, str], indent: int, first: str = ""
) -> Iterator[_Line]:
    for number, term in enumerate(additive_terms(expression)):
        word = "+" if number else first
        if isinstance(term, Apply) and term.operator == "max" and count_nodes(term) > _LONG_TERM:
            yield indent, f"{word} the largest of".strip(), ()
            for place, side in enumerate(sides_of(term), start=1):
                yield from _summed(side, names, indent + 1, f"{place}.")
        else:
            is_long = count_nodes(term) > _LONG_PRODUCT
            yield indent, word, tuple(_pieces(term, names)) if is_long else (mathml_expression(term, names),)


def _pieces(factor: Expression, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the MathML of a product in pieces: its factors, of its first one the terms of a sum."""
    if isinstance(factor, Apply) and factor.operator in _SIGNS:
        first, second = factor.arguments
        yield from _pieces(first, names)
        is_whole = not isinstance(second, Apply) or second.operator not in _SIGNS | {"add": "", "sub": ""}
        whole = mathml_expression(second, names)
        yield _SIGNS[factor.operator] + (whole if is_whole else f"<mo>(</mo>{whole}<mo>)</mo>")
        return
    terms = [mathml_expression(term, names) for term in additive_terms(factor)]
    if len(terms) > 1:
        terms = [f"<mo>(</mo>{terms[0]}", *terms[1:-1], f"{terms[-1]}<mo>)</mo>"]
    yield from (f'<mo form="infix">+</mo>{term}' if number else term for number, term in enumerate(terms))


def _terms(outcome: StudyOutcome) -> Table:
    ordered = sorted(outcome.terms, key=lambda term: -term.share)
    rows = [[term.name, term.text, f"{100 * term.share:.1f} %"] for term in ordered]
    return Table.of(
        [TableColumn("term", "long"), TableColumn("as text", "formula"), TableColumn("share", "number")], rows
    )


def _symbols(outcome: StudyOutcome) -> Table:
    rows = [
        [spec.name, spec.unit, spec.meaning, *map(show_number, outcome.formula.ranges[spec.name])]
        for spec in outcome.formula.used_features
    ]
    names = [TableColumn("symbol", "symbol"), TableColumn("unit"), TableColumn("meaning", "long")]
    return Table.of([*names, "training minimum", "maximum"], rows, "number")


def _front(front: ParetoFront) -> Table:
    rows = [[item.complexity, show_number(item.loss), item.formula.text()] for item in front]
    return Table.of(["complexity", "loss", TableColumn("formula", "formula")], rows, "number")


def _few(outcome: StudyOutcome) -> dict[str, object] | None:
    """Return the front of few constants, as the template of the report names its parts; None without one."""
    few = outcome.few
    if few is None:
        return None
    return dict(
        plot=front_plot(few.rows, "front-"),
        table=front_table(few.rows, with_formula=True),
        members=[_member(few, row) for row in few.rows],
        support=(support_plot(few.support), support_table(few.support)) if few.support else None,
    )


def _member(few: StudyFront, row: FrontRow) -> dict[str, object]:
    points = member_points(few, row)
    error = show_percent(row.held_out_percent)
    return dict(
        constants=row.constants,
        heading=f"{'The law' if row.method == LAW else 'Evolved'}, {row.constants} constants: {error} %",
        formula=equation_text(row.formula),
        worth=worth_text(row) if row.gains else "",
        scatter=plots.predicted_from_zero(points) if points else "",
    )


def _folds(outcome: StudyOutcome) -> Table:
    found = {split: formula for (split, name), formula in outcome.result.formulas.items() if name == OURS}
    rows = [[", ".join(outcome.held_out[split]), formula.text()] for split, formula in found.items()]
    return Table.of([TableColumn("held out", "long"), TableColumn("formula", "formula")], rows)


def _provenance(outcome: StudyOutcome) -> Table:
    facts = [[key, plain_text(value)] for key, value in outcome.provenance.items()]
    facts += [["definition", definition_text(outcome.definition).strip().replace("\n", "; ")]]
    facts += [[name, version(name)] for name in LIBRARIES]
    return Table.of([TableColumn("item", "symbol"), TableColumn("value", "long")], facts)


def claims(formula: Formula) -> list[tuple[str, Proof]]:
    """Return the claims about a predicted time: it is not negative, and never falls as a feature grows.

    Where the second is not proved, the opposite is tried.
    """
    box = {spec.name: formula.ranges[spec.name] for spec in formula.used_features}
    proofs = Elasticities(formula.ungrouped, box)
    found = [("the time is never negative", Proof(proofs.nonnegative))]
    for name in box:
        rising, falling = (proofs.monotone(name, direction) for direction in (1, -1))
        is_falling = falling.proved and not rising.proved
        statement = f"the time never {'rises' if is_falling else 'falls'} as {name} grows"
        found.append((statement, falling if is_falling else rising))
    return found


def _properties(formula: Formula) -> Table:
    """Return the claims as a table: proved, or the terms that leave them open."""
    rows = [
        [statement, "proved" if proof.proved else "not proved", "; ".join(proof.blame)]
        for statement, proof in claims(formula)
    ]
    return Table.of(["claim", TableColumn("result", "symbol"), "left open by"], rows, "long")
