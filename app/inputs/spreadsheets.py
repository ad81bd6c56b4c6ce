"""A spreadsheet, read with the options that the user gave for it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from trainlaw.app.inputs.resolve import known_gpus, named_cnn
from trainlaw.app.inputs.selection import pairs_of
from trainlaw.datasets.spreadsheets.answers import CHOICE, SheetAnswers
from trainlaw.datasets.spreadsheets.conversion import Imported, read_spreadsheet
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import shown


def chosen_pairs(option: str, texts: Iterable[str] | None, form: str) -> dict[str, str]:
    """Return texts as pairs, as `pairs_of`; InputError for one without a choice, too."""
    return {
        name: _given(option, f"{name}={value}", value)
        for name, value in pairs_of(option, texts, form).items()
    }


def _given(option: str, text: str, value: str) -> str:
    if value == CHOICE:
        raise InputError(f"{option} {shown(text)}: replace {CHOICE} by your choice")
    return value


def values_of(texts: Iterable[str] | None) -> Mapping[tuple[str, str], str]:
    """Return texts such as "gpu:A100 80GB=A100-SXM4-80GB" as values by column and text in the file.

    >>> values_of(["precision:yes=amp"])
    {('precision', 'yes'): 'amp'}
    """
    found = {}
    for text in texts or ():
        # A text of the file may have an equals sign, which ours has not.
        key, _, value = text.rpartition("=")
        column, _, own = key.partition(":")
        if not (column and own and value):
            raise InputError(f"--value: expected COLUMN:YOURS=OURS, got {shown(text)}")
        found[column, own] = _given("--value", text, value)
    return found


def one_of(option: str, text: str | None, allowed: tuple[str, ...]) -> str:
    """Return the text of an option, "" where it is not given; InputError where it is none of `allowed`."""
    if text is not None and text not in allowed:
        raise InputError(f"{option}: expected one of {', '.join(allowed)}, got {shown(text)}")
    return text or ""


def words_of(text: str | None) -> tuple[str, ...]:
    """Return the words of a text such as "gpu,precision"."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def imported(
    file: Path, answers: SheetAnswers, gpu_file: Path | None = None, cnn_files: Iterable[Path] | None = None
) -> Imported:
    """Return the runs in a spreadsheet, with its questions and faults; see `read_spreadsheet`."""
    own = [named_cnn(str(path)) for path in cnn_files or ()]
    return read_spreadsheet(file, answers, known_gpus(gpu_file), own)
