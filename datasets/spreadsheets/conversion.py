"""From a spreadsheet to runs: read, map columns, map values, resolve names; every fault at once."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import CnnCounts
from trainlaw.datasets.cnns.names import cnn_names
from trainlaw.datasets.cnns.zoo import zoo_entry
from trainlaw.datasets.files.faults import Fault, FaultsError
from trainlaw.datasets.files.grids import Grid, read_grids
from trainlaw.datasets.hardware.gpus import GpuCatalog, built_in_gpus
from trainlaw.datasets.measurements.importing import runs_from_frame
from trainlaw.datasets.measurements.runs import BY_DEFAULT, RUN_COLUMNS, RunTable
from trainlaw.datasets.spreadsheets.answers import Answers, Issue, choices, grouped, rows_of
from trainlaw.datasets.spreadsheets.cells import (
    NUMBERS,
    OF_FLAG,
    Rows,
    check_meaning,
    chosen_rows,
    read_check,
    read_measured,
    read_numbers,
    read_sizes,
    read_words,
    read_years,
)
from trainlaw.datasets.spreadsheets.columns import OUR_NAMES, MappedColumn, mapped_columns
from trainlaw.datasets.spreadsheets.counting import counted, says_gpus
from trainlaw.datasets.spreadsheets.layout import SheetTable, find_table
from trainlaw.datasets.spreadsheets.names import cnn_named, gpu_and_number, gpus_meant, read_cnns, read_gpus
from trainlaw.datasets.spreadsheets.quantities import Unit, parse_unit, unit_choices
from trainlaw.datasets.spreadsheets.values import DEFAULT_PRECISION, PRECISION_WORDS, SPELLINGS
from trainlaw.datasets.spreadsheets.vocabulary import (
    BATCH,
    CHECK,
    FLAG,
    GLOBAL_BATCH,
    MEASURES,
    OTHER_TIME,
    RATE,
    TIME,
    read_heading,
)
from trainlaw.datasets.spreadsheets.wide import long_table
from trainlaw.formulas.errors import InputError, check_name, shown, unknown_name

_PRECISIONS = ("fp32", "tf32", "amp", "fp16", "bf16", DEFAULT_PRECISION)
_NEEDED: Mapping[str, str] = {
    "gpu": "the GPU", "cnn": "the CNN", "batch": "the batch size", "time": "a time or throughput",
}  # fmt: skip
_SCHEMA = frozenset(column.name for column in RUN_COLUMNS)
_MOST_READINGS = 12
_DISAGREEING = 0.1  # ln of the factor between a time and a throughput of the same run
_NOT_COPIED = frozenset((*NUMBERS, *SPELLINGS, "gpu", "cnn", "time_s"))


@dataclass(frozen=True)
class Imported:
    """What was read of a spreadsheet.

    name : of the file. columns : that were read, with the first value of each. frame : one row per run in
    the columns of the runs schema, without `time_s`, for the rows without a fault. rows : number of each in
    the file. measured : numbers as the file has them, (n,). units : of each number, None where it is open.
    notes : what was not read or is assumed. issues : what is to be answered or corrected first. table : the
    runs, with a time of 1 s where its unit is open; None where no row can be a run.
    """

    name: str
    columns: tuple[tuple[MappedColumn, str], ...]
    frame: pd.DataFrame
    rows: tuple[int, ...]
    measured: np.ndarray
    units: tuple[Unit | None, ...]
    notes: tuple[str, ...]
    issues: tuple[Issue, ...]
    gpus: GpuCatalog
    cnns: tuple[CnnCounts, ...] = ()
    table: RunTable | None = None

    @property
    def has_guesses(self) -> bool:
        """Whether a column was found by the words of its heading."""
        return any(column.is_guess for column, _ in self.columns)

    def seconds(self, unit: Unit | None = None) -> np.ndarray:
        """Return the iteration times in s by the units of the file, or by `unit`; nan where it is open."""
        return _seconds(self.measured, [unit] * len(self.measured) if unit else self.units, self.frame)


def read_spreadsheet(
    path: str | os.PathLike[str],
    answers: Answers | None = None,
    gpus: GpuCatalog | None = None,
    cnns: Iterable[CnnCounts] = (),
) -> Imported:
    """Read the runs in a spreadsheet as people keep them; all faults and questions are in the result.

    Raises InputError for a file that is no table, and for answers that do not fit it.
    """
    issues: list[Issue] = []
    return _checked(_read(path, answers or Answers(), gpus or built_in_gpus(), tuple(cnns), issues), issues)


def _read(
    path: str | os.PathLike[str],
    said: Answers,
    catalog: GpuCatalog,
    own: tuple[CnnCounts, ...],
    issues: list[Issue],
) -> Imported:
    """Return what a spreadsheet says of its runs, before they are checked as runs."""
    sheet, table = _table_of(read_grids(path), said, Path(path), issues)
    names = {facts.cnn for facts in own}
    table = long_table(
        table, lambda text: gpu_and_number(text, catalog)[0], lambda text: cnn_named(text, names)
    )
    columns, notes = mapped_columns(table, said, issues)
    rows = chosen_rows(table, columns, said, issues)
    hints = (Path(path).stem, sheet, *table.texts)
    _check_needed(columns, said, (table.headings, hints), catalog, issues)
    frame, measured, units = _runs(rows, catalog, names, issues, notes)
    notes += _readings(rows, frame)
    shown_columns = tuple((column, _first(table, column)) for column in columns.values())
    return Imported(
        Path(path).name, shown_columns, frame, rows.numbers, measured, units,
        (*table.notes, *notes), (), catalog, own,
    )  # fmt: skip


def _readings(rows: Rows, frame: pd.DataFrame) -> list[str]:
    """Return how the texts of names and choices were read, one line per column that has any."""
    lines = []
    for target, ours in ((name, name) for name in ("gpu", "cnn", *SPELLINGS)):
        cells = rows.cells.get(target)
        flags = [
            flag for flag in rows.cells if flag.startswith(FLAG) and OF_FLAG[flag.removeprefix(FLAG)] == ours
        ]
        if ours not in frame or (cells is None and not flags):
            continue
        texts = map(str, cells) if cells is not None else _flag_texts(rows, flags)
        pairs = dict.fromkeys(
            f"{text} = {value}"
            for text, value in zip(texts, frame[ours], strict=True)
            if pd.notna(value) and value not in (text, "unknown")
        )
        if pairs:
            more = f" and {len(pairs) - _MOST_READINGS} more" if len(pairs) > _MOST_READINGS else ""
            lines.append(f"{ours} read as: {'; '.join(list(pairs)[:_MOST_READINGS])}{more}")
    return lines


def _flag_texts(rows: Rows, flags: Sequence[str]) -> Iterable[str]:
    headings = [rows.columns[flag].heading for flag in flags]
    for cells in zip(*(rows.cells[flag] for flag in flags), strict=True):
        yield ", ".join(f"{heading} {cell}" for heading, cell in zip(headings, cells, strict=True))


def _table_of(
    grids: Mapping[str, Grid], answers: Answers, path: Path, issues: list[Issue]
) -> tuple[str, SheetTable]:
    """Return the sheet and its table; append an issue where several sheets have one."""
    if answers.sheet and answers.sheet not in grids:
        raise InputError(f"--sheet: {unknown_name('sheet', answers.sheet, grids)}")
    wanted = {answers.sheet: grids[answers.sheet]} if answers.sheet else grids
    found = {name: _found(grid, tuple(answers.columns.values())) for name, grid in wanted.items()}
    tables = {name: table for name, table in found.items() if table is not None and table.rows}
    if not tables:
        first = next((row for grid in wanted.values() for row in grid.rows if any(row)), ())
        cells = ", ".join(str(cell) for cell in first if cell is not None)
        raise InputError(
            f"{path.name}: expected a row with names of columns (GPU, model, batch size, time) and rows "
            f"below, got none; it begins with {shown(cells)}; name your columns, such as --column gpu=NAME"
        )
    if len(tables) > 1:
        text = f"{len(tables)} sheets have a table; each is imported for itself: which one?"
        issues.append(Issue("question", text, options=choices("--sheet", tables)))
    return next(iter(tables.items()))


def _found(grid: Grid, named: tuple[str, ...]) -> SheetTable | None:
    """Return the table of a sheet, also where its columns run from left to right."""
    if (table := find_table(grid, named)) is not None:
        return table
    turned = find_table(replace(grid, rows=tuple(zip(*grid.rows, strict=True))), named)
    note = "the table runs from left to right: its rows here are the columns of the file"
    return None if turned is None else replace(turned, notes=(note, *turned.notes))


def _first(table: SheetTable, column: MappedColumn) -> str:
    return next((str(cell) for cell in table.column(column.heading) if cell is not None), "")


def _check_needed(
    columns: Mapping[str, MappedColumn],
    answers: Answers,
    texts: tuple[Sequence[str], Sequence[str]],
    gpus: GpuCatalog,
    issues: list[Issue],
) -> None:
    """Append an issue for each needed column that neither the file nor the user has.

    texts : the headings of the file, and texts that may name a GPU.
    """
    headings, hints = texts
    known = {*columns, *answers.constants}
    known |= {"batch"} if known & {BATCH, "batch_per_gpu", GLOBAL_BATCH} else set()
    known |= {"time"} if known & {"time_s", *MEASURES} else set()
    asked = {option[1].partition("=")[0] for issue in issues for option in issue.options if len(option) == 2}
    for name, what in _NEEDED.items():
        ours = {"batch": "batch_per_gpu", "time": "time_s"}.get(name, name)
        if name in known or ours in asked or name in asked:
            continue
        if name == "time":
            meanings = {text: read_heading(text) for text in headings}
            others = [
                text
                for text, meaning in meanings.items()
                if meaning.target == OTHER_TIME or (meaning.unit is not None and not meaning.target)
            ]
            text = f"no column is {what} of training iterations; name it by --column time_s=HEADING"
            issues.append(Issue("columns", text, options=choices("--column", others, "time_s=")))
            continue
        likely = tuple(dict.fromkeys(_gpus_named(hints, gpus))) if name == "gpu" else ()
        text = f"no column is {what}; name it by --column {ours}=HEADING, or give one for all rows"
        issues.append(Issue("question", text, options=choices("--set", likely or ("CHOICE",), f"{ours}=")))
    has_precision = {"precision", *(f"{FLAG}{name}" for name in ("amp", "fp16", "bf16", "tf32"))} & known
    if not has_precision and "precision" not in asked:
        text = "no column is the precision (default: what PyTorch uses where none is chosen)"
        issues.append(Issue("question", text, options=choices("--precision", _PRECISIONS)))


def _gpus_named(hints: Sequence[str], gpus: GpuCatalog) -> Iterable[str]:
    """Yield the GPUs that words of the hints name, such as a file's name."""
    for hint in hints:
        words = hint.replace("_", " ").replace("-", " ").split()
        for length in (4, 3, 2, 1):
            for start in range(len(words) - length + 1):
                text = " ".join(words[start : start + length])
                if any(map(str.isdigit, text)) and any(map(str.isalpha, text)) and len(text) < 40:
                    yield from gpus_meant(text, gpus)


