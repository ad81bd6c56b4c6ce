"""From a table or log to runs: read, map columns, map values, resolve names; every fault at once."""

import math
import os
import re
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
from trainlaw.datasets.logs.log_files import read_log
from trainlaw.datasets.measurements.importing import runs_from_frame
from trainlaw.datasets.measurements.runs import BY_DEFAULT, RunTable
from trainlaw.datasets.spreadsheets.answers import CHOICE, Dialogue, Issue, Label, SheetAnswers, choices
from trainlaw.datasets.spreadsheets.cells import (
    KINDS,
    OF_EPOCHS,
    OF_FLAG,
    Converter,
    chosen_rows,
    counted,
    decimal_mark,
)
from trainlaw.datasets.spreadsheets.columns import (
    COLUMN_NAMES,
    STATED_UNIT,
    FileColumn,
    SheetRows,
    check_named,
    table_rows,
)
from trainlaw.datasets.spreadsheets.headings import (
    BATCHES,
    FLAG,
    OTHER_TIME,
    SCHEMA,
    TIME,
    read_heading,
    without_unit,
)
from trainlaw.datasets.spreadsheets.layout import SheetTable, table_of_log, tables_of
from trainlaw.datasets.spreadsheets.names import CALLED, Names
from trainlaw.datasets.spreadsheets.units import TimeUnit, parse_unit, unit_choices
from trainlaw.datasets.spreadsheets.values import DEFAULT_PRECISION, PRECISIONS, SPELLINGS
from trainlaw.datasets.spreadsheets.words import groups
from trainlaw.formulas.errors import InputError, check_name, shown

_NEEDED = ("gpu", "cnn", "batch_per_gpu", "precision", "n_gpus")
# A throughput, and what it may be with several GPUs.
_OPEN = ("images/s", "images/s/total", "images/s/gpu")
_MOST_READINGS = 12
# Rows of one configuration from which they are steps of it; fewer are repeats.
_FEWEST_STEPS = 8
_SLOW_STEP = 1.3  # times the median, from which the slowest step is noted


@dataclass(frozen=True)
class Imported:
    """What was read of a table or log.

    name : of the file. columns : that were read. frame : the rows without a fault in the columns of the runs
    schema, without `time_s`, indexed by their labels in the file. times : of the same rows, the number as the
    file has it, its unit, None where that is open, and the iterations that it is for. is_rate : whether the
    heading says times or throughputs. notes : what was not read or is assumed. issues : what is to be
    answered or corrected first. table : the runs, with a time of 1 s where its unit is open; None where no
    row can be a run.
    """

    name: str
    columns: tuple[FileColumn, ...]
    frame: pd.DataFrame
    times: pd.DataFrame
    is_rate: bool | None
    notes: tuple[str, ...]
    gpus: GpuCatalog
    cnns: tuple[CnnCounts, ...] = ()
    issues: tuple[Issue, ...] = ()
    table: RunTable | None = None

    @property
    def rows(self) -> tuple[Label, ...]:
        """Label of each row in the file."""
        return tuple(self.frame.index)

    def seconds(self, unit: TimeUnit | None = None) -> np.ndarray:
        """Return the iteration times in s by the units of the file, or by `unit`; nan where it is open."""
        found = np.full(len(self.frame), np.nan)
        if "batch_per_gpu" not in self.frame:
            return found
        batch, gpus = (self.frame[name].to_numpy(dtype=np.float64) for name in ("batch_per_gpu", "n_gpus"))
        numbers, iterations = (self.times[name].to_numpy() for name in ("number", "iterations"))
        for own in [unit] if unit else self.times["unit"].dropna().unique():
            same = True if unit else (self.times["unit"] == own).to_numpy()
            found = np.where(same, own.seconds_of(numbers, batch, gpus, iterations), found)
        return found


