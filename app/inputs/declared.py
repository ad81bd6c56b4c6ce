"""Options and arguments, each declared once: its help, limits and default stand where its value is kept."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

_KEY = "declared"
GPU_FILE_HELP = (
    "CSV, Excel or Parquet file with custom GPUs, as `trainlaw gpus template` prints it or "
    "`trainlaw profile` writes it (runs-machine.csv); a known name corrects that GPU."
)
TRUST_HELP = "Take times even if the built-in formula or other runs contradict them."
CNN_FILE_HELP = "Custom CNN (.onnx, .csv, .json); runs refer to it by the file name without its suffix."


@dataclass(frozen=True)
class Declared:
    """An option or argument; its type and name are those of the parameter or field that it belongs to.

    text : the help. names : option names in place of that of the parameter; "--a/--b" is on or off.
    min, max : limits of a number. complete : returns the names that complete a text. metavar : its value in
    the help. is_argument : given without a name. file : what a path is, "path" for anything, a
    "file", or an existing "folder". limit : row of the table of limits that a number keeps.
    """

    text: str
    names: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    complete: Callable[[str], list[str]] | None = None
    metavar: str = ""
    is_argument: bool = False
    file: str = ""
    limit: str = ""


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


def check_limits(values: Any, where: str) -> None:
    """Raise InputError for a number of a dataclass that is outside the limits declared of its field."""
    from trainlaw.formulas.errors import InputError  # noqa: PLC0415 (loads numpy, `--help` does not)

    for each in fields(values):
        declared, value = declared_of(each), getattr(values, each.name)
        if declared is None or declared.min is None or declared.max is None:
            continue
        if not declared.min <= value <= declared.max:
            raise InputError(f"{where}: {each.name}: expected {declared.min} to {declared.max}, got {value}")
