"""From a table to runs: read, map columns, map values, resolve names; every fault at once."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import CnnCounts
from trainlaw.datasets.cnns.names import cnn_names
from trainlaw.datasets.cnns.zoo import zoo_entry
from trainlaw.datasets.files.faults import FaultsError
from trainlaw.datasets.files.grids import read_grids
from trainlaw.datasets.hardware.gpus import GpuCatalog, built_in_gpus
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.importing import runs_from_frame
from trainlaw.datasets.measurements.runs import BY_DEFAULT, RunTable
from trainlaw.datasets.spreadsheets.answers import (
    CHOICE,
    Dialogue,
    Issue,
    Label,
    SheetAnswers,
    choices,
    skipping,
)
from trainlaw.datasets.spreadsheets.cells import (
    COUNTS,
    OF_EPOCHS,
    OF_FLAG,
    Converter,
    choose_rows,
    counted,
    decimal_mark,
)
from trainlaw.datasets.spreadsheets.columns import (
    COLUMN_NAMES,
    STATED_UNIT,
    MappedColumn,
    SheetRows,
    check_named,
    table_rows,
)
from trainlaw.datasets.spreadsheets.headings import BATCHES, FLAG, SCHEMA, TIME
from trainlaw.datasets.spreadsheets.layout import SheetTable, tables_of
from trainlaw.datasets.spreadsheets.names import Names
from trainlaw.datasets.spreadsheets.quantities import TimeUnit, parse_unit, unit_choices
from trainlaw.datasets.spreadsheets.values import DEFAULT_PRECISION, PRECISIONS, SPELLINGS
from trainlaw.formulas.errors import InputError, check_name, shown

_NEEDED = {
    "gpu": "the GPU",
    "cnn": "the CNN",
    "batch_per_gpu": "the batch size",
    "precision": "the precision",
}
_MOST_READINGS = 12
# Rows of one configuration from which they are steps of it; fewer are repeats.
_FEWEST_STEPS = 8
_SLOW_STEP = 1.3  # times the median, from which the slowest step is noted


@dataclass(frozen=True)
class Imported:
    """What was read of a table.

    name : of the file. columns : that were read, with the first value of each. frame : one row per run in
    the columns of the runs schema, without `time_s`, for the rows without a fault. rows : label of each in
    the file. measured : numbers as the file has them, (n,). units : of each number, None where it is open.
    is_rate : whether the heading says times or throughputs. iterations : of the epoch or run that each time
    is for, nan where none are stated. notes : what was not read or is assumed. issues : what is to be
    answered or corrected first. table : the runs, with a time of 1 s where its unit is open; None where no
    row can be a run.
    """

    name: str
    columns: tuple[tuple[MappedColumn, str], ...]
    frame: pd.DataFrame
    rows: tuple[Label, ...]
    measured: np.ndarray
    units: tuple[TimeUnit | None, ...]
    is_rate: bool | None
    notes: tuple[str, ...]
    issues: tuple[Issue, ...]
    gpus: GpuCatalog
    iterations: np.ndarray
    cnns: tuple[CnnCounts, ...] = ()
    table: RunTable | None = None

    def seconds(self, unit: TimeUnit | None = None) -> np.ndarray:
        """Return the iteration times in s by the units of the file, or by `unit`; nan where it is open."""
        found = np.full(len(self.measured), np.nan)
        if "batch_per_gpu" not in self.frame:
            return found
        batch, gpus = (self.frame[name].to_numpy(dtype=np.float64) for name in ("batch_per_gpu", "n_gpus"))
        for own in dict.fromkeys([unit] if unit else filter(None, self.units)):
            same = np.array([unit is not None or each == own for each in self.units], dtype=bool)
            found[same] = own.seconds_of(self.measured, batch, gpus, self.iterations)[same]
        return found


def read_spreadsheet(
    path: str | os.PathLike[str],
    answers: SheetAnswers | None = None,
    gpus: GpuCatalog | None = None,
    cnns: Iterable[CnnCounts] = (),
) -> Imported:
    """Read the runs in a table as people keep them; all faults and questions are in the result.

    Raises InputError for a file that is no table, and for answers that do not fit it.
    """
    own, place, catalog = tuple(cnns), Path(path), gpus or built_in_gpus()
    dialogue = Dialogue(answers or SheetAnswers(), Names(catalog, {facts.cnn for facts in own}))
    tables = tables_of(read_grids(place), dialogue, place)
    check_named(tables, dialogue)
    rows = _joined([_rows_of(table, dialogue) for table in tables], dialogue)
    shown_columns = tuple((column, _first(rows, name)) for name, column in rows.columns.items())
    choose_rows(rows, dialogue)
    _check_needed(rows, dialogue)
    converter = Converter(rows, decimal_mark(rows, tables[0].separator, dialogue), dialogue)
    frame = _frame(converter)
    measured, units = _times(converter, frame)
    made = Imported(
        place.name,
        shown_columns,
        frame.drop(columns=[*OF_EPOCHS], errors="ignore").reset_index(drop=True),
        tuple(frame.index),
        measured,
        units,
        rows.is_rate,
        tuple(dict.fromkeys([*dialogue.notes, *_readings(rows, frame)])),
        (),
        catalog,
        _iterations(frame),
        own,
    )
    return _checked(_of_steps(made), dialogue.issues)


def _rows_of(table: SheetTable, dialogue: Dialogue) -> SheetRows:
    """Return the runs of a table with the name of its sheet, and only those that the user keeps."""
    kept = np.ones(len(table.cells), dtype=bool)
    for name, text in dialogue.answers.only:
        kept &= (table.cells[name].map(str) == text).to_numpy(dtype=bool)
    numbers = tuple(number for number, is_kept in zip(table.numbers, kept, strict=True) if is_kept)
    if not numbers:
        raise InputError("--only: no row has these values")
    rows = table_rows(replace(table, cells=table.cells[kept], numbers=numbers), dialogue)
    if kind := dialogue.answers.sheets_are:
        rows.cells = rows.cells.assign(**{kind: table.sheet})
        rows.columns[kind] = MappedColumn("the sheet", kind)
    return rows


def _joined(parts: Sequence[SheetRows], dialogue: Dialogue) -> SheetRows:
    """Return the rows of all tables, with the columns that the user gave for all of them."""
    columns = {name: column for part in reversed(parts) for name, column in part.columns.items()}
    cells = pd.concat([part.cells for part in parts])
    cells = cells.astype(object).where(cells.notna(), None)
    for name, text in dialogue.answers.constants.items():
        check_name("column", name, COLUMN_NAMES)
        if text == CHOICE:
            raise InputError(f"{name}={CHOICE}: replace {CHOICE} by your choice")
        if name in cells and cells[name].notna().all():
            heading = columns[name].heading
            raise InputError(
                f"{name} is given for all rows, and the file has it as {heading!r}; leave one out"
            )
        cells = cells.assign(**{name: cells[name].fillna(text) if name in cells else text})
    return SheetRows(
        cells if TIME in cells else cells.assign(**{TIME: None}), columns, parts[0].is_rate, parts[0].titled
    )


def _first(rows: SheetRows, name: str) -> str:
    return str(next(iter(rows.cells[name].dropna()), ""))


def _check_needed(rows: SheetRows, dialogue: Dialogue) -> None:
    """Append an issue for each needed column that neither the file nor the user has."""
    known = {str(name) for name in rows.cells if rows.cells.empty or rows.cells[name].notna().any()}
    known |= {"batch_per_gpu"} if known & set(BATCHES) else set()
    known |= (
        {"precision"} if any(OF_FLAG.get(own.removeprefix(FLAG)) == "precision" for own in known) else set()
    )
    said = [word for issue in dialogue.issues for option in issue.options for word in option]
    asked = {part for word in said for part in word.partition("=")[0].split(",")}
    asked |= {"batch_per_gpu"} if "batch" in asked else set()
    for name, what in _NEEDED.items():
        text = f"no column is {what}; name it by --column {name}=HEADING, or give one for all rows"
        options = choices("--set", [CHOICE], f"{name}=")
        if name == "precision":
            text += " (default: what PyTorch uses where none is chosen)"
            options = choices("--precision", PRECISIONS)
        if name not in known | asked and options[0][0] not in {"--precision"} & set(said):
            dialogue.ask("question", text, options)


def _frame(converter: Converter) -> pd.DataFrame:
    """Return the columns of the runs schema that the file or the user states, and the usual ones."""
    cells, numbers = converter.rows.cells, converter.numbers()
    names, own = converter.names()
    converter.check_training()
    found = {**names, **counted(numbers, own, converter.dialogue), **converter.words()}
    found |= {name: numbers[name] for name in ("input_size_px", "n_classes", *OF_EPOCHS) if name in numbers}
    for name in cells:
        if name in SCHEMA and name not in (*COUNTS, *SPELLINGS, *found, "time_s"):
            found[name] = cells[name]
    if "date" in cells:
        found["bench_year"] = cells["date"].map(str).str.extract(r"(?<!\d)(20\d\d)(?!\d)")[0].astype(float)
    frame = pd.DataFrame(found, index=cells.index)
    if "images_per_epoch" in frame and "batch_per_gpu" in frame:
        few = frame["images_per_epoch"] < frame["batch_per_gpu"] * frame["n_gpus"]
        converter.dialogue.fault("an epoch has fewer images than a batch", few)
    return _with_usual(frame, converter.dialogue)


def _with_usual(frame: pd.DataFrame, dialogue: Dialogue) -> pd.DataFrame:
    """Return runs with the usual sizes of CNNs, PyTorch's precision where none was chosen, and links."""
    for name in ("input_size_px", "n_classes"):
        if name in frame and "cnn" in frame and frame[name].isna().any():
            known = set(frame["cnn"].dropna()) & set(cnn_names())
            usual = frame["cnn"].map({cnn: getattr(zoo_entry(cnn), name) for cnn in known})
            frame = frame.assign(**{name: frame[name].fillna(usual)})
    stated = frame["precision"] if "precision" in frame else pd.Series("unknown", frame.index)
    if "gpu" not in frame:
        return frame.assign(precision=stated)
    gpus = {name: dialogue.names.gpus.find(name) for name in frame["gpu"].dropna().unique()}
    by_default = stated == DEFAULT_PRECISION
    usual = frame["gpu"].map({name: gpu.default_precision for name, gpu in gpus.items()})
    kept = {} if "precision_stated" in frame else {"precision_stated": stated.mask(by_default, BY_DEFAULT)}
    frame = frame.assign(precision=stated.mask(by_default, usual), **kept)
    if not (frame["n_gpus"] > 1).any():
        return frame
    link = frame["gpu"].map({name: gpu.usual_link for name, gpu in gpus.items()})
    fabric = frame["gpu"].map({name: usual_server(name).fabric for name in gpus})
    absent = {
        "link": link.where(frame["n_gpus"] > frame["n_nodes"], "none"),
        "network": fabric.where(frame["n_nodes"] > 1, "none"),
        "algorithm": pd.Series("ring", frame.index).where(frame["n_gpus"] > 1, "none"),
    }
    # A run on one GPU or node has no link or network, whatever its row says.
    frame = frame.assign(
        **{name: frame[name].where(absent[name] != "none", "none") for name in absent if name in frame}
    )
    absent = {name: values for name, values in absent.items() if name not in frame}
    said = {name: sorted(set(values.dropna()) - {"none"}) for name, values in absent.items()}
    text = ", ".join(f"{name} {' or '.join(values)}" for name, values in said.items() if values)
    if text:
        dialogue.notes.append(f"assumed for several GPUs: {text}; others by --set link=NAME and so on")
    return frame.assign(**absent)


