"""The files of a run folder, and of a calibrated formula: a run folder without the report of a study."""

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from trainlaw.app.inputs.run_folder import FRONT_FOLDER
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.calibration import CalibratedLaw
from trainlaw.app.models.front import LAW, front_csv
from trainlaw.app.models.scopes import formula_rows, takes_runs
from trainlaw.app.page.html import page_html
from trainlaw.app.report.html import report_html
from trainlaw.app.studies.definition import LIBRARIES, PATHS, definition_text
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.text.tables import Table
from trainlaw.app.workbook.book import workbook_bytes
from trainlaw.datasets import RunTable
from trainlaw.formulas import Formula, save_formula

# Columns of calibration.csv, next to the times.
_CALIBRATED = ("gpu", "cnn", "input_size_px", "batch_per_gpu", "precision")


def write_run_files(outcome: StudyOutcome, folder: Path, circumstances: Mapping[str, object]) -> None:
    """Write all files of a run into `folder`; of an interrupted one, only the quick ones.

    circumstances : facts of this run that do not decide its result: command, duration, workers.
    """
    save_formula(outcome.formula, folder / "formula.json")
    everything = outcome.few.result if outcome.few else outcome.result
    frames = {"errors": outcome.errors, "predictions": everything.predictions}
    frames |= {f"platforms-{name}": matrix for name, matrix in outcome.matrices.items()}
    for name, frame in frames.items():
        _write_frame(folder / f"{name}.csv", frame)
    definition = _seen_from(folder, outcome.definition)
    (folder / "study.toml").write_text(definition_text(definition), encoding="utf-8")
    _write_front(folder, outcome)
    if not outcome.missing:
        if takes_runs(outcome.formula):
            (folder / "formula.xlsx").write_bytes(workbook_bytes(outcome.formula))
        (folder / "report.html").write_text(report_html(outcome), encoding="utf-8")
    written = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    provenance = {
        **outcome.provenance,
        "missing": list(outcome.missing),
        "absent_baselines": dict(outcome.absent),
        "sha256": written,
        "this_run": {
            **circumstances,
            "written": _now(),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": {name: version(name) for name in (*LIBRARIES, "xlsxwriter")},
        },
    }
    _write_provenance(folder, provenance)


def _write_provenance(folder: Path, facts: Mapping[str, object]) -> None:
    text = json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "provenance.json").write_text(text + "\n", encoding="utf-8")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _write_front(folder: Path, outcome: StudyOutcome) -> None:
    """Write front.csv, and of a study with formulas of few constants each of them into the folder `front`."""
    if outcome.few is None:
        _write_frame(folder / "front.csv", pd.DataFrame(outcome.front.to_rows()))
        return
    (folder / "front.csv").write_text(front_csv(outcome.few.rows).csv(), encoding="utf-8")
    (folder / FRONT_FOLDER).mkdir()
    for row in outcome.few.rows:
        name = "law" if row.method == LAW else row.constants
        save_formula(row.formula, folder / FRONT_FOLDER / f"{name}.json")


def _seen_from(folder: Path, definition: StudyDefinition) -> StudyDefinition:
    """Return the definition with its relative paths rewritten for a file in `folder`."""

    def seen(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(seen, value))
        path = Path(str(value))
        return os.path.relpath(path, folder) if path.is_file() and not path.is_absolute() else value

    return replace(definition, **{name: seen(getattr(definition, name)) for name in PATHS})  # type: ignore[arg-type]


def _write_frame(path: Path, frame: pd.DataFrame) -> None:
    rows = frame.astype(object).to_numpy().tolist()
    path.write_text(Table.of(map(str, frame.columns), rows).csv(), encoding="utf-8")


def write_calibration_files(
    law: CalibratedLaw, given: Formula, runs: RunTable, folder: Path, circumstances: Mapping[str, object]
) -> None:
    """Write the files of a calibrated formula into `folder`.

    given : the formula before the calibration. runs : those that calibrated it. circumstances : facts of the
    command.
    """
    save_formula(law.formula, folder / "formula.json")
    if takes_runs(law.formula):
        (folder / "formula.xlsx").write_bytes(workbook_bytes(law.formula))
        (folder / "page.html").write_text(page_html(law.formula), encoding="utf-8")
    (folder / "calibration.csv").write_text(_runs_csv(law, given, runs), encoding="utf-8")
    facts = {
        **law.formula.provenance,
        **circumstances,
        "warnings": list(law.warnings),
        "written": _now(),
        "trainlaw_version_of_calibration": version("trainlaw"),
    }
    _write_provenance(folder, facts)


def _runs_csv(law: CalibratedLaw, given: Formula, runs: RunTable) -> str:
    before, after = (formula_rows(one, runs).predict(one).tolist() for one in (given, law.formula))
    cells = runs.frame[list(_CALIBRATED)].itertuples(index=False, name=None)
    rows = [
        [*cell, *numbers] for cell, *numbers in zip(cells, runs.seconds.tolist(), before, after, strict=True)
    ]
    return Table.of([*_CALIBRATED, "measured_s", "before_s", "after_s"], rows).csv()
