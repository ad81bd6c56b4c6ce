"""One thing that a prediction says: a row of the table of answers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

FIGURE, WARNING, NOTE = "figure", "warning", "note"
#: How grave a warning is, the gravest first: every output says warnings in this order.
GRAVITIES = ("impossible", "mistaken", "unlike", "range", "assumed", "ignored")
#: Warnings that an output for readers shows at once.
FIRST_WARNINGS = 3
#: A place of a sentence: a name for a text; names and a style for one number or the two ends of a range.
PLACE = re.compile(r"\{(?P<names>\w+(?:,\w+)?)(?::(?P<style>\w+))?\}")


@dataclass(frozen=True)
class Answer:
    """One thing that a prediction says.

    unit : of the value; rows with a unit or words are published as columns. definition : the value, as text
    of an expression; empty for a row that only says something. when : an expression that is positive where
    the sentence is said; empty for always. sentence : text with places, see `PLACE`; several lines are
    several sentences. title : heads a line of figures; empty for a warning or a note. words : what the
    values 0, 1, ... mean. gravity : of a warning, one of `GRAVITIES`.
    """

    name: str
    unit: str = ""
    definition: str = ""
    when: str = ""
    sentence: str = ""
    title: str = ""
    words: tuple[str, ...] = ()
    is_note: bool = False
    gravity: str = "assumed"

    @property
    def rank(self) -> int:
        """The place among rows that are said: warnings by gravity, after all others."""
        is_warning = self.sentence and self.kind == WARNING
        return 1 + GRAVITIES.index(self.gravity) if is_warning else 0

    @property
    def kind(self) -> str:
        """Whether the sentence is a line of figures, a warning or a note."""
        return FIGURE if self.title else NOTE if self.is_note else WARNING

    @property
    def is_published(self) -> bool:
        """Whether the value is a column of outputs, not only a step on the way to other rows."""
        return bool(self.definition and (self.unit or self.words))


def places_of(sentence: str) -> Iterable[tuple[tuple[str, ...], str]]:
    """Yield the names and the style of each place of a sentence.

    >>> list(places_of("{gpu} takes {low_s,high_s:seconds}"))
    [(('gpu',), ''), (('low_s', 'high_s'), 'seconds')]
    """
    for place in PLACE.finditer(sentence):
        yield tuple(place["names"].split(",")), place["style"] or ""
