"""The built-in data sets, and the coverage, noise and suspicious runs of a table, as text and heat map."""

import math
import textwrap
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from trainlaw.app.terminal.output import TABLES
from trainlaw.app.text.numbers import show_seconds, show_seconds_range
from trainlaw.app.text.svg import WIDTH, drawing, escape, standalone, text
from trainlaw.app.text.tables import Table, TableColumn, fitted_lines, terminal_width
from trainlaw.datasets import DATASETS, Dataset, RunTable, coverage, find_gpu, load
from trainlaw.datasets.hardware.gpus import name_key
from trainlaw.datasets.measurements.inspection import Outlier, coverage_by, noise_between_sources
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import UnknownNameError, check_name, unknown_name
from trainlaw.formulas.files.text_files import write_text_atomically

_GPU_COLUMNS, _BATCH_COLUMNS = ("gpu", "target_gpu"), ("batch_per_gpu", "batch")


def list_text() -> str:
    """Return the built-in data sets: one line each, then the notes to read before using each."""
    rows = [_summary(dataset, load(name)) for name, dataset in DATASETS.items()]
    header = ["data set", "rows", "GPUs", "CNNs", "batch", "description"]
    notes = [f"{name}\n{_notes(dataset)}" for name, dataset in DATASETS.items()]
    return "\n\n".join([Table.of(header, rows).text(), *notes])


def _summary(dataset: Dataset, table: MeasuredTable) -> list[object]:
    frame = table.frame
    gpus, batches = (
        next(frame[name] for name in names if name in frame) for names in (_GPU_COLUMNS, _BATCH_COLUMNS)
    )
    cnns = frame["cnn"].nunique() if "cnn" in frame else "-"
    extent = f"{batches.min()}-{batches.max()}"
    return [dataset.name, f"{len(frame):,}", gpus.nunique(), cnns, extent, dataset.title]


