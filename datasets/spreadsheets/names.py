"""GPUs and CNNs as people write them, with the candidates where a name may mean several."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from trainlaw.datasets.cnns.names import cnn_key
from trainlaw.datasets.hardware.gpus import GpuCatalog, split_memory
from trainlaw.datasets.spreadsheets.answers import SKIP, Issue, choices, grouped, meant
from trainlaw.datasets.spreadsheets.cells import Rows
from trainlaw.formulas.errors import TrainlawError, UnknownNameError, shown

_BEFORE = re.compile(r"(\d{1,4})\s*[x\u00d7*]\s*(.+)", re.IGNORECASE)
_BEHIND = re.compile(r"(.+?)\s+\(?[x\u00d7*]\s*(\d{1,4})\)?", re.IGNORECASE)
_PACKAGE = re.compile(
    r"\s*\((?:torchvision|pytorch|keras|tensorflow|tf|224|imagenet)\)$|\s+training$|^(?:torchvision|keras) ",
    re.I,
)
# Near names are searched one by one: thousands of unknown names would take minutes.
_MOST_UNKNOWN = 20
T = TypeVar("T")
#: Boards of several GPUs as software counts them, by the name of one.
_GPUS_OF_BOARDS: Mapping[str, int] = {"K80": 2, "M60": 2, "A16": 4, "Instinct MI250": 2, "Instinct MI250X": 2}


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


def gpus_meant(text: str, gpus: GpuCatalog) -> tuple[str, ...]:
    """Return the names of the GPUs that a text may mean, none for a text that names none."""
    try:
        return (gpu_and_number(text, gpus)[0],)
    except UnknownNameError as error:
        return meant(text, error)


def cnn_named(text: str, own: Collection[str] = ()) -> str:
    """Return the key of the CNN that a text names; `own` are those of files. Raises as `cnn_key`."""
    return text if text in own else cnn_key(_PACKAGE.sub("", text))


def read_gpus(
    rows: Rows, gpus: GpuCatalog, counted: bool, issues: list[Issue]
) -> tuple[list[str | None], list[int | None]]:
    """Return the GPU of each row, None where it is an issue, and how many its cell says.

    counted : whether the file has a column of how many GPUs ran.
    """
    is_exact = not rows.columns["gpu"].is_guess

    def find(text: str, is_answered: bool) -> tuple[str, int | None]:
        name, number = gpu_and_number(text, gpus)
        if is_answered or is_exact:
            return name, number
        dies = _GPUS_OF_BOARDS.get(name)
        if dies and not counted and number is None:
            reason = (
                f"a board of it holds {dies} GPUs: did one of them run, or all (then say --batch-is, too)?"
            )
            raise UnknownNameError(f": {reason}", [name, f"{dies}x {name}"])
        namesakes = gpus.namesakes(name)
        if len(namesakes) > 1 and split_memory(text)[1] is None:
            raise UnknownNameError(": GPUs of that name differ in memory", namesakes)
        return name, number

    found = _looked_up(rows, "gpu", find, issues)
    return [pair[0] if pair else None for pair in found], [pair[1] if pair else None for pair in found]


def read_cnns(rows: Rows, own: Collection[str], issues: list[Issue]) -> list[str | None]:
    """Return the CNN of each row, None where it is an issue; `own` are the names of custom CNNs."""
    return _looked_up(rows, "cnn", lambda text, _: cnn_named(text, own), issues)


def _looked_up(
    rows: Rows, column: str, find: Callable[[str, bool], T], issues: list[Issue]
) -> list[T | None]:
    """Return what is found for each cell, looked up once per text; one issue per text that is not known."""
    found: dict[str, T | None] = {}
    unknown: dict[str, Issue] = {}
    cells = rows.cells[column]
    where = grouped(
        (str(cell), number) for cell, number in zip(cells, rows.numbers, strict=True) if cell is not None
    )
    for text in where:
        try:
            found[text] = find(str(rows.said(column, text)), rows.is_said(column, text))
        except TrainlawError as error:
            # The nearest candidate, so that the times can be checked before the user has chosen.
            near = getattr(error, "candidates", ())[:1]
            found[text] = find(near[0], True) if near else None
            if len(unknown) <= _MOST_UNKNOWN:
                unknown[text] = _unknown(column, text, where[text], error)
    empty = tuple(number for cell, number in zip(cells, rows.numbers, strict=True) if cell is None)
    if empty and rows.answers.fill_down:
        issues.append(Issue("cells", f"{rows.columns[column].heading}: empty", empty))
    issues += unknown.values()
    return [None if cell is None else found[str(cell)] for cell in cells]


def _unknown(column: str, text: str, where: tuple[int, ...], error: TrainlawError) -> Issue:
    candidates = getattr(error, "candidates", ())
    kind = {"gpu": "GPU", "cnn": "CNN"}[column]
    reason = str(error).partition(": ")[2].partition("did you mean")[0].rstrip("; ")
    reason = reason or ("several GPUs or CNNs have that name" if meant(text, error) else "")
    text_of_issue = f"{kind} {shown(text)}{': ' + reason if reason and candidates else ' is not known'}"
    if not candidates:
        advice = f"add it by --{column}-file, or leave its rows out"
        return Issue(
            "names", f"{text_of_issue}; {advice}", where, choices("--value", [SKIP], f"{column}:{text}=")
        )
    several = [SKIP] if not meant(text, error) else []
    return Issue(
        "names", text_of_issue, where, choices("--value", [*candidates, *several], f"{column}:{text}=")
    )
