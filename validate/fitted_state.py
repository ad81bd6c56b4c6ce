"""The texts and numbers reachable from an object, in which the guard looks for held-out facts."""

import types
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

# More Python objects than a legitimate estimator holds; bounds the walk through, say, a cached compiler.
MAX_OBJECTS = 200_000

_LEAF_TYPES = (type, types.ModuleType, types.BuiltinFunctionType, bytes, bool, type(None))


def _parts(thing: object) -> Iterator[object]:
    """Yield the objects that `thing` refers to directly."""
    if isinstance(thing, Mapping):
        yield from list(thing.keys())
        yield from list(thing.values())
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from list(thing)
    elif isinstance(thing, pd.DataFrame):
        yield thing.index.to_numpy()
        yield from (thing[column].to_numpy() for column in thing.columns)
    elif isinstance(thing, pd.Series | pd.Index):
        yield thing.to_numpy()
        if isinstance(thing, pd.Series):
            yield thing.index.to_numpy()
    elif isinstance(thing, np.ndarray):
        yield from thing.ravel().tolist() if thing.dtype == object else ()
    elif isinstance(thing, types.FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell))
        yield thing.__defaults__
    else:
        yield from _attributes(thing)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _attributes(thing: object) -> Iterator[object]:
    """Yield attributes in `__dict__` and slots, and the objects bound by a method or `functools.partial`."""
    yield from list(getattr(thing, "__dict__", {}).values())
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(thing, name, None)
    for name in ("func", "args", "keywords", "__self__", "__func__"):
        if hasattr(type(thing), name):
            yield getattr(thing, name, None)


def texts_and_numbers(thing: object) -> tuple[set[str], np.ndarray]:
    """Return all texts, and all floating-point numbers (float64, shape (n_numbers,)), reachable from `thing`.

    Walks containers, arrays, tables, attributes, closures and bound methods, at most `MAX_OBJECTS` objects.

    >>> texts, numbers = texts_and_numbers({"T4": [0.5, np.array([1.5, 2.5])]})
    >>> sorted(texts), numbers.tolist()
    (['T4'], [0.5, 1.5, 2.5])
    """
    texts: set[str] = set()
    numbers: list[np.ndarray] = []
    seen: dict[int, object] = {}  # keeps the objects alive, so that an id is not used twice
    waiting: list[object] = [thing]
    while waiting and len(seen) < MAX_OBJECTS:
        current = waiting.pop()
        if isinstance(current, str):
            texts.add(str(current))
        elif isinstance(current, float | np.floating):
            numbers.append(np.array([current], dtype=float))
        elif isinstance(current, np.ndarray) and current.dtype.kind in "fUS":
            _collect(current, texts, numbers)
        elif not isinstance(current, (*_LEAF_TYPES, int)) and id(current) not in seen:
            seen[id(current)] = current
            waiting.extend(_parts(current))
    return texts, np.sort(np.concatenate(numbers)) if numbers else np.empty(0)


def _collect(array: np.ndarray, texts: set[str], numbers: list[np.ndarray]) -> None:
    if array.dtype.kind == "f":
        numbers.append(array.ravel().astype(float))
    else:
        texts.update(np.unique(array.astype(str)).tolist())
