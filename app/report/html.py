"""The report: one HTML file that needs nothing else, drawn from a study's outcome."""

from importlib import resources
from importlib.metadata import version
from string import Template

from trainlaw.app.models.errors import BY_CNN, BY_GPU, OURS
from trainlaw.app.models.terms import terms_of
from trainlaw.app.report import plots
from trainlaw.app.report.errors import errors_html, figures_html
from trainlaw.app.report.proofs import proofs_html, stability_html
from trainlaw.app.report.studies import studies_html
from trainlaw.app.studies.definition import definition_text
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.terminal.formula import equation_text
from trainlaw.app.text.html import table_html
from trainlaw.app.text.numbers import show_number
from trainlaw.app.text.svg import escape
from trainlaw.app.text.tables import plain_text
from trainlaw.datasets import TARGET
from trainlaw.formulas import complexity, to_text

_LIBRARIES = ("numpy", "pandas", "numba", "deap", "sympy")


def report_html(outcome: StudyOutcome) -> str:
    """Return the whole report as one HTML text.

    It refers to no other file, and every text of a user or a file is escaped.
    """
    template = resources.files("trainlaw.app").joinpath("templates/report.html").read_text(encoding="utf-8")
    facts = [[key, plain_text(value)] for key, value in outcome.provenance.items()]
    facts += [["definition", definition_text(outcome.definition).strip().replace("\n", "; ")]]
    facts += [[name, version(name)] for name in _LIBRARIES]
    return Template(template).substitute(
        title=escape(f"{_subject(outcome)}: {outcome.provenance.get('table', 'study')}"),
        version=escape(outcome.provenance.get("trainlaw_version", "")),
        subtitle=escape(_subtitle(outcome)),
        warning=_warning(outcome),
        figures=figures_html(outcome),
        formula=escape(equation_text(outcome.formula)),
        terms=_terms(outcome),
        symbols=_symbols(outcome),
        errors=errors_html(outcome),
        proofs=proofs_html(outcome),
        stability=stability_html(outcome),
        studies=studies_html(outcome),
        front=_front(outcome),
        front_table=_front_table(outcome),
        folds=_folds(outcome),
        provenance=table_html(
            "What this report was made from.", ["fact", "value"], facts, ["symbol", "long"]
        ),
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


def _warning(outcome: StudyOutcome) -> str:
    if not outcome.missing:
        return ""
    return f'<p class="warning">This study was interrupted. {escape(" ".join(outcome.missing))}</p>'


def _terms(outcome: StudyOutcome) -> str:
    pairs = zip(terms_of(outcome.formula), outcome.shares, strict=True)
    ordered = sorted(pairs, key=lambda pair: -pair[1])
    rows = [[to_text(term, 3), f"{100 * share:.1f} %"] for term, share in ordered]
    caption = (
        "Terms of the formula, and the share of the predicted time that each explains (mean over all runs)."
    )
    return table_html(caption, ["term", "share"], rows, ["formula", "n"])


def _symbols(outcome: StudyOutcome) -> str:
    rows = []
    for spec in outcome.formula.used_features:
        low, high = outcome.formula.ranges[spec.name]
        rows.append([spec.name, spec.unit, spec.meaning, show_number(low), show_number(high)])
    caption = "Symbols. SI units; MACs, elements and activations are per image and forward pass."
    header = ["symbol", "unit", "meaning", "least in training", "most"]
    return table_html(caption, header, rows, ["symbol", "symbol", "long", "n", "n"])


def _front(outcome: StudyOutcome) -> str:
    members = [plots.FrontPoint(item.complexity, item.loss, item.formula.text()) for item in outcome.front]
    chosen = outcome.formula
    delivered = plots.FrontPoint(complexity(chosen.expression), outcome.training_loss, chosen.text())
    return plots.pareto_front(members, delivered)


def _front_table(outcome: StudyOutcome) -> str:
    rows = [[item.complexity, show_number(item.loss), item.formula.text()] for item in outcome.front]
    caption = "The front of the search on all rows. The loss is the search's own, on training rows."
    return table_html(caption, ["complexity", "loss", "formula"], rows, ["n", "n", "formula"])


def _folds(outcome: StudyOutcome) -> str:
    found = {split: formula for (split, name), formula in outcome.result.formulas.items() if name == OURS}
    rows = [[", ".join(outcome.held_out[split]), formula.text()] for split, formula in found.items()]
    caption = "The formula of each fold, and the GPU groups that it never saw."
    return table_html(caption, ["held out", "formula"], rows, ["long", "formula"])
