"""The answers of predictions in Python: values of the rows, and sentences with numbers filled in."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import isfinite
from typing import Any

import numpy as np
from trainlaw.app.answers.answer import FIGURE, NOTE, PLACE, WARNING, Answer, places_of
from trainlaw.app.answers.table import Line, lines_of, within_reach
from trainlaw.app.text.numbers import (
    difference_text,
    show_hours,
    show_hours_range,
    show_number,
    show_seconds,
    show_seconds_range,
)
from trainlaw.datasets import FEATURES, RunTable
from trainlaw.datasets.measurements.memory_fit import NOT_KNOWN, gigabytes
from trainlaw.formulas import Formula, evaluate, variables

#: How a number is written, by the style of its place in a sentence.
STYLES: Mapping[str, Callable[[float], str]] = {
    "number": show_number,
    "seconds": show_seconds,
    "hours": show_hours,
    "gigabytes": gigabytes,
    "whole": lambda value: str(int(value)),
    "difference": difference_text,
    "layers": lambda value: "1 layer" if value == 1 else f"{value:.0f} layers",
}
_RANGES = {"seconds": show_seconds_range, "hours": show_hours_range}


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of several predictions.

    lines : rows of the table that can be computed. columns : all quantities by name, (count,) each, numbers
    or texts; values of rows are among them, nan where they are not defined.
    """

    lines: tuple[Line, ...]
    columns: Mapping[str, np.ndarray]
    count: int

    def published(self) -> dict[str, np.ndarray]:
        """Return the columns of outputs by name: numbers, nan where a value is not defined, or words."""
        shown = (line.answer for line in self.lines if line.answer.is_published)
        return {answer.name: self._plain(answer) for answer in shown}

    def of_row(self, row: int) -> "Answers":
        """Return the answers of one prediction."""
        columns = {name: values[row : row + 1] for name, values in self.columns.items()}
        return Answers(self.lines, columns, 1)

    def said(self, kind: str) -> Iterator[tuple[Answer, dict[int, str]]]:
        """Yield the rows of a kind, warnings by gravity, with what each says by number of the prediction."""
        for line in self._of_kind(kind):
            rows = self._rows_of(line)
            yield line.answer, dict(zip(rows, self._filled(line.answer.sentence, rows), strict=True))

    def sentences(self, kind: str) -> list[tuple[str, ...]]:
        """Return the warnings, the gravest first, or the notes of each prediction."""
        found: list[list[str]] = [[] for _ in range(self.count)]
        for _, texts in self.said(kind):
            for row, text in texts.items():
                found[row] += text.splitlines() if "\n" in text else (text,)
        return list(map(tuple, found))

    def sentence_columns(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the notes and warnings of each prediction."""
        return {"notes": self.sentences(NOTE), "warnings": self.sentences(WARNING)}

    def text(self, line: Line, row: int) -> str:
        """Return what a line says of one prediction, empty where it is not said."""
        return self._filled(line.answer.sentence, [row])[0] if row in self._rows_of(line) else ""

    def figures(self, row: int) -> list[tuple[str, str]]:
        """Return the lines of figures of one prediction, as title and text."""
        lines = (line.answer for line in self._of_kind(FIGURE) if row in self._rows_of(line))
        return [(answer.title, self._filled(answer.sentence, [row])[0]) for answer in lines]

    def _of_kind(self, kind: str) -> Iterable[Line]:
        return (line for line in self.lines if line.answer.sentence and line.answer.kind == kind)

    def _rows_of(self, line: Line) -> list[int]:
        if line.when is None:
            return list(range(self.count))
        values, valid = evaluate(line.when, {name: self.columns[name] for name in variables(line.when)})
        return np.flatnonzero(valid & (values > 0)).tolist()

    def _plain(self, answer: Answer) -> np.ndarray:
        """Return the values of a row as outputs have them: words, whole bytes, or numbers."""
        values = self.columns[answer.name]
        if answer.words:
            places = np.where(np.isfinite(values), values, len(answer.words)).astype(int)
            return np.take(np.array([*answer.words, NOT_KNOWN], dtype=object), places)
        numbers = np.where(np.isfinite(values), values, np.nan)
        is_whole = answer.unit == "B" and bool(np.isfinite(numbers).all())
        return np.rint(numbers).astype(np.int64) if is_whole else numbers

    def _filled(self, sentence: str, rows: Sequence[int]) -> list[str]:
        """Return a sentence with its places filled, of predictions by their numbers."""
        template, places = _template(sentence)
        shown = [self._shown(names, style, rows) for names, style in places]
        return [template % texts for texts in (zip(*shown, strict=True) if shown else [()] * len(rows))]

    def _shown(self, names: Sequence[str], style: str, rows: Sequence[int]) -> list[str]:
        """Return the texts of a place; of many predictions, most have what another one has."""
        columns = [self.columns[name][rows].tolist() for name in names]
        if len(columns) > 1:
            return list(map(_RANGES[style], *columns))
        show = STYLES[style] if style else partial(self._word, names[0])
        known = {value: show(value) for value in dict.fromkeys(columns[0])}
        return [known[value] for value in columns[0]]

    @cached_property
    def _words(self) -> dict[str, tuple[str, ...]]:
        return {line.answer.name: line.answer.words for line in reversed(self.lines)}

    def _word(self, name: str, value: Any) -> str:
        words = self._words.get(name, ())
        return str(word_of(words, value)) if words else str(value)


# Sentences are rows of a table.
@lru_cache(maxsize=1024)
def _template(sentence: str) -> tuple[str, tuple[tuple[tuple[str, ...], str], ...]]:
    """Return a sentence with %s at its places, and their names and styles."""
    return PLACE.sub("%s", sentence.replace("%", "%%")), tuple(places_of(sentence))


def word_of(words: tuple[str, ...], value: float) -> str:
    """Return the word for a value.

    >>> word_of(("fits", "cannot fit"), 1.0), word_of(("fits", "cannot fit"), float("nan"))
    ('cannot fit', 'not known')
    """
    return words[int(value)] if isfinite(value) else NOT_KNOWN


def answered(formula: Formula, runs: RunTable, columns: Mapping[str, np.ndarray]) -> Answers:
    """Return the answers of runs.

    columns : the used features, times and facts by name, (n_runs,) each; other base columns are those of
    `runs`.
    """
    lines = lines_of(formula)
    needed = {name for line in lines for name in line.needs}
    base = sorted(needed & set(FEATURES) - set(columns))
    found = {**columns, **dict(zip(base, runs.matrix(base).T, strict=True))} if base else dict(columns)
    return evaluated(within_reach(lines, found), found, len(runs))


def evaluated(lines: Iterable[Line], columns: Mapping[str, np.ndarray], count: int) -> Answers:
    """Return lines with their values over the quantities that they need, (count,) each."""
    found, lines = dict(columns), tuple(lines)
    for line in lines:
        if line.value is not None:
            values, valid = evaluate(line.value, {name: found[name] for name in variables(line.value)})
            found[line.answer.name] = np.where(valid, values, np.nan)
    return Answers(lines, found, count)
