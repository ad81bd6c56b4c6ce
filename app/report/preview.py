"""The preview of an import: each sheet as it is, the meaning of its cells coloured, and a plot."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from trainlaw.app.models.law_times import law_seconds
from trainlaw.app.report.plots import PointGroup, predicted_against_measured
from trainlaw.app.text.html import render, template_text
from trainlaw.datasets.files.grids import Grid
from trainlaw.datasets.spreadsheets.blocks import letters
from trainlaw.datasets.spreadsheets.conversion import Imported
from trainlaw.formulas.files.text_files import write_text_atomically

_MOST_ROWS, _MOST_COLUMNS = 300, 60  # of a sheet that are shown
_KINDS = {
    "gpu": "gpu",
    "cnn": "cnn",
    "precision": "precision",
    "batch": "batch",
    "batch_per_gpu": "batch",
    "global_batch": "batch",
}
_LEGEND = (
    ("gpu", "GPU"),
    ("cnn", "CNN"),
    ("batch", "batch"),
    ("precision", "precision"),
    ("time", "time"),
    ("other", "other column that is read"),
    ("unread", "not read"),
    ("doubt", "asked or doubted"),
)


#: A cell: its text, the class of its colour, and a tooltip.
Cell = tuple[str, str, str]
#: A sheet: its name, rows with their number, and how many rows are not shown.
SheetView = tuple[str, list[tuple[int, list[Cell]]], int]


def write_preview(made: Imported, path: Path) -> None:
    """Write the preview of an import as one HTML file that loads nothing."""
    doubts = {str(row): issue.text for issue in made.issues for row in issue.rows}
    points = _points(made)
    plot = predicted_against_measured(points, "by the built-in formula") if points else ""
    sheets = [_view(name, grid, made, doubts) for name, grid in made.grids.items()]
    number = f"{len(made.rows):,} runs are read" if made.rows else "no run can be read yet"
    asked = f"; questions or faults that are open: {len(made.issues)}" if made.issues else ""
    text = render(
        "preview.html",
        title=f"Import of {made.name}",
        version="",
        style=template_text("preview.css"),
        script="",
        summary=f"{number}{asked}.",
        legend=_LEGEND,
        issues=made.issues,
        notes=made.notes,
        sheets=sheets,
        plot=plot,
        gpus=[(group.name, group.hue) for group in points],
    )
    write_text_atomically(path, text)


def _points(made: Imported) -> list[PointGroup]:
    """Return the times that can be compared with the formula, by GPU."""
    if made.table is None:
        return []
    measured, law_s = made.seconds(), law_seconds(made.table)
    gpus = made.table.frame["gpu"].to_numpy()
    known = np.isfinite(measured) & np.isfinite(law_s)
    names = sorted(set(gpus[known]))
    return [
        PointGroup(
            name, measured[known & (gpus == name)].tolist(), law_s[known & (gpus == name)].tolist(), hue=hue
        )
        for name, hue in zip(names, range(10, 10 + 47 * len(names), 47), strict=True)
    ]


def _view(name: str, grid: Grid, made: Imported, doubts: Mapping[str, str]) -> SheetView:
    meanings = _meanings(name, made)
    has_sheets = len(made.grids) > 1
    rows = []
    for number, row in enumerate(grid.rows[:_MOST_ROWS], start=1):
        doubt = doubts.get(str(number)) or (doubts.get(f"{name}!{number}") if has_sheets else None)
        cells = []
        for column, cell in enumerate(row[:_MOST_COLUMNS]):
            kind, title = meanings.get((number, column), ("unread", "not read"))
            is_doubted = doubt and kind == "time"
            text = "" if cell is None else str(cell)
            cells.append((text, f"{kind} doubt" if is_doubted else kind if text else "", doubt or title))
        rows.append((number, cells))
    return name or made.name, rows, max(len(grid.rows) - _MOST_ROWS, 0)


def _meanings(name: str, made: Imported) -> dict[tuple[int, int], tuple[str, str]]:
    """Return the colour and tooltip of each cell that is read, by its row and column."""
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for reading in made.readings:
        block = reading.block
        if block.sheet != name:
            continue
        read = [(place, target) for target, place in reading.columns.keys.items()]
        read += [(measure.place, "time") for measure in reading.columns.measures]
        for place, target in read:
            kind = _KINDS.get(target, "time" if target == "time" else "other")
            column = block.columns[place]
            title = f"{target.removeprefix('flag:')} (column {letters(column)}: {block.headings[place]})"
            found |= {(number, column): (kind, title) for number in (*block.header, *block.numbers)}
        said = {source: kind for kind, source in reading.context.sources.items()}
        for number, row in enumerate(made.grids[name].rows[:_MOST_ROWS], start=1):
            filled = [(column, str(cell)) for column, cell in enumerate(row) if cell is not None]
            # A setting and its value are one text.
            pair = " ".join(text for _, text in filled)
            for column, text in filled:
                if setting := said.get(text) or said.get(pair):
                    found[number, column] = (_KINDS.get(setting, "other"), f"says {setting}")
    return found
