from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from trainlaw.validate import guard
from trainlaw.validate.guard import texts_and_numbers

from ..rows import each_row


@dataclass(frozen=True, slots=True)
class Slotted:
    inside: object


class Model:
    def __init__(self, inside):
        self.inside = inside

    def method(self):
        return self.inside


def closure(inside):
    return lambda: inside


def default(inside):
    return lambda value=inside: value


HIDING_PLACES = {
    "list": lambda thing: [1, [thing]],
    "key of a mapping": lambda thing: {thing: 1} if isinstance(thing, str) else {1: thing},
    "attribute": Model,
    "slot": Slotted,
    "closure": closure,
    "default of an argument": default,
    "functools.partial": lambda thing: partial(max, thing),
    "bound method": lambda thing: Model(thing).method,
    "object array": lambda thing: np.array([None, thing], dtype=object),
    "array": lambda thing: np.array([thing]),
    "series": lambda thing: pd.Series([thing]),
    "index": lambda thing: pd.Series([1], index=[thing]),
    "data frame": lambda thing: pd.DataFrame({"x": [thing]}),
    "nest of all": lambda thing: SimpleNamespace(a={"b": (Slotted(closure([thing])),)}),
}


@each_row("place", HIDING_PLACES)
@pytest.mark.parametrize("thing", ["GV100-80", 0.123456789])
def test_finds_a_text_or_a_number_in_every_hiding_place(place, thing):
    texts, numbers = texts_and_numbers(HIDING_PLACES[place](thing))
    assert thing in (texts if isinstance(thing, str) else numbers.tolist())


def test_survives_circles_and_unfilled_closures():
    circle = Model(None)
    circle.inside = circle

    def outer():
        def inner():
            return later

        if False:
            later = 1
        return inner

    assert texts_and_numbers([circle, outer()])[0] == set()


def test_a_walk_ends(monkeypatch):
    monkeypatch.setattr(guard, "MAX_OBJECTS", 10)
    texts, _ = texts_and_numbers([[[f"text {n}"]] for n in range(100)])
    assert len(texts) < 100