def read_spreadsheet(
    path: str | os.PathLike[str],
    answers: SheetAnswers | None = None,
    gpus: GpuCatalog | None = None,
    cnns: Iterable[CnnCounts] = (),
) -> Imported:
    """Read the runs in a table as people keep them, or the one of a log, with all faults and questions.

    Raises InputError for a file that is neither, and for answers that do not fit it.
    """
    own, place, catalog = tuple(cnns), Path(path), gpus or built_in_gpus()
    said = answers or SheetAnswers()
    dialogue = Dialogue(said, Names(catalog, {facts.cnn for facts in own}, said.values))
    log = read_log(place)
    tables = [table_of_log(log, dialogue)] if log else tables_of(read_grids(place), dialogue, place)
    check_named(tables, dialogue)
    rows = _joined([_rows_of(table, dialogue) for table in tables], dialogue)
    first = {name: str(next(iter(rows.cells[name].dropna()), "")) for name in rows.columns}
    columns = tuple(replace(column, first=first[name]) for name, column in rows.columns.items())
    rows = replace(rows, cells=chosen_rows(rows, dialogue))
    _check_needed(rows, dialogue)
    converter = Converter(rows, decimal_mark(rows, tables[0].separator, dialogue), dialogue)
    frame = _frame(converter)
    times = _times(converter, frame).assign(iterations=_iterations(frame))
    times = _with_units(converter, frame, times, tables)
    notes = tuple(dict.fromkeys([*dialogue.notes, *_readings(rows, frame)]))
    frame = frame.drop(columns=[*OF_EPOCHS], errors="ignore")
    made = Imported(place.name, columns, frame, times, rows.is_rate, notes, catalog, own)
    made = _of_steps(made, dialogue)
    return _checked(made, _without_skipped(dialogue.issues))


def _without_skipped(issues: Iterable[Issue]) -> list[Issue]:
    """Return issues without those of rows alone that are left out, since their name is none, as "Average"."""
    found = list(issues)
    skipped = {
        row for issue in found if issue.kind == "names" and len(issue.options) == 1 for row in issue.rows
    }
    return [own for own in found if own.kind == "names" or not own.rows or not skipped.issuperset(own.rows)]


def _rows_of(table: SheetTable, dialogue: Dialogue) -> SheetRows:
    """Return the runs of a table with the name of its sheet, and only those that the user keeps."""
    kept, kind = np.ones(len(table.cells), dtype=bool), dialogue.answers.sheets_are
    for name, text in dialogue.answers.only:
        kept &= (table.cells[name].map(str) == text).to_numpy(dtype=bool)
    if not kept.any():
        raise InputError("--only: no row has these values")
    before = len(dialogue.issues)
    rows = table_rows(replace(table, cells=table.cells[kept]), dialogue)
    if not kind:
        return rows

    def labelled(numbers: Iterable[object]) -> tuple[str, ...]:
        return tuple(f"{table.sheet}!{number}" for number in numbers)

    dialogue.issues[before:] = [
        replace(issue, rows=labelled(issue.rows)) for issue in dialogue.issues[before:]
    ]
    cells = rows.cells.assign(**{kind: table.sheet}).set_axis(labelled(rows.cells.index))
    return replace(rows, cells=cells, columns={**rows.columns, kind: FileColumn("the sheet", kind)})


def _joined(parts: Sequence[SheetRows], dialogue: Dialogue) -> SheetRows:
    """Return the rows of all tables, with the columns that the user gave for all of them."""
    columns = {name: column for part in reversed(parts) for name, column in part.columns.items()}
    cells = pd.concat([part.cells for part in parts]) if len(parts) > 1 else parts[0].cells
    cells = cells.astype(object).where(cells.notna(), None)
    for name, text in dialogue.answers.constants.items():
        check_name("column", name, COLUMN_NAMES)
        if text == CHOICE:
            raise InputError(f"{name}={CHOICE}: replace {CHOICE} by your choice")
        if name in cells and cells[name].notna().all():
            said = f"the file has it as {columns[name].heading!r} ({cells[name].iloc[0]})"
            raise InputError(f"{name} is given for all rows, and {said}; leave one out")
        cells = cells.assign(**{name: cells[name].fillna(text) if name in cells else text})
    return SheetRows(cells, columns, parts[0].is_rate)


def _check_needed(rows: SheetRows, dialogue: Dialogue) -> None:
    """Append an issue for each needed column that neither the file nor the user has."""
    known = {str(name) for name in rows.cells if rows.cells.empty or rows.cells[name].notna().any()}
    known |= {"n_gpus"} if "n_gpus" not in rows.cells else set()
    asked = {part for word in dialogue.offered() for part in word.partition("=")[0].split(",")}
    known |= {"batch_per_gpu"} if (known | asked) & set(BATCHES) else set()
    known |= {OF_FLAG[own] for name in known if (own := name.removeprefix(FLAG)) in OF_FLAG}
    for name in (own for own in _NEEDED if own not in known | asked and f"--{own}" not in asked):
        text = f"no column is {CALLED[name]}; name it by --column {name}=HEADING, or give one for all rows"
        corner = rows.heading({"gpu": "cnn", "cnn": "gpu"}.get(name, name))  # "T4" above a column of CNNs
        options = choices("--set", [corner if dialogue.names.is_name(name, corner) else CHOICE], f"{name}=")
        if name == "precision":
            text += " (default: what PyTorch uses where none is chosen)"
            options = choices("--precision", PRECISIONS)
        dialogue.ask("question", text, options)


