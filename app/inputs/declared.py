"""Options and arguments, each declared once: its help, limits and default stand where its value is kept."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field
from typing import Any

_KEY = "declared"


@dataclass(frozen=True)
class Declared:
    """An option or argument; its type and name are those of the parameter or field that it belongs to.

    text : the help. names : option names in place of that of the parameter; "--a/--b" is on or off.
    min, max : limits of a number. complete : returns the names that complete a text. metavar : its value in
    the help. is_argument : given without a name. file : what a path is, an existing "folder" or a "file".
    """

    text: str
    names: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    complete: Callable[[str], list[str]] | None = None
    metavar: str = ""
    is_argument: bool = False
    file: str = ""


def option(text: str, *names: str, default: Any = None, **further: Any) -> Any:
    """Return the default of a parameter, or of a field of a dataclass, that is an option.

    text, names, further : as in `Declared`. default : `...` where it must be given.
    """
    given = MISSING if default is ... else default
    return field(default=given, metadata={_KEY: Declared(text, names, **further)})


def flag(text: str, name: str) -> Any:
    """Return the default of an option that is off unless it is given, such as `--all`."""
    return option(text, name, default=False)


def argument(text: str, default: Any = None, **further: Any) -> Any:
    """Return the default of a parameter that is given without a name; `...` where it must be given."""
    return option(text, default=default, is_argument=True, **further)


def declared_of(default: Any) -> Declared | None:
    """Return what is declared by a default or a field of a dataclass; None where nothing is."""
    found = getattr(default, "metadata", {}).get(_KEY)
    return found if isinstance(found, Declared) else None
