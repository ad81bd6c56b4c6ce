"""GPUs and CNNs as people write them, with the candidates where a name may mean several."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from trainlaw.datasets.cnns.names import cnn_key
from trainlaw.datasets.hardware.gpus import GpuCatalog, hard_stop, split_memory
from trainlaw.datasets.spreadsheets.answers import SKIP, Issue, choices, meant
from trainlaw.datasets.spreadsheets.lines import read_line
from trainlaw.datasets.spreadsheets.rows import Label, SheetRows
from trainlaw.formulas.errors import TrainlawError, UnknownNameError, shown

#: Columns of names, as they are said.
KINDS: Mapping[str, str] = {"gpu": "GPU", "cnn": "CNN"}
_BRACKETS = re.compile(r"\s*[(\[{]([^)\]}]*)[)\]}]")
_BEFORE = re.compile(r"(\d{1,4})\s*[x\u00d7*]\s*(.+)", re.IGNORECASE)
_BEHIND = re.compile(r"(.+?)\s+\(?[x\u00d7*]\s*(\d{1,4})\)?", re.IGNORECASE)
_INDEX = re.compile(r"^GPU \d+:\s*", re.IGNORECASE)
_PACKAGE = re.compile(r"\s+training$|^(?:torchvision|keras) |[_.](?:in1k|imagenet)$", re.IGNORECASE)
# Near names are searched one by one: thousands of unknown names would take minutes.
_MOST_UNKNOWN = 20
T = TypeVar("T")
#: Boards of several GPUs as software counts them, by the name of one.
_GPUS_OF_BOARDS: Mapping[str, int] = {"K80": 2, "M60": 2, "A16": 4, "Instinct MI250": 2, "Instinct MI250X": 2}


class Names:
    """The GPUs and CNNs that texts may name; each text is looked up once."""

    def __init__(self, gpus: GpuCatalog, own: Collection[str] = ()) -> None:
        """Keep the catalog and the names of the user's own CNNs."""
        self.gpus, self.own = gpus, frozenset(own)
        self._known: dict[tuple[str, str], bool] = {}

    def find(self, kind: str, text: str) -> tuple[str, int | None]:
        """Return the name that a text means, and how many of a GPU it says; raises UnknownNameError."""
        plain = _without_remark(_INDEX.sub("", text))
        return gpu_and_number(plain, self.gpus) if kind == "gpu" else (cnn_named(plain, self.own), None)

    def is_name(self, kind: str, text: str) -> bool:
        """Return whether a text is a name, or may be one of several."""
        key = kind, text
        if key not in self._known:
            self._known[key] = self._is_name(kind, text)
        return self._known[key]

    def _is_name(self, kind: str, text: str) -> bool:
        if not re.search("[a-z]", text, re.IGNORECASE) or not 1 < len(text) < 80:
            return False
        try:
            self.find(kind, text)
        except TrainlawError as error:
            return bool(meant(text, error))
        return True


def _without_remark(text: str) -> str:
    """Return a name without a remark in brackets, such as where the GPU was, that says nothing of the run."""
    if hard_stop(text) or any(_says_something(inside) for inside in _BRACKETS.findall(text)):
        return text
    return _BRACKETS.sub("", text).strip() or text


def _says_something(text: str) -> bool:
    line = read_line(text)
    return bool(line.said or line.asked) or bool(re.search(r"\d+\s*gi?b\b", text, re.IGNORECASE))


def gpu_and_number(text: str, gpus: GpuCatalog) -> tuple[str, int | None]:
    """Return the name of a GPU, and how many of them a text such as "8x A100-SXM4-80GB" says.

    Raises UnknownNameError as `GpuCatalog.find`.
    """
    try:
        return gpus.find(text).gpu, None
    except UnknownNameError:
        for pattern, number, name in ((_BEFORE, 1, 2), (_BEHIND, 2, 1)):
            if match := pattern.fullmatch(text.strip()):
                return _counted_gpu(match[name], int(match[number]), gpus)
        raise


