"""From a spreadsheet to runs: read, map columns, map values, resolve names; every fault at once."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import CnnCounts
from trainlaw.datasets.cnns.names import cnn_names
from trainlaw.datasets.cnns.zoo import zoo_entry
from trainlaw.datasets.files.faults import FaultsError
from trainlaw.datasets.hardware.gpus import GpuCatalog, built_in_gpus
from trainlaw.datasets.hardware.links import links
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.importing import runs_from_frame
from trainlaw.datasets.measurements.runs import BY_DEFAULT, RunTable
from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import CHOICE, Issue, SheetAnswers, choices, grouped, skipping
from trainlaw.datasets.spreadsheets.cells import (
    NUMBERS,
    OF_FLAG,
    check_meaning,
    choose_rows,
    read_measured,
    read_numbers,
    read_sizes,
    read_words,
)
from trainlaw.datasets.spreadsheets.choosing import tables_of
from trainlaw.datasets.spreadsheets.columns import COLUMN_NAMES
from trainlaw.datasets.spreadsheets.counting import constant_count, counted, says_gpus
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.known_names import Names, cnn_named
from trainlaw.datasets.spreadsheets.lines import read_line
from trainlaw.datasets.spreadsheets.measures import (
    ask_units,
    check_epochs,
    check_measures,
    iterations_of,
    seconds_of,
)
from trainlaw.datasets.spreadsheets.names import read_cnns, read_gpus
from trainlaw.datasets.spreadsheets.quantities import TimeUnit
from trainlaw.datasets.spreadsheets.repeats import ask_separating, configurations
from trainlaw.datasets.spreadsheets.rows import Dialogue, Label, MappedColumn, SheetRows, Source
from trainlaw.datasets.spreadsheets.unread import table_rows
from trainlaw.datasets.spreadsheets.values import (
    DATASETS,
    DEFAULT_PRECISION,
    PRECISION_WORDS,
    PRECISIONS,
    SPELLINGS,
    quantity,
    year_of,
    yes_or_no,
)
from trainlaw.formulas.errors import InputError, TrainlawError, check_name, shown, unknown_name

_NEEDED: Mapping[str, str] = {
    "gpu": "the GPU",
    "cnn": "the CNN",
    "batch": "the batch size",
}
_MOST_READINGS = 12
_LONGEST_NAME = 6  # words
# Rows of one configuration from which they are steps of it; fewer are repeats.
_FEWEST_STEPS = 8
_SLOW_STEP = 1.3  # times the median, from which the slowest step is noted
_NOT_COPIED = frozenset((*NUMBERS, *SPELLINGS, "gpu", "cnn", "time_s"))


@dataclass(frozen=True)
class Imported:
    """What was read of a spreadsheet.

    name : of the file. columns : that were read, with the first value of each. frame : one row per run in
    the columns of the runs schema, without `time_s`, for the rows without a fault. rows : number of each in
    the file. measured : numbers as the file has them, (n,). units : of each number, None where it is open.
    sources : where they are from. iterations : of the epoch or run that each time is for, nan where none are
    stated. has_check : whether a second measure of the same runs agrees. others : numbers of columns that are
    not read, by heading, each (n,). notes : what was not read or is assumed. issues : what is to be answered
    or corrected first. table : the runs, with a time of 1 s where its unit is open; None where no row can be
    a run.
    """

    name: str
    columns: tuple[tuple[MappedColumn, str], ...]
    frame: pd.DataFrame
    rows: tuple[Label, ...]
    measured: np.ndarray
    units: tuple[TimeUnit | None, ...]
    sources: tuple[Source, ...]
    notes: tuple[str, ...]
    issues: tuple[Issue, ...]
    gpus: GpuCatalog
    iterations: np.ndarray
    cnns: tuple[CnnCounts, ...] = ()
    table: RunTable | None = None
    has_check: bool = False
    others: Mapping[str, np.ndarray] = field(default_factory=dict)

    def seconds(self, unit: TimeUnit | None = None) -> np.ndarray:
        """Return the iteration times in s by the units of the file, or by `unit`; nan where it is open."""
        units = [unit] * len(self.measured) if unit else self.units
        return seconds_of(self.measured, units, self.frame, self.iterations)


def read_spreadsheet(
    path: str | os.PathLike[str],
    answers: SheetAnswers | None = None,
    gpus: GpuCatalog | None = None,
    cnns: Iterable[CnnCounts] = (),
) -> Imported:
    """Read the runs in a spreadsheet as people keep them; all faults and questions are in the result.

    Raises InputError for a file that is no table, and for answers that do not fit it.
    """
    given = tuple(cnns)
    names = Names(gpus or built_in_gpus(), {facts.cnn for facts in given})
    dialogue = Dialogue(answers or SheetAnswers(), names, [])
    return _checked(_of_steps(_read(Path(path), dialogue, given)), dialogue.issues)


def _read(path: Path, dialogue: Dialogue, given: tuple[CnnCounts, ...]) -> Imported:
    """Return the runs that a spreadsheet states, before they are checked as runs."""
    tables, notes = tables_of(path, dialogue), list[str]()
    rows = table_rows(tables, dialogue, notes)
    choose_rows(rows, tables[0].separator)
    lines = (text for table in tables for _, text in table.lines)
    _check_needed(rows, (path.stem.replace("_", " "), *(table.sheet for table in tables), *lines))
    frame, measured, units, agrees = _runs(rows, notes)
    texts = _texts(rows, frame)
    notes += _readings(rows, frame, texts)
    iterations = iterations_of(frame, len(rows))
    frame = frame.drop(columns=[fields.IMAGES_PER_EPOCH, fields.ITERATIONS, fields.EPOCHS], errors="ignore")
    ask_separating(rows, frame)
    return Imported(
        path.name,
        tuple(rows.shown),
        frame,
        tuple(rows.numbers),
        measured,
        units,
        tuple(rows.sources),
        tuple(dict.fromkeys(notes)),
        (),
        rows.names.gpus,
        iterations,
        given,
        has_check=agrees,
        others=_others(rows),
    )


def _of_steps(made: Imported) -> Imported:
    """Return an import in which many rows of one configuration are their median, with the least and most."""
    if len(made.frame) < _FEWEST_STEPS or not np.isfinite(made.measured).any():
        return made
    is_rate = [unit is not None and unit.is_rate for unit in made.units]
    keys = configurations(made.frame.assign(unit=[str(unit) for unit in made.units]))
    if np.bincount(keys).max() < _FEWEST_STEPS:
        return made
    order = pd.Series(np.arange(len(keys))).groupby(keys, sort=False).agg(list)
    measured, seconds, slowest = made.measured.copy(), made.seconds(), 1.0
    frame = made.frame.copy()
    first = []
    for places in order:
        if len(places) < _FEWEST_STEPS:
            first += places
            continue
        first.append(places[0])
        measured[places[0]] = np.median(made.measured[places])
        apart = made.measured[places] / measured[places[0]]
        slowest = max(slowest, float(1.0 / apart.min() if is_rate[places[0]] else apart.max()))
        if np.isfinite(seconds[places]).all():
            frame.loc[places[0], ["time_min_s", "time_max_s"]] = seconds[places].min(), seconds[places].max()
    made = _kept(replace(made, measured=measured, frame=frame), np.isin(np.arange(len(keys)), first))
    note = f"{len(keys):,} rows are steps of {len(made.frame):,} configurations: read as the median of each"
    slow = f"; the slowest step takes {slowest:.2g} times the median" if slowest > _SLOW_STEP else ""
    return replace(made, notes=(*made.notes, note + slow))


def _others(rows: SheetRows) -> Mapping[str, np.ndarray]:
    """Return the numbers of the columns that are not read, nan for cells that are none."""
    return {
        heading: np.array([quantity(cell, rows.decimal)[0] for cell in cells])
        for heading, cells in rows.unread.items()
    }


def _texts(rows: SheetRows, frame: pd.DataFrame) -> Mapping[tuple[str, str], list[str]]:
    """Return the different texts of each column of names or choices, by column and value."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for name in ("gpu", "cnn", *SPELLINGS):
        if name in rows.cells and name in frame:
            for cell, value in dict.fromkeys(zip(rows.cells[name], frame[name], strict=True)):
                found.setdefault((name, str(value)), {})[str(cell)] = None
    for cell in dict.fromkeys(rows.cells.get("batch_per_gpu") or rows.cells.get(fields.BATCH, [])):
        batch = f"{quantity(cell, rows.decimal)[0]:.0f}"
        found.setdefault(("batch_per_gpu", batch), {})[str(cell)] = None
    return {key: list(texts) for key, texts in found.items()}


