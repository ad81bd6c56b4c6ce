"""Names that are gone; asked for one of them, the product names the replacement in one line.

To retire a name, add a row to `retired.toml`. Commands, options, suffixes of exports and names of formulas
are answered by it; a room that retires a name of another kind calls `check_retired` where the name comes in.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from trainlaw.formulas.files.toml_tables import toml_table


@cache
def gone_names() -> Mapping[str, Mapping[str, str]]:
    """Return what replaces each name that is gone, by kind and name."""
    return toml_table(__file__, "retired.toml")


def check_retired(kind: str, name: str) -> None:
    """Raise InputError for a name that is gone; the message names the replacement."""
    if instead := gone_names().get(kind, {}).get(name):
        from trainlaw.formulas.errors import InputError  # noqa: PLC0415 (loads numpy, `--help` does not)

        raise InputError(f"{kind} {name} is gone: {instead}")


def check_retired_words(words: Sequence[str]) -> None:
    """Raise InputError where the words after `trainlaw` ask for a command or an option that is gone.

    >>> check_retired_words(["predict", "--cnn", "resnet50"])
    """
    given = [word.partition("=")[0] for word in words]
    for kind in ("command", "option"):
        for name in gone_names()[kind]:
            *command, last = name.split()
            # An option may stand anywhere after its command.
            follows = given[len(command) :] if kind == "option" else given[len(command) : len(command) + 1]
            if given[: len(command)] == command and last in follows:
                check_retired(kind, name)