def _runs(
    rows: Rows, gpus: GpuCatalog, own: set[str], issues: list[Issue], notes: list[str]
) -> tuple[pd.DataFrame, np.ndarray, tuple[Unit | None, ...]]:
    """Return the columns of the runs schema, the measured numbers and their units."""
    frame = _stated(rows, gpus, own, issues)
    frame = _with_links(_with_precision(_with_usual_sizes(frame), gpus), gpus, notes)
    if not {"time_s", *MEASURES} & set(rows.cells):
        return frame, np.full(len(rows), np.nan), (None,) * len(rows)
    measured, stated = read_measured(rows, issues)
    units = _asked_units(rows, stated, frame, issues)
    _check_measures(rows, frame, measured, units, issues)
    return frame, measured, units


def _stated(rows: Rows, gpus: GpuCatalog, own: set[str], issues: list[Issue]) -> pd.DataFrame:
    """Return the columns of the runs schema that the file or the user states."""
    constants, numbers = _constants(rows, gpus, own), read_numbers(rows, issues)
    found: dict[str, object] = {name: text for name, text in constants.items() if name in _SCHEMA}
    said: list[int | None] = [None] * len(rows)
    if "gpu" in rows.cells:
        found["gpu"], said = read_gpus(rows, gpus, says_gpus(rows, constants), issues)
    if "cnn" in rows.cells:
        found["cnn"] = read_cnns(rows, own, issues)
    check_meaning(rows, issues)
    found |= counted(rows, numbers, constants, said, issues)
    found |= {**read_words(rows, issues), **read_sizes(rows, numbers, issues), **_copied(rows)}
    return pd.DataFrame({name: _typed(found.pop(name), len(rows)) for name in list(found)}, copy=False)