def _frame(converter: Converter) -> pd.DataFrame:
    """Return the columns of the runs schema that the file or the user states, and the usual ones."""
    cells, values, dialogue = converter.rows.cells, converter.values(), converter.dialogue
    names, own = converter.names()
    found = {**names, **counted(values, own, dialogue), **converter.words(values)}
    found |= {name: values[name] for name in ("input_size_px", "n_classes", *OF_EPOCHS) if name in values}
    left = {*KINDS, *found, "time_s"} - {"timed_parts"}
    found |= {name: cells[name] for name in map(str, cells) if name in SCHEMA and name not in left}
    if "date" in cells:
        found["bench_year"] = cells["date"].map(str).str.extract(r"(?<!\d)(20\d\d)(?!\d)")[0].astype(float)
    frame = pd.DataFrame(found, index=cells.index)
    if "images_per_epoch" in frame and "batch_per_gpu" in frame:
        few = frame["images_per_epoch"] < frame["batch_per_gpu"] * frame["n_gpus"]
        dialogue.fault("an epoch has fewer images than a batch", few)
    for name in {"input_size_px", "n_classes"} & set(frame) if "cnn" in frame else ():
        known = set(frame["cnn"].dropna()) & set(cnn_names())
        usual = frame["cnn"].map({cnn: getattr(zoo_entry(cnn), name) for cnn in known})
        frame = frame.assign(**{name: frame[name].fillna(usual)})
    return _with_links(_with_precision(frame, dialogue), dialogue)


def _with_precision(frame: pd.DataFrame, dialogue: Dialogue) -> pd.DataFrame:
    """Return runs with PyTorch's precision where none was chosen."""
    stated = frame["precision"] if "precision" in frame else pd.Series("unknown", frame.index)
    if "gpu" not in frame:
        return frame.assign(precision=stated)
    gpus = {name: dialogue.names.gpus.find(name) for name in frame["gpu"].dropna().unique()}
    usual = frame["gpu"].map({name: gpu.default_precision for name, gpu in gpus.items()})
    by_default = stated == DEFAULT_PRECISION
    kept = {} if "precision_stated" in frame else {"precision_stated": stated.mask(by_default, BY_DEFAULT)}
    return frame.assign(precision=stated.mask(by_default, usual), **kept)


def _with_links(frame: pd.DataFrame, dialogue: Dialogue) -> pd.DataFrame:
    """Return runs with the usual links between several GPUs."""
    if "gpu" not in frame or not (frame["n_gpus"] > 1).any():
        return frame
    gpus = [*frame["gpu"].dropna().unique()]
    link = frame["gpu"].map({name: dialogue.names.gpus.find(name).usual_link for name in gpus})
    fabric = frame["gpu"].map({name: usual_server(name).fabric for name in gpus})
    usual = {
        "link": link.where(frame["n_gpus"] > frame["n_nodes"], "none"),
        "network": fabric.where(frame["n_nodes"] > 1, "none"),
        "algorithm": pd.Series("ring", frame.index).where(frame["n_gpus"] > 1, "none"),
    }
    said = {name: sorted(set(own.dropna()) - {"none"}) for name, own in usual.items() if name not in frame}
    if text := ", ".join(f"{name} {' or '.join(values)}" for name, values in said.items() if values):
        dialogue.notes.append(f"assumed for several GPUs: {text}; others by --set link=NAME and so on")
    # A run on one GPU or node has no link or network, whatever its row says.
    stated = {name: frame[name].where(own != "none", "none") for name, own in usual.items() if name in frame}
    return frame.assign(**{**usual, **stated})


def _iterations(frame: pd.DataFrame) -> np.ndarray:
    """Return the iterations of the epoch or run of each row, (n,); nan where the table does not say."""
    if "iterations" in frame:
        return frame["iterations"].to_numpy(dtype=np.float64)
    if "images_per_epoch" in frame and "batch_per_gpu" in frame:
        steps = np.ceil(frame["images_per_epoch"] / (frame["batch_per_gpu"] * frame["n_gpus"]))
        return np.asarray(steps * (frame["epochs"] if "epochs" in frame else 1.0), dtype=np.float64)
    return np.full(len(frame), np.nan)