def _readings(rows: SheetRows, frame: pd.DataFrame, texts: Mapping[tuple[str, str], list[str]]) -> list[str]:
    """Return how the texts of names and choices were read, one line per column that has any."""
    pairs: dict[str, dict[tuple[str, str], None]] = {}
    for (name, value), own in texts.items():
        if name == "batch_per_gpu":
            continue
        pairs.setdefault(name, {}).update(dict.fromkeys((text, value) for text in own))
    for name in SPELLINGS:
        flags = [flag for flag in rows.cells if OF_FLAG.get(flag.removeprefix(fields.FLAG)) == name]
        if flags and name not in rows.cells and name in frame:
            pairs[name] = dict.fromkeys(zip(_flag_texts(rows, flags), frame[name], strict=True))
    lines = []
    for name, read in pairs.items():
        changed = [
            f"{text} = {value}" for text, value in read if value not in (text, "unknown", "None", "nan")
        ]
        more = f" and {len(changed) - _MOST_READINGS} more" if len(changed) > _MOST_READINGS else ""
        lines += [f"{name} read as: {'; '.join(changed[:_MOST_READINGS])}{more}"] if changed else []
    return lines


def _flag_texts(rows: SheetRows, flags: Sequence[str]) -> Iterable[str]:
    headings = [rows.columns[flag].heading for flag in flags]
    for cells in zip(*(rows.cells[flag] for flag in flags), strict=True):
        yield ", ".join(
            f"{heading} {'empty' if cell is None else cell}"
            for heading, cell in zip(headings, cells, strict=True)
        )


