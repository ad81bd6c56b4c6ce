"""The files of a run folder, among them the report of a study: one HTML file that refers to no other."""

import hashlib
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from trainlaw.app.explain.term_descriptions import words_of_parts
from trainlaw.app.models.terms import parts_of
from trainlaw.app.report import plots
from trainlaw.app.report.equation import equation_lines
from trainlaw.app.report.errors import property_table, reported_errors, stability_table
from trainlaw.app.report.evolution import evolution_plot, step_rows
from trainlaw.app.studies.definition import LIBRARIES, definition_text, seen_from
from trainlaw.app.studies.evolution import evolution_of
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.story import story_of
from trainlaw.app.terminal.formula import equation_text
from trainlaw.app.text.html import render, template_text
from trainlaw.app.text.numbers import show_number
from trainlaw.app.text.tables import Column, Table, plain_text
from trainlaw.app.workbook.book import workbook_bytes
from trainlaw.datasets import TARGET
from trainlaw.formulas import ScoredFormula, complexity, save_formula, to_text
from trainlaw.formulas.printers import mathml_symbol
from trainlaw.validate.baselines import title_of
from trainlaw.validate.held_out_errors import BY_CNN, BY_GPU, OURS, held_out_kind


def report_html(outcome: StudyOutcome) -> str:
    """Return the whole report as one HTML text; every text of a user or a file is escaped."""
    formula, facts = outcome.formula, outcome.provenance
    return render(
        "report.html",
        title=f"{_subject(outcome)}: {facts.get('table', 'study')}",
        subtitle=_subtitle(outcome),
        version=facts.get("trainlaw_version", ""),
        style=template_text("report.css"),
        verdict=outcome.verdict,
        missing=outcome.missing,
        absent=[(title_of(name), remedy) for name, remedy in outcome.absent.items()],
        held_out=held_out_kind(formula),
        story=story_of(outcome),
        formula=equation_text(formula),
        target=mathml_symbol(formula.target.symbol),
        equation=equation_lines(formula),
        terms=_terms(outcome),
        symbols=_symbols(outcome),
        errors=reported_errors(outcome),
        properties=property_table(formula),
        stability=stability_table(outcome),
        evolution=_evolution(outcome),
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
    parts = [part.expression for part in parts_of(outcome.formula)]
    names = [words.name for words in words_of_parts(outcome.formula)]
    ordered = sorted(zip(names, parts, outcome.shares, strict=True), key=lambda row: -row[2])
    rows = [[name, to_text(term, 3), f"{100 * share:.1f} %"] for name, term, share in ordered]
    return Table.of([Column("term", "long"), Column("as text", "formula"), Column("share", "number")], rows)


def _symbols(outcome: StudyOutcome) -> Table:
    rows = [
        [spec.name, spec.unit, spec.meaning, *map(show_number, outcome.formula.ranges[spec.name])]
        for spec in outcome.formula.used_features
    ]
    names = [Column("symbol", "symbol"), Column("unit", "symbol"), Column("meaning", "long")]
    return Table.of([*names, "training minimum", "maximum"], rows, "number")


def _front(outcome: StudyOutcome) -> str:
    size = complexity(outcome.formula.expression)
    return plots.pareto_front([*outcome.front], ScoredFormula(outcome.formula, outcome.training_loss, size))


def _front_table(outcome: StudyOutcome) -> Table:
    rows = [[item.complexity, show_number(item.loss), item.formula.text()] for item in outcome.front]
    return Table.of(["complexity", "loss", Column("formula", "formula")], rows, "number")


def _evolution(outcome: StudyOutcome) -> tuple[str, Table] | None:
    """How the search went: a drawing, and what each step changed; None where it has no history."""
    evolution = evolution_of(outcome.formula)
    if evolution is None:
        return None
    columns = [Column("formulas tried", "number"), Column("what changed", "long")]
    return evolution_plot(evolution), Table.of(columns, step_rows(evolution))


def _folds(outcome: StudyOutcome) -> Table:
    found = {split: formula for (split, name), formula in outcome.result.formulas.items() if name == OURS}
    rows = [[", ".join(outcome.held_out[split]), formula.text()] for split, formula in found.items()]
    return Table.of([Column("held out", "long"), Column("formula", "formula")], rows)


def _provenance(outcome: StudyOutcome) -> Table:
    facts = [[key, plain_text(value)] for key, value in outcome.provenance.items()]
    facts += [["definition", definition_text(outcome.definition).strip().replace("\n", "; ")]]
    facts += [[name, version(name)] for name in LIBRARIES]
    return Table.of([Column("item", "symbol"), Column("value", "long")], facts)


def write_run_files(outcome: StudyOutcome, folder: Path, circumstances: Mapping[str, object]) -> None:
    """Write all files of a run into `folder`; of an interrupted one, those that are quickly made.

    circumstances : what describes this run rather than its result: command, duration, workers.
    """
    save_formula(outcome.formula, folder / "formula.json")
    _write_frame(folder / "front.csv", pd.DataFrame(outcome.front.to_rows()))
    _write_frame(folder / "errors.csv", outcome.errors)
    _write_frame(folder / "predictions.csv", outcome.result.predictions)
    for name, matrix in outcome.matrices.items():
        _write_frame(folder / f"platforms-{name}.csv", matrix)
    definition = seen_from(folder, outcome.definition)
    (folder / "study.toml").write_text(definition_text(definition), encoding="utf-8")
    if not outcome.missing:
        (folder / "formula.xlsx").write_bytes(workbook_bytes(outcome.formula))
        (folder / "report.html").write_text(report_html(outcome), encoding="utf-8")
    written = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
    provenance = {
        **outcome.provenance,
        "missing": list(outcome.missing),
        "absent_baselines": dict(outcome.absent),
        "sha256": written,
        "this_run": {
            **circumstances,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": {name: version(name) for name in (*LIBRARIES, "xlsxwriter")},
        },
    }
    text = json.dumps(provenance, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "provenance.json").write_text(text + "\n", encoding="utf-8")


def _write_frame(path: Path, frame: pd.DataFrame) -> None:
    rows = frame.astype(object).to_numpy().tolist()
    path.write_text(Table.of(map(str, frame.columns), rows).csv(), encoding="utf-8")