def _typed(values: object, size: int) -> pd.Series:
    """Return a column in the dtype that takes the least memory: texts that occur again are one object."""
    if isinstance(values, np.ndarray):
        return pd.Series(values)
    column = pd.Series(values, index=range(size), dtype=object)
    return column if any(isinstance(value, str) for value in column) else column.infer_objects()


def _check_measures(
    rows: Rows,
    frame: pd.DataFrame,
    measured: np.ndarray,
    units: Sequence[Unit | None],
    issues: list[Issue],
) -> None:
    """Append an issue for runs on one GPU whose time and throughput contradict each other."""
    other = read_check(rows)
    if other is None or "batch_per_gpu" not in frame:
        return
    first, second = (_seconds(*pair, frame) for pair in ((measured, units), other))
    with np.errstate(invalid="ignore"):
        wrong = (frame["n_gpus"].to_numpy() == 1) & (np.abs(np.log(first / second)) > _DISAGREEING)
    if wrong.any():
        name = next(name for name in ("time_s", TIME, RATE) if name in rows.cells)
        headings = [rows.columns[column].heading for column in (name, CHECK)]
        text = f"{' and '.join(headings)} contradict each other: which one is right?"
        options = choices("--column", headings, "time_s=")
        issues.append(Issue("cells", text, rows_of(rows.numbers, wrong), options))