def _check_needed(rows: SheetRows, texts: Sequence[str]) -> None:
    """Append an issue for each needed column that neither the file nor the user has.

    texts : of titles, sheets and the file, which may name a GPU, batch or precision.
    """
    known = {
        *(name for name, cells in rows.cells.items() if not cells or any(cell is not None for cell in cells)),
        *rows.answers.constants,
    }
    known |= {"batch"} if known & {fields.BATCH, "batch_per_gpu", fields.GLOBAL_BATCH} else set()
    asked = {word.partition("=")[0] for issue in rows.issues for option in issue.options for word in option}
    hints = _hints(rows, texts)
    for name, what in _NEEDED.items():
        ours = {"batch": "batch_per_gpu"}.get(name, name)
        if name in known or ours in asked or name in asked:
            continue
        likely = hints[name]
        if name in ("gpu", "cnn") and (columns := _columns_of_names(rows, name)):
            rows.ask(
                "question",
                f"no column is {what}: is it {' or '.join(columns)}?",
                choices("--column", columns, f"{name}="),
            )
            continue
        text = f"no column is {what}; name it by --column {ours}=HEADING, or give one for all rows"
        rows.ask("question", text, choices("--set", likely or (CHOICE,), f"{ours}="))
    size = {DATASETS[word][0] for word in map(_joined, hints["dataset"]) if word in DATASETS} - {None}
    if len(size) == 1 and "input_size_px" not in known and fields.DATASET not in known:
        text = f"the title names {hints['dataset'][0]}: are its images read as they are?"
        rows.ask("question", text, (("--set", f"input_size_px={size.pop()}"), ("--set", "input_size_px=224")))
    _check_precision(rows, known, asked, hints["precision"])


def _check_precision(rows: SheetRows, known: set[str], asked: set[str], hinted: tuple[str, ...]) -> None:
    """Ask for the precision where no column is it, and about switches that may be one."""
    flags = {f"{fields.FLAG}{name}" for name in ("amp", "fp16", "bf16", "tf32")}
    unread = [
        heading
        for heading, cells in rows.unread.items()
        if {True, False} == set(map(yes_or_no, cells))
        and heading not in (*rows.answers.ignored, *rows.answers.columns.values())
    ]
    strange = [heading for heading in unread if not read_heading(heading).target]
    if strange and flags & known and "precision" not in known:
        text = f"does {' or '.join(strange)} say whether it is a precision, too?"
        as_switch = (("--column", f"{ours}={strange[0]}") for ours in ("amp", "tf32", "fp16", fields.IGNORED))
        rows.ask("question", text, tuple(as_switch))
    if not {"precision", *flags} & known and "precision" not in asked:
        text = "no column is the precision (default: what PyTorch uses where none is chosen)"
        text += f"; or does {' or '.join(unread)} say whether it is amp?" if unread else ""
        likely = hinted if len(hinted) == 1 and not unread else PRECISIONS
        options = (*choices("--precision", likely), *choices("--column", unread, "amp="))
        rows.ask("question", text, options)


