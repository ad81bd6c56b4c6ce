"""Errors that trainlaw raises: one line states the expectation, the value found and the remedy."""

from collections import Counter
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from importlib import import_module
from reprlib import Repr
from types import ModuleType

_LONGEST_NAME = 200  # that near names are looked for


class TrainlawError(Exception):
    """Root of all errors that trainlaw raises on purpose.

    longest_message : characters of the message that a command prints at most.
    """

    longest_message = 400


class InputError(TrainlawError, ValueError):
    """A value, a text or a file does not meet the expectation."""


class UnknownNameError(TrainlawError, LookupError):
    """A name (of an operator, a feature, a GPU, a CNN, ...) is not known, or several things have it.

    Parameters
    ----------
    message : str
        The message, in one line.
    candidates : iterable of str
        Known names that may be meant, nearest first; the message lists them, too.
    """

    def __init__(self, message: str, candidates: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.candidates = tuple(candidates)


class UnitError(TrainlawError, ValueError):
    """Units do not agree, or a text is no unit."""


class MissingDependencyError(TrainlawError, ImportError):
    """An optional package is needed and not installed; the message names the extra that provides it."""


def optional_package(module: str, extra: str) -> ModuleType:
    """Return an optional module, imported when it is first needed.

    Raises MissingDependencyError, which names the extra of trainlaw that installs it.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingDependencyError(
            f"this needs the package {package}: pip install 'trainlaw[{extra}]'"
        ) from None


def shown(value: object, limit: int = 60) -> str:
    """Return `value` as one line of at most `limit` characters, for use in a message.

    >>> shown("a" * 100, limit=10)
    "'aaaaaa..."
    """
    whole = _shortened(value) if isinstance(value, list | tuple | dict) else repr(value)
    text = " ".join(whole.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def cut_message(text: str, limit: int) -> str:
    """Return a message as one line of at most `limit` characters: without the middle of a longer one.

    >>> cut_message("a file with a name of many letters:\\n no such file", limit=30)
    'a file with ... no such file'
    """
    line = " ".join(text.split())
    half = (limit - 5) // 2
    return line if len(line) <= limit else f"{line[:half].rstrip()} ... {line[-half:].lstrip()}"


def _shortened(value: object) -> str:
    """Return a list or object as text without all of what it contains, which may be a file of megabytes."""
    short = Repr()
    short.maxlevel = 4
    short.maxlist = short.maxtuple = short.maxdict = 20
    short.maxstring = short.maxlong = short.maxother = 100
    return short.repr(value)


def unknown_name(kind: str, given: str, known: Iterable[str]) -> UnknownNameError:
    """Return the error for the unknown name `given` of a `kind` of thing, with near names from `known`.

    >>> print(unknown_name("operator", "sqr", ["sqrt", "exp"]))
    unknown operator 'sqr': did you mean 'sqrt'?
    """
    candidates = list(known)
    near = get_close_matches(given, candidates, n=3, cutoff=0.5) if len(given) <= _LONGEST_NAME else []
    if near:
        advice = "did you mean " + " or ".join(repr(name) for name in near) + "?"
    else:
        advice = "known: " + (
            ", ".join(candidates[:12]) + (", ..." if len(candidates) > 12 else "") or "none"
        )
    return UnknownNameError(f"unknown {kind} {shown(given)}: {advice}", near)


def given_twice(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, in order.

    >>> given_twice(["b", "a", "b"])
    ['b']
    """
    return sorted(name for name, count in Counter(names).items() if count > 1)


def check_name(kind: str, given: str, known: Collection[str]) -> None:
    """Raise UnknownNameError where `given` is not among the `known` names of a `kind` of thing."""
    if given not in known:
        raise unknown_name(kind, given, known)
