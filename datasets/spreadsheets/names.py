"""GPUs and CNNs as people write them, with the candidates where a name may mean several."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from trainlaw.datasets.hardware.gpus import hard_stop, split_memory
from trainlaw.datasets.spreadsheets.answers import SKIP, Issue, choices, meant
from trainlaw.datasets.spreadsheets.cells import KINDS
from trainlaw.datasets.spreadsheets.phrases import Names, cnn_named, gpu_and_number
from trainlaw.datasets.spreadsheets.rows import Label, SheetRows
from trainlaw.formulas.errors import TrainlawError, UnknownNameError, shown

_BRACKETS = re.compile(r"[(\[{][^)\]}]*[)\]}]")
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
        name, number = gpu_and_number(_plain_gpu(text, names), names.gpus)
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


def _plain_gpu(text: str, names: Names) -> str:
    """Return the name in a text such as "Tesla T4 (Colab)", the text itself where it is a name."""
    if names.meant("gpu", text):
        return text
    said = names.phrase(text).said.get("gpu", "")
    if not said or hard_stop(text):
        return text
    # A text in brackets, such as where the GPU was, is no part of its name; other words may be.
    is_whole = not names.phrase(_BRACKETS.sub(" ", text)).rest
    return said if is_whole else text


def _plain_cnn(text: str, names: Names) -> str:
    """Return the name in a text such as "ResNet-50 (bs 64)", the text itself where it is a name."""
    if len(names.meant("cnn", text)) == 1:
        return text
    phrase = names.phrase(text)
    return text if phrase.rest else phrase.said.get("cnn", text)


def read_cnns(rows: SheetRows) -> list[str | None]:
    """Return the CNN of each row, None where it is an issue."""
    return _looked_up(rows, "cnn", lambda text, _: cnn_named(_plain_cnn(text, rows.names), rows.names.own))


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