def _iterations(frame: pd.DataFrame) -> np.ndarray:
    """Return the iterations of the epoch or run of each row, (n,); nan where the table does not say."""
    if "iterations" in frame:
        return frame["iterations"].to_numpy(dtype=np.float64)
    if "images_per_epoch" in frame and "batch_per_gpu" in frame:
        steps = np.ceil(frame["images_per_epoch"] / (frame["batch_per_gpu"] * frame["n_gpus"]))
        return np.asarray(steps * (frame["epochs"] if "epochs" in frame else 1.0), dtype=np.float64)
    return np.full(len(frame), np.nan)


def _times(converter: Converter, frame: pd.DataFrame) -> tuple[np.ndarray, tuple[TimeUnit | None, ...]]:
    """Return the measured numbers and their units: of the cell, the user, a column, or the heading."""
    rows, dialogue = converter.rows, converter.dialogue
    if TIME not in rows.columns:
        return np.full(len(frame), np.nan), (None,) * len(frame)
    measured, stated = converter.times()
    said = parse_unit(dialogue.answers.unit)
    if dialogue.answers.unit and said is None:
        usual = ", ".join(unit_choices())
        raise InputError(f"--unit: expected a unit such as {usual}, got {shown(dialogue.answers.unit)}")
    named = [parse_unit(str(cell)) for cell in rows.cells["unit"]] if "unit" in rows.cells else stated
    outside = [said or cell or heading for cell, heading in zip(named, rows.cells[STATED_UNIT], strict=True)]
    units = tuple(_preferred(own, other) for own, other in zip(stated, outside, strict=True))
    _ask_units(converter, frame, measured, units)
    return measured, units