def _seconds(measured: np.ndarray, units: Sequence[Unit | None], frame: pd.DataFrame) -> np.ndarray:
    """Return the iteration times in s of numbers in these units; nan where a unit is open."""
    batch, gpus = (frame[name].to_numpy(dtype=np.float64) for name in ("batch_per_gpu", "n_gpus"))
    found = np.full(len(measured), np.nan)
    for own in {unit.text: unit for unit in units if unit is not None}.values():
        same = np.array([unit is not None and unit.text == own.text for unit in units], dtype=bool)
        found[same] = own.seconds_of(measured, batch, gpus)[same]
    return found


def _copied(rows: Rows) -> dict[str, object]:
    """Return the columns of the runs schema that are read as they are, and the year of a date."""
    years = read_years(rows)
    found: dict[str, object] = {} if years is None else {"bench_year": years}
    for name in rows.cells:
        if name in _SCHEMA and name not in _NOT_COPIED:
            found[name] = [rows.said(name, cell) for cell in rows.cells[name]]
    return found


def _constants(rows: Rows, gpus: GpuCatalog, own: set[str]) -> dict[str, object]:
    """Return the values that the user gave for all rows; InputError for one that the file has, too."""
    constants: dict[str, object] = {}
    for name, text in rows.answers.constants.items():
        check_name("column", name, OUR_NAMES)
        if name in rows.columns:
            heading = rows.columns[name].heading
            raise InputError(
                f"{name} is given for all rows, and the file has it as {heading!r}; leave one out"
            )
        if text == "CHOICE":
            raise InputError(f"{name}=CHOICE: replace CHOICE by your choice")
        constants[name] = text
    if "gpu" in constants:
        constants["gpu"] = gpus.find(str(constants["gpu"])).gpu
    if "cnn" in constants:
        constants["cnn"] = cnn_named(str(constants["cnn"]), own)
    if "precision" in constants:
        word = PRECISION_WORDS.get(str(constants["precision"]).lower())
        if word is None:
            raise unknown_name("precision", str(constants["precision"]), (*_PRECISIONS, "unknown"))
        constants["precision"] = word
    return constants


def _with_usual_sizes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the usual size and classes of a known CNN in cells that are empty."""
    for name in ("input_size_px", "n_classes"):
        if name in frame and "cnn" in frame and frame[name].isna().any():
            known = set(cnn_names())
            usual = {cnn: getattr(zoo_entry(cnn), name) for cnn in set(frame["cnn"].dropna()) & known}
            frame = frame.assign(**{name: frame[name].fillna(frame["cnn"].map(usual))})
    return frame


def _with_precision(frame: pd.DataFrame, gpus: GpuCatalog) -> pd.DataFrame:
    """Return the runs with PyTorch's precision for convolutions where none was chosen."""
    if "precision" not in frame or "gpu" not in frame:
        return frame.assign(precision="unknown") if "precision" not in frame else frame
    usual = {name: gpus.find(name).default_precision for name in frame["gpu"].dropna().unique()}
    precision = frame["precision"].astype(object)
    stated = precision.fillna("unknown")
    by_default = (precision == DEFAULT_PRECISION).to_numpy()
    precision[by_default] = frame["gpu"][by_default].map(usual)
    stated[by_default] = BY_DEFAULT
    kept = {} if "precision_stated" in frame else {"precision_stated": stated}
    return frame.assign(precision=precision, **kept)