def _counted_gpu(text: str, number: int, gpus: GpuCatalog) -> tuple[str, int]:
    """Return the GPU and its number; the candidates of an unknown name keep the number."""
    try:
        return gpus.find(text).gpu, number
    except UnknownNameError as error:
        raise UnknownNameError(str(error), [f"{number}x {name}" for name in error.candidates]) from None


def cnn_named(text: str, own: Collection[str] = ()) -> str:
    """Return the key of the CNN that a text names; `own` are those of files. Raises as `cnn_key`."""
    if text in own:
        return text
    try:
        return cnn_key(_PACKAGE.sub("", text))
    except UnknownNameError:
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", text):
            raise
        # "microsoft/resnet-50": hubs have the name of an organisation before that of the CNN.
        return cnn_key(text.partition("/")[2])


def read_gpus(rows: SheetRows, counted: bool) -> tuple[list[str | None], list[int | None]]:
    """Return the GPU of each row, None where it is an issue, and how many its cell says.

    counted : whether the file has a column of how many GPUs ran.
    """
    names, is_exact = rows.names, not rows.columns["gpu"].is_guess

    def find(text: str, is_answered: bool) -> tuple[str, int | None]:
        name, number = names.find("gpu", text)
        if is_answered or is_exact:
            return name, number
        dies = _GPUS_OF_BOARDS.get(name)
        if dies and not counted and number is None:
            reason = (
                f"a board of it holds {dies} GPUs: did one of them run, or all (then say --batch-is, too)?"
            )
            raise UnknownNameError(f": {reason}", [name, f"{dies}x {name}"])
        namesakes = names.gpus.namesakes(name)
        if len(namesakes) > 1 and split_memory(text)[1] is None:
            raise UnknownNameError(": GPUs of that name differ in memory", namesakes)
        return name, number

    found = _looked_up(rows, "gpu", find)
    return [pair[0] if pair else None for pair in found], [pair[1] if pair else None for pair in found]


def read_cnns(rows: SheetRows) -> list[str | None]:
    """Return the CNN of each row, None where it is an issue."""
    return _looked_up(rows, "cnn", lambda text, _: rows.names.find("cnn", text)[0])


def _looked_up(rows: SheetRows, column: str, find: Callable[[str, bool], T]) -> list[T | None]:
    """Return what is found for each cell, looked up once per text; one issue per text that is not known."""
    found: dict[str, T | None] = {}
    unknown: dict[str, Issue] = {}
    cells = rows.cells[column]
    where = rows.where(cells, (cell is not None for cell in cells))
    for text in where:
        try:
            found[text] = find(str(rows.said(column, text)), rows.is_said(column, text))
        except TrainlawError as error:
            # The nearest candidate, so that the times can be checked before the user has chosen.
            near = getattr(error, "candidates", ())[:1]
            found[text] = find(near[0], True) if near else None
            if len(unknown) <= _MOST_UNKNOWN:
                unknown[text] = _unknown(column, text, where[text], error)
    if rows.answers.fill_down:
        rows.fault(f"{rows.columns[column].heading}: empty", (cell is None for cell in cells))
    rows.issues += unknown.values()
    return [None if cell is None else found[str(cell)] for cell in cells]


def _unknown(column: str, text: str, where: tuple[Label, ...], error: TrainlawError) -> Issue:
    candidates = getattr(error, "candidates", ())
    reason = str(error).partition(": ")[2].partition("did you mean")[0].rstrip("; ")
    reason = reason or ("several GPUs or CNNs have that name" if meant(text, error) else "")
    said = f": {reason}" if reason and candidates else " is not known"
    if not candidates:
        said += f"; add it by --{column}-file, or leave its rows out"
    options = choices("--value", [*candidates, *([] if meant(text, error) else [SKIP])], f"{column}:{text}=")
    return Issue("names", f"{KINDS[column]} {shown(text)}{said}", where, options)