def _notes(dataset: Dataset) -> str:
    parts = [
        ("covers", dataset.coverage),
        ("licence", dataset.licence),
        ("commit", dataset.commit),
        ("noise", dataset.noise_floor),
        *(("caution", anomaly) for anomaly in dataset.anomalies),
    ]
    shape = textwrap.TextWrapper(
        terminal_width(), initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
    return "\n".join(shape.fill(f"{title}: {text}") for title, text in parts)


def table_text(name: str) -> str:
    """Return size, sources and coverage of the data set `name`: GPUs by CNNs, with runs and batch sizes.

    Raises UnknownNameError for an unknown name.
    """
    check_name("data set", name, DATASETS)
    table, dataset = load(name), DATASETS[name]
    extent = show_seconds_range(float(table.seconds.min()), float(table.seconds.max()))
    head = [
        f"{name}: {dataset.title}",
        f"  {len(table):,} {dataset.kind}, {extent}",
        f"  sha256 {table.sha256}",
        _notes(dataset),
    ]
    frame = table.frame
    rows = []
    if "source" in frame:
        counts = frame.value_counts(["source", "licence"]).rename("rows").reset_index()
        rows = [[row.source, row.rows, row.licence] for row in counts.itertuples()]
    parts = ["\n".join(head), Table.of(["source", dataset.kind, "licence"], rows).text() if rows else ""]
    title = f"{dataset.kind} (smallest-largest batch), by GPU and {_COLUMNS[dataset.kind]}:"
    cells, blocks = coverage(table), list[str]()
    widths = [max(len(str(name)), int(cells[name].str.len().max())) for name in cells.columns]
    for columns in _column_blocks(cells, widths, terminal_width() - max(map(len, cells.index))):
        filled = cells.loc[(cells[columns] != "").any(axis=1), columns]
        lines = [[gpu, *row] for gpu, row in zip(filled.index, filled.to_numpy().tolist(), strict=True)]
        blocks.append(Table.of(["", *map(str, columns)], lines).text())
    return "\n\n".join([*filter(None, parts), title, *blocks])


_COLUMNS = {"runs": "CNN", "layers": "kind of layer", "pairs": "target GPU"}


def _column_blocks(cells: pd.DataFrame, widths: Sequence[int], free: int) -> list[list[Any]]:
    """Return the columns in blocks of at most `free` characters, or of one column."""
    blocks: list[list[Any]] = [[]]
    used = 0
    for column, width in zip(cells.columns, widths, strict=True):
        if blocks[-1] and used + width + 2 > free:
            blocks.append([])
            used = 0
        blocks[-1].append(column)
        used += width + 2
    return blocks


_SHOWN = 40


def outliers_text(table: RunTable, found: list[Outlier], show_all: bool = False) -> str:
    """Return suspicious runs, one per line with its configuration; `show_all` lifts the limit of 40 lines."""
    if not found:
        return f"{table.name}: nothing suspicious in {len(table):,} runs"
    runs = table.frame
    rows = [
        [
            outlier.row,
            *(runs[name].iloc[outlier.row - 1] for name in ("gpu", "cnn", "batch_per_gpu")),
            outlier.text,
        ]
        for outlier in (found if show_all else found[:_SHOWN])
    ]
    rules = ", ".join(f"{number} x {rule}" for rule, number in Counter(o.rule for o in found).items())
    hidden = len(found) - len(rows)
    more = f"\n... and {hidden} more; --all shows them" if hidden else ""
    head = f"{table.name}: {len({o.row for o in found}):,} of {len(table):,} runs are suspicious: {rules}"
    return fitted_lines(f"{head}\n{Table.of(['row', 'GPU', 'CNN', 'batch', 'reason'], rows).text()}{more}")


_WIDEST = 100
_HOLE = "."
# Layouts by the words that fit over a column of numbers.
_SHORT = {"channels_last": "last", "unknown": "?"}
_SUMMARY = ("CNNs", "sources", "noise", "years")
_SHOWN_ROWS = 60


def coverage_text(table: RunTable, by: Sequence[str]) -> str:
    """Return runs by the first dimension (rows) and the others (columns), with holes as dots.

    by : at least one name of `DIMENSIONS`. Each row ends with its CNNs, sources, noise between sources in
    percent and years.
    """
    cells, summary = _cells(table, by)
    sides = [_side_cells(row) for row in summary.to_dict("records")]
    width = min(terminal_width(), _WIDEST)
    holes = int((cells.to_numpy() == 0).sum())
    head = (
        f"{table.name}: {len(table):,} runs by {', '.join(by)}; {holes:,} of {cells.size:,} cells are holes "
        f"({_HOLE})\nnoise: median difference between harnesses on one configuration, where two measured it"
    )
    parts = [fitted_lines(head)]
    names = [str(name) for name in cells.index]
    widths = [max(len(_title(column)), len(f"{int(cells[column].max()):,}")) for column in cells.columns]
    # Next to names and summary.
    free = width - max(map(len, names)) - sum(len(title) + 2 for title in _SUMMARY) - 6
    blocks = _column_blocks(cells, widths, free)
    for columns in blocks:
        is_last = columns is blocks[-1]
        header = [TableColumn(by[0]), *map(_title, columns), *(_SUMMARY if is_last else ())]
        rows = [
            [name, *(f"{count:,}" if count else _HOLE for count in line), *(side if is_last else ())]
            for name, line, side in zip(names, cells[columns].to_numpy(), sides, strict=True)
        ]
        parts.append(Table.of(header, rows, "number").text(width))
    return "\n\n".join(parts)


def _cells(table: RunTable, by: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return runs by first dimension and the others (0: a hole), and the summary of each row."""
    if not by or len(set(by)) != len(by):
        raise InputError("--by: expected different dimensions, such as gpu,precision,layout")
    summary = coverage_by(table, by[:1])
    if len(by) == 1:
        return summary[["runs"]], summary
    counts = coverage_by(table, by)["runs"].unstack(list(range(1, len(by))), fill_value=0)
    return counts.sort_index(axis=1).astype(int), summary


def _title(column: object) -> str:
    parts = column if isinstance(column, tuple) else (column,)
    return " ".join(_SHORT.get(str(part), str(part)) for part in parts)


def _side_cells(row: Mapping[Hashable, Any]) -> list[str]:
    noise, first, last = (float(row[name]) for name in ("noise", "first_year", "last_year"))
    years = "-" if math.isnan(first) else f"{first:g}" if first == last else f"{first:g}-{last:g}"
    shown = "-" if math.isnan(noise) else f"{100 * noise:.1f} %"
    return [str(row["cnns"]), str(row["sources"]), shown, years]


def write_coverage(table: RunTable, by: Sequence[str], path: Path) -> None:
    """Write the coverage as a heat map: an SVG file, or an HTML page with the same picture.

    Raises InputError for another ending.
    """
    if path.suffix not in (".svg", ".html"):
        raise InputError(f"{path}: expected a file ending in .svg or .html")
    picture = coverage_svg(table, by)
    if path.suffix == ".html":
        title = escape(f"Coverage of {table.name}")
        picture = (
            f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n'
            f"<h1>{title}</h1>\n{picture}</html>\n"
        )
    write_text_atomically(path, picture)


_LEFT, _RIGHT, _ROW, _TOP = 78.0, 86.0, 7.5, 54.0
# Centres of the columns of the summary, from the right end of the cells.
_SUMMARY_CENTRES = (9.0, 25.0, 43.0, 69.0)


def coverage_svg(table: RunTable, by: Sequence[str]) -> str:
    """Return the heat map as an SVG file: runs by row and column, darker for more, white for holes."""
    cells, summary = _cells(table, by)
    wide = (WIDTH - _LEFT - _RIGHT) / len(cells.columns)
    most = max(int(cells.to_numpy().max()), 2)
    parts = [_slanted(_LEFT + (at + 0.5) * wide, _title(column)) for at, column in enumerate(cells.columns)]
    for at, (name, line) in enumerate(zip(cells.index, cells.to_numpy(), strict=True)):
        top = _TOP + at * _ROW
        parts.append(text(_LEFT - 3, top + 5.3, str(name), "end"))
        for place, (column, count) in enumerate(zip(cells.columns, line, strict=True)):
            tip = f"{name}, {_title(column)}: {count:,} runs"
            share = math.log(count) / math.log(most) if count else 0.0
            parts += _heat_cell((_LEFT + place * wide, top), wide, int(count), share, tip)
    parts += _summary_columns(summary)
    height = _TOP + len(cells) * _ROW + 8
    title = f"Runs of the table {table.name} by {', '.join(by)}"
    return standalone(drawing(height, parts, title), TABLES["styles"]["coverage"])


def _slanted(x: float, title: str) -> str:
    place = f'x="{x:.1f}" y="{_TOP - 3:.1f}" transform="rotate(-55 {x:.1f} {_TOP - 3:.1f})"'
    return f'<text {place} class="label">{escape(title)}</text>'


def _heat_cell(corner: tuple[float, float], wide: float, count: int, share: float, tip: str) -> list[str]:
    """Return a cell; `share` is its darkness from 0 to 1, logarithmic, so that ten runs still show."""
    left, top = corner
    place = f'x="{left + 0.4:.2f}" y="{top + 0.4:.2f}" width="{wide - 0.8:.2f}" height="{_ROW - 0.8:.2f}"'
    look = f'style="fill:hsl(208 65% {86 - 56 * share:.0f}%)"' if count else 'class="hole"'
    shapes = [f"<rect {place} {look}><title>{escape(tip)}</title></rect>"]
    if count and wide >= 2.6 * len(str(count)):
        kind = "dark" if share > 0.45 else "tick"
        shapes.append(text(left + wide / 2, top + 5.2, str(count), "middle", kind))
    return shapes


def _summary_columns(summary: pd.DataFrame) -> list[str]:
    centres = [WIDTH - _RIGHT + centre for centre in _SUMMARY_CENTRES]
    parts = [_slanted(x, title) for x, title in zip(centres, _SUMMARY, strict=True)]
    for at, row in enumerate(summary.to_dict("records")):
        parts += [
            text(x, _TOP + at * _ROW + 5.3, cell, "middle", "tick")
            for x, cell in zip(centres, _side_cells(row), strict=True)
        ]
    return parts


def noise_text(table: RunTable, least: int = 1) -> str:
    """Return how far pairs of harnesses differ on the same configurations, a line per pair.

    least : pairs with fewer common runs are left out.
    """
    found = noise_between_sources(table)
    found = found[found["configurations"] >= least]
    if found.empty:
        return f"{table.name}: no configuration was measured twice, or too few"
    rows = [
        [
            f"{row['configurations']:,}",
            row["gpus"],
            f"{100 * row['median']:.1f} %",
            f"{100 * row['p90']:.1f} %",
            f"{row['ratio']:.2f}",
            "yes" if row["same_parts"] else "no",
            row["first"] + (", repeats" if row["first"] == row["second"] else f" / {row['second']}"),
        ]
        for row in found.to_dict("records")
    ]
    header = ["pairs", "GPUs", "median", "p90", "ratio", "same parts", "harnesses"]
    head = (
        f"{table.name}: differences between runs of one configuration (GPU, CNN, sizes, batch, GPUs, "
        "precision, layout)\nmedian and p90 of |ln(second / first)|; ratio: median of second / first;\n"
        "same parts: both time the same parts of an iteration"
    )
    return fitted_lines(f"{head}\n\n{Table.of(header, rows).text(min(terminal_width(), _WIDEST))}")


def gpu_runs_text(runs: pd.DataFrame, table: str, show_all: bool = False) -> str:
    """Return what was measured on one GPU: a line per CNN, size and batch, a column per precision and layout.

    runs : as of `gpu_runs`, from the table of that name. `show_all` lifts the limit of 60 lines.
    """
    names = sorted(set(runs["gpu"]))
    sources = ", ".join(sorted(set(runs["source"])))
    range_s = show_seconds_range(float(runs["time_s"].min()), float(runs["time_s"].max()))
    head = (
        f"{', '.join(names)}: {len(runs):,} runs of {runs['cnn'].nunique()} CNNs in {table}, {range_s}\n"
        f"sources: {sources}"
    )
    kinds = runs["precision"] + " " + runs["layout"].map(lambda name: _SHORT.get(name, name))
    times = runs.assign(kind=kinds).pivot_table(
        index=["cnn", "input_size_px", "batch_per_gpu"], columns="kind", values="time_s", aggfunc="median"
    )
    lines = times if show_all else times.head(_SHOWN_ROWS)
    rows = [
        [*map(str, key), *("-" if math.isnan(time) else show_seconds(float(time)) for time in line)]
        for key, line in zip(lines.index, lines.to_numpy(), strict=True)
    ]
    hidden = len(times) - len(rows)
    more = f"\n... and {hidden:,} more; --all shows them" if hidden else ""
    body = Table.of(["CNN", "px", "batch", *map(str, times.columns)], rows).text()
    return fitted_lines(
        f"{head}\n\n{body}{more}\nmedian time of an iteration; last: channels last, ?: layout not stated"
    )


def gpu_runs(table: RunTable, gpu: str) -> pd.DataFrame:
    """Return the runs on the GPUs that a name means: exactly one, or all that have it as a part.

    Raises UnknownNameError, with the names that are near, where the table has no such GPU.
    """
    frame, key = table.frame, name_key(gpu)
    names = sorted(set(frame["gpu"]))
    try:
        found = [find_gpu(gpu).gpu]
    except UnknownNameError:
        found = []
    if not set(found) & set(names):
        found = [name for name in names if key and key in name_key(name)]
    if not found:
        raise unknown_name(f"GPU in {table.name}", gpu, names)
    return frame[frame["gpu"].isin(found)]