def _times(converter: Converter, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the measured numbers and their units: of the cell, the user, a column, or the heading."""
    cells, stated = converter.rows.cells, converter.dialogue.answers.unit
    said = parse_unit(stated)
    if stated and said is None:
        expected = ", ".join(unit_choices())
        raise InputError(f"--unit: expected a unit such as {expected}, got {shown(stated)}")
    times = converter.times()
    outside = cells[STATED_UNIT]
    if "unit" in cells:
        outside = cells["unit"].map(str).map(parse_unit).where(cells["unit"].notna(), outside)
    units = [
        _preferred(own, _preferred(said, other if isinstance(other, TimeUnit) else None))
        for own, other in zip(times["unit"], outside, strict=True)
    ]
    return times.assign(unit=pd.Series(units, frame.index, dtype=object))


def _preferred(own: TimeUnit | None, other: TimeUnit | None) -> TimeUnit | None:
    """Return the nearer unit, else the other one, which also says what it is counted of."""
    if own is None or other is None or own.is_rate != other.is_rate:
        return own or other
    if own.is_open and own == replace(other, per_gpu=None):
        return other
    return replace(own, counted="epoch") if other.counted == "epoch" and own.counted == "iteration" else own


def _with_units(
    converter: Converter, frame: pd.DataFrame, times: pd.DataFrame, tables: Sequence[SheetTable]
) -> pd.DataFrame:
    """Ask for the unit of the numbers that have none, and for what else their units leave open.

    Returns the times in the unit of the title where it is asked whether that is theirs.
    """
    fault, heading = converter.dialogue.fault, converter.rows.heading(TIME)
    several = frame["n_gpus"] > 1
    parts = [part for table in tables for _, line in table.lines for part in re.split(r"[,;:#]", line)]
    titled = {unit.text for part in parts if (unit := without_unit(part)[1])}
    usual = tuple(titled) if len(titled) == 1 else unit_choices(bool(several.any()))
    if several.any() and usual == (_OPEN[0],):
        usual = _OPEN[1:]

    units = times["unit"]
    without = units.map(lambda unit: unit is None or math.isnan(unit.seconds)).astype(bool)
    of_epochs = units.map(lambda unit: unit is not None and unit.counted == "epoch").astype(bool)
    is_open = units.map(lambda unit: unit is not None and unit.is_open).astype(bool)
    without &= times["number"].notna()
    text = f"{heading}: no unit is stated; one of {', '.join(usual)}"
    fault(text, without, choices("--unit", usual), "question")
    _ask_epochs(converter, frame, of_epochs & times["iterations"].isna(), tables)
    says_step = set(re.findall(r"[a-z]+", heading.lower())) & set(groups("counted")["iteration"])
    if "epochs" in frame and not says_step and not converter.dialogue.answers.unit:
        text = f"{heading}: is it the time of one iteration, or the total of all epochs?"
        of_all = ("--unit", "s/epoch", "--set", f"images_per_epoch={CHOICE}")
        fault(text, ~of_epochs & ~without, (of_all, *choices("--unit", usual)), "question")
    text = f"{heading}: with several GPUs, is it the throughput of all together or of each GPU?"
    fault(text, is_open & several, choices("--unit", _OPEN[1:]), "question")
    likely = pd.Series([parse_unit(usual[0])] * len(times), times.index, dtype=object)
    return times.assign(unit=units.mask(without, likely)) if len(usual) == 1 else times


def _ask_epochs(
    converter: Converter, frame: pd.DataFrame, is_open: pd.Series, tables: Sequence[SheetTable]
) -> None:
    """Ask how many iterations the times of epochs are for, or whether they are the totals of their phases."""
    heading = converter.rows.heading(TIME)
    text = (
        f"{heading}: the total of an epoch or run: give its steps by --set iterations=N, or the images of an"
        " epoch by --set images_per_epoch=N (of several epochs, also --set epochs=N)"
    )
    has_phases = any(read_heading(str(own)).target == OTHER_TIME for table in tables for own in table.cells)
    of_one, of_all = ("--column", f"time_s={heading}"), ("--set", f"images_per_epoch={CHOICE}")
    both = (of_one, of_all) if has_phases else (of_all, of_one)
    options = (of_all,) if "epoch" in heading.lower() else both
    converter.dialogue.fault(text, is_open & frame["n_gpus"].notna(), options, "question")


def _readings(rows: SheetRows, frame: pd.DataFrame) -> Iterable[str]:
    """Yield how the texts of names and choices were read, one line per column that has any."""
    for name in map(str, rows.cells):
        target = OF_FLAG.get(name.removeprefix(FLAG), name)
        if target not in ("gpu", "cnn", *SPELLINGS) or target not in frame:
            continue
        pairs = dict.fromkeys(zip(rows.cells[name].to_numpy(), frame[target].to_numpy(), strict=True))
        texts = dict.fromkeys((str(own), str(value)) for own, value in pairs)
        changed = [
            f"{text} = {value}" for text, value in texts if value not in (text, "unknown", "None", "nan")
        ]
        more = f" and {len(changed) - _MOST_READINGS} more" if len(changed) > _MOST_READINGS else ""
        if changed:
            yield f"{rows.heading(name)} read as: {'; '.join(changed[:_MOST_READINGS])}{more}"


def _of_steps(made: Imported, dialogue: Dialogue) -> Imported:
    """Return an import in which many rows of one configuration are their median, with the least and most.

    Ask where their times only rise, as those since a start do.
    """
    keys = made.frame.assign(unit=pd.factorize(made.times["unit"])[0])
    groups = keys.groupby(list(keys), dropna=False, sort=False).ngroup().to_numpy()
    steps = pd.Series(groups).groupby(groups).transform("size").to_numpy() >= _FEWEST_STEPS
    if not steps.any() or not made.times["number"].notna().any():
        return made
    frame, seconds = made.frame, pd.Series(made.seconds()).groupby(groups)
    if np.isfinite(made.seconds()).all():
        least, most = (seconds.transform(how).where(steps).to_numpy() for how in ("min", "max"))
        frame = frame.assign(time_min_s=least, time_max_s=most)
    numbers = made.times["number"][steps].groupby(groups[steps])
    rising = numbers.is_monotonic_increasing & (numbers.median() > _SLOW_STEP * numbers.first())
    text = "the times of these steps only rise: are they counted from the start? Import their differences"
    dialogue.fault(text, pd.Series(np.isin(groups, rising.index[rising]), made.frame.index), kind="times")
    medians = made.times["number"].groupby(groups).transform("median")
    times = made.times.assign(number=made.times["number"].mask(steps, medians))
    kept = ~steps | ~pd.Series(groups).duplicated().to_numpy()
    slowest = (seconds.transform("max") / seconds.transform("median"))[steps].max()
    note = f"{steps.sum():,} rows are steps of {(kept & steps).sum():,} configurations: read as their medians"
    note += f"; the slowest step takes {slowest:.2g} times the median" if slowest > _SLOW_STEP else ""
    return _kept(replace(made, times=times, frame=frame, notes=(*made.notes, note)), kept)


def _checked(made: Imported, issues: list[Issue]) -> Imported:
    """Return the import with the rows that can be runs, and an issue per fault of the runs schema."""
    needed = [name for name in ("gpu", "cnn", "batch_per_gpu") if name in made.frame]
    known = made.times["number"].notna() & made.frame[needed].notna().all(axis=1)
    good = known.to_numpy() & (len(needed) == 3)
    asked = {row for issue in issues for row in issue.rows}
    lost = tuple(row for row, kept in zip(made.rows, good, strict=True) if not kept and row not in asked)
    if lost and good.any():
        text = "no GPU, CNN, batch size or time is stated: add it, or leave these rows out"
        issues.append(Issue("cells", text, lost, (("--skip-rows", ",".join(map(str, lost))),)))
    made = _kept(made, good)
    try:
        made = replace(made, table=_table(made))
    except FaultsError as error:
        for fault in error.faults:
            where = (made.rows[fault.row - 1],) if fault.row else ()
            issues.append(Issue("cells", str(replace(fault, row=None)), where))
        # A fault of a whole column leaves nothing to compare; the others are compared without their rows.
        bad = {fault.row for fault in error.faults}
        good = np.array([not bad & {row, None} for row in range(1, len(made.rows) + 1)], dtype=bool)
        made = _kept(made, good)
        with suppress(FaultsError):
            made = replace(made, table=_table(made))
    return replace(made, issues=tuple(issues))


def _table(made: Imported) -> RunTable | None:
    if made.frame.empty:
        return None
    seconds = made.seconds()
    frame = made.frame.assign(time_s=np.where(np.isfinite(seconds), seconds, 1.0)).reset_index(drop=True)
    return runs_from_frame(frame, made.name, made.gpus, made.cnns)


def _kept(made: Imported, good: np.ndarray) -> Imported:
    return replace(made, frame=made.frame[good], times=made.times[good])