def _with_links(frame: pd.DataFrame, gpus: GpuCatalog, notes: list[str]) -> pd.DataFrame:
    """Return the runs with the usual links and algorithm where several GPUs ran and the file has none."""
    several = frame["n_gpus"] > frame["n_nodes"]
    if not (frame["n_gpus"] > 1).any() or "gpu" not in frame:
        return frame
    own = {name: gpus.find(name) for name in frame["gpu"].dropna().unique()}
    links = frame["gpu"].map(
        {name: gpu.gpu_link or gpu.host_link or "pcie3-x16" for name, gpu in own.items()}
    )
    usual = {
        "link": links.where(several, "none"),
        "network": pd.Series("ethernet-10g", frame.index).where(frame["n_nodes"] > 1, "none"),
        "algorithm": pd.Series("ring", frame.index).where(frame["n_gpus"] > 1, "none"),
    }
    absent = {name: values for name, values in usual.items() if name not in frame}
    if absent:
        said = {"link": "the GPU's own link", "network": "ethernet-10g between nodes", "algorithm": "a ring"}
        names = [said[name] for name in absent if name != "network" or (frame["n_nodes"] > 1).any()]
        notes.append(f"assumed for several GPUs: {', '.join(names)}; other ones by --set link=NAME and so on")
    return frame.assign(**absent)


def _asked_units(
    rows: Rows, stated: list[Unit | None], frame: pd.DataFrame, issues: list[Issue]
) -> tuple[Unit | None, ...]:
    """Return the unit of each number: as the user says, else as the file; append an issue for an open one."""
    if rows.answers.unit:
        unit = parse_unit(rows.answers.unit)
        if unit is None:
            raise InputError(
                f"--unit: expected a unit such as {', '.join(unit_choices())}, got {shown(rows.answers.unit)}"
            )
        stated = [unit] * len(stated)
    name = next(name for name in ("time_s", TIME, RATE) if name in rows.cells)
    heading = rows.columns[name].heading
    if any(unit is None for unit in stated):
        several = bool((frame["n_gpus"] > 1).any())
        usual = unit_choices(several)
        text = f"{heading}: no unit is stated; one of {', '.join(usual)}"
        issues.append(Issue("question", text, options=choices("--unit", usual)))
        return tuple(stated)
    open_rates = np.array(
        [
            unit is not None and unit.is_rate and unit.counted == "image" and unit.per_gpu is None
            for unit in stated
        ],
        dtype=bool,
    ) & (frame["n_gpus"].to_numpy() > 1)
    if open_rates.any():
        first = next(unit for unit, is_open in zip(stated, open_rates, strict=True) if is_open and unit)
        texts = (replace(first, per_gpu=False).text, replace(first, per_gpu=True).text)
        text = f"{heading}: with several GPUs, is it the throughput of all together or of each GPU?"
        issues.append(Issue("question", text, rows_of(rows.numbers, open_rates), choices("--unit", texts)))
    return tuple(stated)


def _checked(made: Imported, issues: list[Issue]) -> Imported:
    """Return the import with the rows that can be runs, and an issue per fault of the runs schema."""
    needed = [name for name in ("gpu", "cnn", "batch_per_gpu") if name in made.frame]
    good = np.isfinite(made.measured)
    for name in needed:
        good &= made.frame[name].notna().to_numpy()
    if len(needed) < 3:
        good[:] = False
    made = _kept(made, good)
    try:
        made = replace(made, table=_table(made))
    except FaultsError as error:
        at = [(_without_row(fault), fault.row) for fault in error.faults]
        issues += [
            Issue("cells", text, tuple(made.rows[row - 1] for row in where if row is not None))
            for text, where in grouped(at).items()  # type: ignore[arg-type]
        ]
        bad = {fault.row for fault in error.faults}
        good = np.array([row not in bad for row in range(1, len(made.rows) + 1)], dtype=bool)
        # A fault of a whole column leaves nothing to compare; the others are compared without their rows.
        made = _kept(made, good & (None not in bad))
        with suppress(FaultsError):
            made = replace(made, table=_table(made))
    return replace(made, issues=tuple(issues))


def _table(made: Imported) -> RunTable | None:
    if made.frame.empty:
        return None
    seconds = made.seconds()
    frame = made.frame.assign(time_s=np.where(np.isfinite(seconds), seconds, 1.0))
    if not np.isfinite(seconds).all():
        frame = frame.drop(columns=["time_min_s", "time_max_s"], errors="ignore")
    return runs_from_frame(frame, made.name, made.gpus, made.cnns)


def _without_row(fault: Fault) -> str:
    return str(replace(fault, row=None))


def _kept(made: Imported, good: np.ndarray) -> Imported:
    if good.all():
        return made
    places = np.flatnonzero(good)
    return replace(
        made,
        frame=made.frame.iloc[places].reset_index(drop=True),
        rows=tuple(made.rows[place] for place in places),
        measured=made.measured[places],
        units=tuple(made.units[place] for place in places),
    )
