"""The report of a study: one HTML file that refers to no other."""

from importlib.metadata import version

from trainlaw.app.models.errors import BY_CNN, BY_GPU, OURS, held_out_kind
from trainlaw.app.models.terms import terms_of
from trainlaw.app.report import plots
from trainlaw.app.report.errors import property_table, reported_errors, stability_table, stated_errors
from trainlaw.app.studies.definition import definition_text
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.terminal.formula import equation_text
from trainlaw.app.text.html import Table, render, template_text
from trainlaw.app.text.numbers import show_number
from trainlaw.app.text.tables import plain_text
from trainlaw.datasets import TARGET
from trainlaw.formulas import complexity, to_text
from trainlaw.validate.baselines import title_of

LIBRARIES = ("numpy", "pandas", "numba", "deap", "sympy")


def report_html(outcome: StudyOutcome) -> str:
    """Return the whole report as one HTML text; every text of a user or a file is escaped."""
    formula, facts = outcome.formula, outcome.provenance
    return render(
        "report.html",
        title=f"{_subject(outcome)}: {facts.get('table', 'study')}",
        subtitle=_subtitle(outcome),
        version=facts.get("trainlaw_version", ""),
        style=template_text("report.css"),
        missing=outcome.missing,
        absent=[(title_of(name), remedy) for name, remedy in outcome.absent.items()],
        held_out=held_out_kind(formula),
        stated=stated_errors(formula),
        formula=equation_text(formula),
        terms=_terms(outcome),
        symbols=_symbols(outcome),
        errors=reported_errors(outcome),
        properties=property_table(formula),
        stability=stability_table(outcome),
        front=_front(outcome),
        front_table=_front_table(outcome),
        folds=_folds(outcome),
        provenance=_provenance(outcome),
    )


def _subject(outcome: StudyOutcome) -> str:
    target = outcome.formula.target
    return "Time of a CNN training iteration" if target == TARGET else target.meaning.capitalize()


def _subtitle(outcome: StudyOutcome) -> str:
    runs, facts = outcome.result.predictions, outcome.provenance
    return (
        f"{len(runs):,} held-out runs, {runs[BY_GPU].nunique()} GPU groups, "
        f"{runs[BY_CNN].nunique()} architectures; "
        f"seed {facts.get('seed')}, trainlaw {facts.get('trainlaw_version')}"
    )


def _terms(outcome: StudyOutcome) -> Table:
    pairs = zip(terms_of(outcome.formula), outcome.shares, strict=True)
    ordered = sorted(pairs, key=lambda pair: -pair[1])
    rows = [[to_text(term, 3), f"{100 * share:.1f} %"] for term, share in ordered]
    return Table(["term", "share"], rows, ["formula", "n"])


def _symbols(outcome: StudyOutcome) -> Table:
    rows = [
        [spec.name, spec.unit, spec.meaning, *map(show_number, outcome.formula.ranges[spec.name])]
        for spec in outcome.formula.used_features
    ]
    header = ["symbol", "unit", "meaning", "training minimum", "maximum"]
    return Table(header, rows, ["symbol", "symbol", "long", "n", "n"])


def _front(outcome: StudyOutcome) -> str:
    members = [plots.FrontPoint(item.complexity, item.loss, item.formula.text()) for item in outcome.front]
    chosen = outcome.formula
    final = plots.FrontPoint(complexity(chosen.expression), outcome.training_loss, chosen.text())
    return plots.pareto_front(members, final)


def _front_table(outcome: StudyOutcome) -> Table:
    rows = [[item.complexity, show_number(item.loss), item.formula.text()] for item in outcome.front]
    return Table(["complexity", "loss", "formula"], rows, ["n", "n", "formula"])


def _folds(outcome: StudyOutcome) -> Table:
    found = {split: formula for (split, name), formula in outcome.result.formulas.items() if name == OURS}
    rows = [[", ".join(outcome.held_out[split]), formula.text()] for split, formula in found.items()]
    return Table(["held out", "formula"], rows, ["long", "formula"])


def _provenance(outcome: StudyOutcome) -> Table:
    facts = [[key, plain_text(value)] for key, value in outcome.provenance.items()]
    facts += [["definition", definition_text(outcome.definition).strip().replace("\n", "; ")]]
    facts += [[name, version(name)] for name in LIBRARIES]
    return Table(["item", "value"], facts, ["symbol", "long"])