def _preferred(own: TimeUnit | None, other: TimeUnit | None) -> TimeUnit | None:
    """Return the unit in a cell, else another one, which also says what it is counted of."""
    if own is None or other is None or own.is_rate != other.is_rate:
        return own or other
    if own.is_open and own == replace(other, per_gpu=None):
        return other
    return replace(own, counted="epoch") if other.counted == "epoch" and own.counted == "iteration" else own


def _ask_units(
    converter: Converter, frame: pd.DataFrame, measured: np.ndarray, units: Sequence[TimeUnit | None]
) -> None:
    """Ask for the unit of the numbers that have none, and for what else their units leave open."""
    fault, heading = converter.dialogue.fault, converter.rows.heading(TIME)
    several = frame["n_gpus"] > 1
    usual = unit_choices(bool(several.any()))
    without = pd.Series([unit is None for unit in units], frame.index) & np.isfinite(measured)
    text = f"{heading}: no unit is stated; one of {', '.join(usual)}"
    if len(titled := set(converter.rows.titled)) == 1:
        usual = (next(iter(titled)).text,)
        text = f"{heading}: no unit is stated; a title says {usual[0]}"
    fault(text, without, choices("--unit", usual), "question")
    of_epochs = pd.Series([unit is not None and unit.counted == "epoch" for unit in units], frame.index)
    text = (
        f"{heading}: the total of an epoch or run: give its steps by --set iterations=N, or the images of an"
    )
    text += " epoch by --set images_per_epoch=N (of several epochs, also --set epochs=N)"
    unknown = of_epochs & ~np.isfinite(_iterations(frame))
    of_one = (("--column", f"time_s={heading}"),)  # the total of the phases of an iteration
    fault(text, unknown, (*choices("--set", [CHOICE], "images_per_epoch="), *of_one), "question")
    if "epochs" in frame and not converter.dialogue.answers.unit:
        text = f"{heading}: is it the time of one iteration, or the total of all epochs?"
        of_all = ("--unit", "s/epoch", "--set", f"images_per_epoch={CHOICE}")
        fault(text, ~of_epochs & ~without, (of_all, *choices("--unit", usual)), "question")
    is_open = pd.Series([unit is not None and unit.is_open for unit in units], frame.index) & several
    text = f"{heading}: with several GPUs, is it the throughput of all together or of each GPU?"
    fault(text, is_open, choices("--unit", ("images/s/total", "images/s/gpu")), "question")