def _columns_of_names(rows: SheetRows, kind: str) -> tuple[str, ...]:
    """Return the headings of columns that are not read and hold only names of a kind."""
    found = {
        heading: list(dict.fromkeys(str(cell) for cell in cells if cell is not None))[:_MOST_READINGS]
        for heading, cells in rows.unread.items()
    }
    return tuple(
        heading
        for heading, texts in found.items()
        if texts and all(rows.names.is_name(kind, text) for text in texts)
    )


def _hints(rows: SheetRows, texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return what titles, sheets and the name of the file say, by kind, and keep the unit that they name."""
    lines = [read_line(text) for text in dict.fromkeys(texts)]
    hints = {
        kind: tuple(dict.fromkeys(line.said[kind] for line in lines if kind in line.said))
        for kind in ("batch", "batch_per_gpu", "precision", "dataset")
    }
    said_units = {line.unit for line in lines if line.unit is not None}
    rows.hinted = said_units.pop() if len(said_units) == 1 else None
    hints["batch"] += hints["batch_per_gpu"]
    for kind in ("gpu", "cnn"):
        hints[kind] = _named_in(texts, kind, rows.names)
    return hints


def _joined(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _named_in(texts: Sequence[str], kind: str, names: Names) -> tuple[str, ...]:
    """Return the names of GPUs or CNNs that the words of titles, sheets and the file are."""
    found = []
    for text in texts:
        words = re.findall(r"[^\s,;:|()]+", text)[:20]
        spans = [(first, last) for first in range(len(words)) for last in range(first + 1, len(words) + 1)]
        spans = [own for own in spans if own[1] - own[0] < _LONGEST_NAME]
        near = []
        for first, last in sorted(spans, key=lambda own: own[0] - own[1]):
            name = " ".join(words[first:last])
            if not re.search(r"\d", name) or not names.is_name(kind, name):
                continue
            try:
                found.append(names.find(kind, name)[0])
                break
            except TrainlawError:
                near.append(name)
        else:
            found += near[-1:]
    return tuple(dict.fromkeys(found))


def _runs(
    rows: SheetRows, notes: list[str]
) -> tuple[pd.DataFrame, np.ndarray, tuple[TimeUnit | None, ...], bool]:
    """Return the columns of the runs schema, measured numbers, their units, and whether a check agrees."""
    frame, gpus = _stated(rows), rows.names.gpus
    check_epochs(rows, frame)
    frame = _with_links(_with_precision(_with_usual_sizes(frame), gpus), gpus, notes)
    if not rows.cells.get(fields.TIME):
        return frame, np.full(len(rows), np.nan), (None,) * len(rows), False
    measured, units = read_measured(rows)
    ask_units(rows, measured, units, frame)
    return frame, measured, tuple(units), check_measures(rows, frame, measured, units)


def _stated(rows: SheetRows) -> pd.DataFrame:
    """Return the columns of the runs schema that the file or the user states."""
    constants, numbers = _constants(rows), read_numbers(rows)
    found: dict[str, object] = {
        name: text for name, text in constants.items() if name in fields.SCHEMA and name not in rows.cells
    }
    said: list[int | None] = [None] * len(rows)
    if "gpu" in rows.cells:
        found["gpu"], said = read_gpus(rows, says_gpus(rows, constants))
    if "cnn" in rows.cells:
        found["cnn"] = read_cnns(rows)
    check_meaning(rows)
    found |= counted(rows, numbers, constants, said)
    found |= {**read_words(rows), **read_sizes(rows, numbers), **_copied(rows)}
    for name in (fields.ITERATIONS, fields.IMAGES_PER_EPOCH, fields.EPOCHS):
        if name in numbers:
            found[name] = numbers[name]
        if name in constants:
            found[name] = constant_count(name, constants[name], len(rows))
    return pd.DataFrame({name: _typed(found.pop(name), len(rows)) for name in list(found)}, copy=False)


def _typed(values: object, size: int) -> pd.Series:
    """Return a column in the dtype that takes the least memory: texts that occur again are one object."""
    if isinstance(values, np.ndarray):
        return pd.Series(values)
    column = pd.Series(values, index=range(size), dtype=object)
    return column if any(isinstance(value, str) for value in column) else column.infer_objects()


def _copied(rows: SheetRows) -> dict[str, object]:
    """Return the columns of the runs schema that are read as they are, and the year of a date."""
    found: dict[str, object] = {}
    if fields.DATE in rows.cells:
        found["bench_year"] = [year_of(cell) for cell in rows.cells[fields.DATE]]
    for name in rows.cells:
        if name in fields.SCHEMA and name not in _NOT_COPIED:
            found[name] = [rows.said(name, cell) for cell in rows.cells[name]]
    for name in ("link", "network"):
        cells: list[object] = list(found.get(name, ()))  # type: ignore[call-overload]
        strange = [cell is not None and str(cell) not in ("none", *links()) for cell in cells]
        for text, where in rows.where(cells, strange).items() if any(strange) else ():
            near = [own for own in links() if own.split("-")[0][:4] == text.lower()[:4]]
            options = choices("--value", near or [CHOICE], f"{name}:{text}=")
            said = f"{name} {shown(text)} is not known; known are {', '.join(links())}"
            rows.issues.append(Issue("names", said, where, options))
            found[name] = ["none" if str(cell) == text else cell for cell in found[name]]  # type: ignore[attr-defined]
    return found


def _constants(rows: SheetRows) -> dict[str, object]:
    """Return the values that the user gave for all rows; InputError for one that the file has, too."""
    constants: dict[str, object] = {}
    for name, text in rows.answers.constants.items():
        check_name("column", name, COLUMN_NAMES)
        cells = rows.cells.get(name, [])
        if cells and None not in cells:
            heading = rows.columns[name].heading
            raise InputError(
                f"{name} is given for all rows, and the file has it as {heading!r}; leave one out"
            )
        if cells:
            cells[:] = [text if cell is None else cell for cell in cells]
        if text == CHOICE:
            raise InputError(f"{name}={CHOICE}: replace {CHOICE} by your choice")
        constants[name] = text
    if "gpu" in constants:
        constants["gpu"] = rows.names.gpus.find(str(constants["gpu"])).gpu
    if "cnn" in constants:
        constants["cnn"] = cnn_named(str(constants["cnn"]), rows.names.own)
    if "precision" in constants:
        word = PRECISION_WORDS.get(str(constants["precision"]).lower())
        if word is None:
            raise unknown_name("precision", str(constants["precision"]), (*PRECISIONS, "unknown"))
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
    links = frame["gpu"].map({name: gpu.usual_link for name, gpu in own.items()})
    fabrics = {name: usual_server(name).fabric for name in own}
    usual = {
        "link": links.where(several, "none"),
        "network": frame["gpu"].map(fabrics).where(frame["n_nodes"] > 1, "none"),
        "algorithm": pd.Series("ring", frame.index).where(frame["n_gpus"] > 1, "none"),
    }
    absent = {name: values for name, values in usual.items() if name not in frame}
    if absent:
        between = " or ".join(sorted(set(usual["network"]) - {"none"}))
        said = {"link": "the GPU's own link", "network": f"{between} between nodes", "algorithm": "a ring"}
        names = [said[name] for name in absent if name != "network" or (frame["n_nodes"] > 1).any()]
        notes.append(f"assumed for several GPUs: {', '.join(names)}; other ones by --set link=NAME and so on")
    return frame.assign(**absent)


def _checked(made: Imported, issues: list[Issue]) -> Imported:
    """Return the import with the rows that can be runs, and an issue per fault of the runs schema."""
    needed = [name for name in ("gpu", "cnn", "batch_per_gpu") if name in made.frame]
    good = np.isfinite(made.measured)
    for name in needed:
        good &= made.frame[name].notna().to_numpy()
    if len(needed) < 3:
        good[:] = False
    asked = {row for issue in issues for row in issue.rows}
    lost = tuple(row for row, kept in zip(made.rows, good, strict=True) if not kept and row not in asked)
    if lost and good.any():
        text = "no GPU, CNN, batch size or time is stated: add it, or leave these rows out"
        issues.append(Issue("cells", text, lost, skipping(lost)))
    made = _kept(made, good)
    try:
        made = replace(made, table=_table(made))
    except FaultsError as error:
        at = [(str(replace(fault, row=None)), fault.row or 0) for fault in error.faults]
        issues += [
            Issue("cells", text, tuple(made.rows[int(row) - 1] for row in where if row))
            for text, where in grouped(at).items()
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
        sources=tuple(made.sources[place] for place in places),
        others={heading: numbers[places] for heading, numbers in made.others.items()},
        iterations=made.iterations[places],
    )
