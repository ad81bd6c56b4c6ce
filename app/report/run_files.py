"""Write the files of a run folder from the result of a study."""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from trainlaw.app.models.errors import errors_frame
from trainlaw.app.report.html import LIBRARIES, report_html
from trainlaw.app.studies.definition import definition_text, seen_from
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.text.csv import rows_as_csv
from trainlaw.app.workbook.book import workbook_bytes
from trainlaw.formulas import save_formula


def write_run_files(outcome: StudyOutcome, folder: Path, circumstances: Mapping[str, object]) -> None:
    """Write all files of a run into `folder`.

    circumstances : what describes this run rather than its result: command, duration, workers.
    """
    save_formula(outcome.formula, folder / "formula.json")
    front = outcome.front.to_rows()
    _write_csv(folder / "front.csv", list(front[0]), [list(row.values()) for row in front])
    _write_frame(folder / "errors.csv", errors_frame(outcome.result))
    _write_frame(folder / "predictions.csv", outcome.result.predictions)
    for name, matrix in outcome.matrices.items():
        _write_frame(folder / f"platforms-{name}.csv", matrix)
    definition = seen_from(folder, outcome.definition)
    (folder / "study.toml").write_text(definition_text(definition), encoding="utf-8")
    (folder / "formula.xlsx").write_bytes(workbook_bytes(outcome.formula))
    (folder / "report.html").write_text(report_html(outcome), encoding="utf-8")
    written = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
    provenance = {
        **outcome.provenance,
        "missing": list(outcome.missing),
        "absent_baselines": dict(outcome.absent),
        **circumstances,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: version(name) for name in (*LIBRARIES, "xlsxwriter")},
        "sha256": written,
    }
    text = json.dumps(provenance, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "provenance.json").write_text(text + "\n", encoding="utf-8")


def _write_frame(path: Path, frame: pd.DataFrame) -> None:
    cells = frame.astype(object).where(frame.notna(), "").to_numpy().tolist()
    _write_csv(path, list(frame.columns), cells)


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    path.write_text(rows_as_csv(header, rows), encoding="utf-8")