def _readings(rows: SheetRows, frame: pd.DataFrame) -> Iterable[str]:
    """Yield how the texts of names and choices were read, one line per column that has any."""
    for name in map(str, rows.cells):
        target = OF_FLAG.get(name.removeprefix(FLAG), name)
        if target not in ("gpu", "cnn", *SPELLINGS) or target not in frame:
            continue
        pairs = dict.fromkeys(zip(rows.cells[name].map(str), frame[target].map(str), strict=True))
        changed = [f"{text} = {value}" for text, value in pairs if value not in (text, "unknown", "None")]
        more = f" and {len(changed) - _MOST_READINGS} more" if len(changed) > _MOST_READINGS else ""
        if changed:
            yield f"{rows.heading(name)} read as: {'; '.join(changed[:_MOST_READINGS])}{more}"


def _of_steps(made: Imported) -> Imported:
    """Return an import in which many rows of one configuration are their median, with the least and most."""
    texts = [made.frame[name].map(str) for name in made.frame]
    keys = pd.MultiIndex.from_arrays([*texts, pd.Series(made.units, made.frame.index, dtype=object).map(str)])
    number = pd.Series(pd.factorize(keys)[0])
    steps = number.groupby(number).transform("size") >= _FEWEST_STEPS
    seconds = pd.Series(made.seconds()).groupby(number)
    if not steps.any() or not np.isfinite(made.measured).any():
        return made
    frame = made.frame
    if np.isfinite(made.seconds()).all():
        least, most = (seconds.transform(how).where(steps) for how in ("min", "max"))
        frame = frame.assign(time_min_s=least, time_max_s=most)
    measured = np.where(steps, pd.Series(made.measured).groupby(number).transform("median"), made.measured)
    kept = ~steps | ~number.duplicated()
    slowest = (seconds.transform("max") / seconds.transform("median"))[steps].max()
    note = f"{steps.sum():,} rows are steps of {(kept & steps).sum():,} configurations: read as their medians"
    note += f"; the slowest step takes {slowest:.2g} times the median" if slowest > _SLOW_STEP else ""
    return _kept(replace(made, measured=measured, frame=frame, notes=(*made.notes, note)), kept.to_numpy())


