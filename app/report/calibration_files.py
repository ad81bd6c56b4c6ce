"""The files of a calibrated formula: a run folder without the report of a study."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from trainlaw.app.models.calibration import CalibratedLaw
from trainlaw.app.models.scopes import formula_rows, takes_runs
from trainlaw.app.page.html import page_html
from trainlaw.app.text.tables import Table
from trainlaw.app.workbook.book import workbook_bytes
from trainlaw.datasets import RunTable
from trainlaw.formulas import Formula, save_formula

_COLUMNS = ("gpu", "cnn", "input_size_px", "batch_per_gpu", "precision")


def write_calibration_files(
    law: CalibratedLaw, given: Formula, runs: RunTable, folder: Path, circumstances: Mapping[str, object]
) -> None:
    """Write formula.json, formula.xlsx, page.html, calibration.csv and provenance.json into `folder`.

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
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "trainlaw_version_of_calibration": version("trainlaw"),
    }
    text = json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "provenance.json").write_text(text + "\n", encoding="utf-8")


def _runs_csv(law: CalibratedLaw, given: Formula, runs: RunTable) -> str:
    before, after = (formula_rows(one, runs).predict(one).tolist() for one in (given, law.formula))
    cells = runs.frame[list(_COLUMNS)].itertuples(index=False, name=None)
    rows = [
        [*cell, *numbers] for cell, *numbers in zip(cells, runs.seconds.tolist(), before, after, strict=True)
    ]
    return Table.of([*_COLUMNS, "measured_s", "before_s", "after_s"], rows).csv()
