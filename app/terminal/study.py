"""Output of `trainlaw study`."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.inputs.run_folder import RUN_FILES, SLOW_FILES, StudyPlace, other_journals
from trainlaw.app.models.calibration import DOUBT
from trainlaw.app.models.front import front_table
from trainlaw.app.models.scopes import takes_runs
from trainlaw.app.models.stated_error import evolution_sentence, headline
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.verdict import lead_sentence
from trainlaw.app.terminal.formula import class_errors, equation_text, overall_errors_text, worst_text
from trainlaw.app.text.numbers import seconds_text, show_percent
from trainlaw.app.text.tables import Table, TableColumn, fitted_lines
from trainlaw.formulas import Formula
from trainlaw.validate.error_table import BY_GPU
from trainlaw.validate.formula_errors import carried_errors
from trainlaw.validate.journal import Journal
from trainlaw.validate.levels import LevelError
from trainlaw.validate.result import OURS

_CLASSES = ("precision", "generation")  # whose errors fit a screen; the report has more


def study_text(outcome: StudyOutcome, folder: Path, seconds: float) -> str:
    """Return what to read first, the formula, its held-out errors, and where everything was written."""
    parts = [*outcome.verdict, *([""] if outcome.verdict else []), equation_text(outcome.formula), ""]
    if outcome.formula.errors.get("estimators"):
        parts += [overall_errors_text(outcome.formula), lead_sentence(carried_errors(outcome.formula))]
        evolution = evolution_sentence(carried_errors(outcome.formula))
        parts += [evolution] if evolution else []
        if outcome.few:
            table = front_table(outcome.few.rows).text(indent="  ")
            parts += [f"held-out error by number of constants, mean over GPU groups\n{table}", ""]
        parts += [*class_errors(outcome.formula, _CLASSES), worst_text(outcome.formula)]
        if outcome.levels:
            table = levels_table([level for level in outcome.levels if level.n_groups]).text(indent="  ")
            parts += [f"error by calibration level, mean over GPU groups\n{table}"]
        parts += [headline(outcome.formula), coverage_text(outcome.formula)]
    for name, matrix in outcome.matrices.items():
        parts += ["", matrix_text(matrix, name)]
    parts += [f"warning: {outcome.provenance[DOUBT]}"] if outcome.provenance.get(DOUBT) else []
    parts += [f"not compared: {name} ({remedy})" for name, remedy in outcome.absent.items()]
    parts += [f"interrupted: {sentence}" for sentence in outcome.missing]
    files = [name for name in RUN_FILES if not outcome.missing or name not in SLOW_FILES]
    files = [name for name in files if name != "formula.xlsx" or takes_runs(outcome.formula)]
    written = f"{folder}: {', '.join(files)} ({seconds_text(seconds)})"
    more = "symbols, terms, architectures, GPUs and all other metrics: report.html" * (not outcome.missing)
    parts += ["", written, *([more] if more else [])]
    # A command stays in one line, to be copied.
    return fitted_lines("\n".join(parts)) + "\n" + _next_step(outcome, str(folder))


def levels_table(levels: Sequence[LevelError]) -> Table:
    """Return a row per calibration level, with the error of the same groups without calibration."""
    rows = [
        [
            item.level,
            item.n_groups,
            show_percent(item.macro_mape_percent),
            f"{show_percent(item.low_percent)} to {show_percent(item.high_percent)}",
            show_percent(item.sheet_percent),
        ]
        if item.n_groups
        else [item.level, 0, "no data", "-", "-"]
        for item in levels
    ]
    numbers = ("groups", "error, %", "90 % interval", "same groups, data sheet only, %")
    return Table.of([TableColumn("known about the target GPU", "long"), *numbers], rows, "number")


def coverage_text(formula: Formula) -> str:
    """Return in one line how the interval derived from other groups covered each group."""
    interval = formula.errors.get("interval", {})
    covered, mean = interval.get("coverage_by_group", {}), interval.get("coverage_percent")
    if mean is None or not covered:
        return "90 % interval: coverage is unknown, too few groups"
    lowest = min(covered, key=covered.__getitem__)
    return (
        f"90 % interval: covers {mean:.1f} % of the runs of held-out groups, "
        f"mean over {len(covered)} groups; lowest: {covered[lowest]:.0f} % of {lowest}"
    )


def matrix_text(matrix: pd.DataFrame, by: str) -> str:
    """Return our errors from platform to platform; rows train, columns test. The report has all."""
    part = matrix[matrix["estimator"] == OURS]
    table = part.pivot(index="train", columns="test", values="macro_mape_percent")
    rows = [
        [train, *("-" if np.isnan(value) else show_percent(value) for value in table.loc[train])]
        for train in table.index
    ]
    title = f"{by}: constants refitted on (row), evaluated on (column), error in %, mean over {BY_GPU}"
    return f"{title}\n{Table.of(['', *map(str, table.columns)], rows).text(indent='  ')}"


def _next_step(outcome: StudyOutcome, folder: str) -> str:
    step, gpu_file = STUDY_KINDS[outcome.definition.of].next_step, outcome.definition.gpu_file
    predictions = outcome.result.predictions
    if gpu_file and step.startswith("trainlaw predict --cnn") and len(predictions):
        cnn, gpu = (shlex.quote(str(predictions[name].iloc[0])) for name in ("cnn", "gpu"))
        step = f"trainlaw predict --cnn {cnn} --gpu {gpu} --batch 64 --gpu-file {shlex.quote(gpu_file)}"
        step += " --formula {folder}"
    return "next: " + step.replace("{folder}", shlex.quote(folder))


def print_resumed(journal: Journal, place: StudyPlace) -> None:
    """Say, on standard error, which earlier results are used, and which are not."""
    if len(journal):
        print(f"continues with {len(journal)} results of {place.journal.name}", file=sys.stderr)
    for path in other_journals(place):
        print(f"note: {path.name} is of another study of this folder; it is left alone", file=sys.stderr)


def print_kept(journal: Journal) -> None:
    """Say, on standard error, how an interrupted study is continued."""
    kept = f"{len(journal)} finished results are kept"
    print(f"interrupted; {kept}: the same command, or --resume, continues from there", file=sys.stderr)