def _checked(made: Imported, issues: list[Issue]) -> Imported:
    """Return the import with the rows that can be runs, and an issue per fault of the runs schema."""
    needed = [name for name in ("gpu", "cnn", "batch_per_gpu") if name in made.frame]
    good = np.isfinite(made.measured) & made.frame[needed].notna().all(axis=1).to_numpy() & (len(needed) == 3)
    asked = {row for issue in issues for row in issue.rows}
    lost = tuple(row for row, kept in zip(made.rows, good, strict=True) if not kept and row not in asked)
    if lost and good.any():
        text = "no GPU, CNN, batch size or time is stated: add it, or leave these rows out"
        issues.append(Issue("cells", text, lost, skipping(lost)))
    made = _kept(made, good)
    try:
        made = replace(made, table=_table(made))
    except FaultsError as error:
        for fault in error.faults:
            where = (made.rows[fault.row - 1],) if fault.row else ()
            issues.append(Issue("cells", str(replace(fault, row=None)), where))
        bad = {fault.row for fault in error.faults}
        good = np.array(
            [row not in bad and None not in bad for row in range(1, len(made.rows) + 1)], dtype=bool
        )
        # A fault of a whole column leaves nothing to compare; the others are compared without their rows.
        made = _kept(made, good)
        with suppress(FaultsError):
            made = replace(made, table=_table(made))
    return replace(made, issues=tuple(issues))


def _table(made: Imported) -> RunTable | None:
    if made.frame.empty:
        return None
    seconds = made.seconds()
    frame = made.frame.assign(time_s=np.where(np.isfinite(seconds), seconds, 1.0))
    return runs_from_frame(frame, made.name, made.gpus, made.cnns)


def _kept(made: Imported, good: np.ndarray) -> Imported:
    places = np.flatnonzero(good)
    return replace(
        made,
        frame=made.frame.iloc[places].reset_index(drop=True),
        rows=tuple(made.rows[place] for place in places),
        measured=made.measured[places],
        units=tuple(made.units[place] for place in places),
        iterations=made.iterations[places],
    )
