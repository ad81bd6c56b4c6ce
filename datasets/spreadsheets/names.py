"""GPUs and CNNs as people write them, with the candidates where a name may mean several."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from trainlaw.datasets.hardware.gpus import split_memory
from trainlaw.datasets.spreadsheets.answers import SKIP, Issue, choices, meant
from trainlaw.datasets.spreadsheets.rows import Label, SheetRows
from trainlaw.formulas.errors import TrainlawError, UnknownNameError, shown

#: Columns of names, as they are said.
KINDS: Mapping[str, str] = {"gpu": "GPU", "cnn": "CNN"}
# Near names are searched one by one: thousands of unknown names would take minutes.
_MOST_UNKNOWN = 20
T = TypeVar("T")
#: Boards of several GPUs as software counts them, by the name of one.
_GPUS_OF_BOARDS: Mapping[str, int] = {"K80": 2, "M60": 2, "A16": 4, "Instinct MI250": 2, "Instinct MI250X": 2}


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
