"""Names that are gone; asked for one of them, the product names the replacement in one line.

To retire a name, add a row to `RETIRED`. Commands, options, suffixes of exports and names of formulas are
answered by it; a room that retires a name of another kind calls `check_retired` where the name comes in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["command", "option", "suffix", "program", "page", "formula", "CNN file", "study"]


@dataclass(frozen=True)
class Retired:
    """A name that is gone.

    kind : command "data contribute" and option "study --watch" are found as typed after `trainlaw`; suffix
    ".sql" and formula "medium" as the user names them; program ".jl" is a suffix for a program that takes
    names, page "custom" the page of a custom formula, study "short-runs" a kind of study, CNN file
    "Keras .json". instead : what to use, as a clause after "is gone: ".
    """

    kind: Kind
    name: str
    instead: str


RETIRED = (
    *(
        Retired(
            "suffix", suffix, "sympy's lambdify(..., modules=...) takes `trainlaw.load_formula().sympy()`"
        )
        for suffix in (".torch.py", ".jax.py", ".onnx", ".sql")
    ),
    Retired("suffix", ".gsheet.xlsx", "Google Sheets opens .xlsx"),
    Retired("suffix", ".gsheet.tsv", "Google Sheets opens .xlsx"),
    Retired("suffix", ".csv", "`trainlaw predict --cnn resnet50 --batch 64 --all-gpus --out FILE.csv`"),
    Retired("suffix", ".cjs", "export to .mjs, which Node loads by import()"),
    Retired("suffix", ".h", "export to .py or .mjs; --bare with .c writes a function of features"),
    *(
        Retired("program", suffix, "export to .py or .mjs; --bare writes a function of features")
        for suffix in (".js", ".c", ".R", ".jl")
    ),
    Retired("option", "export --prefix", "leave it out; C is written as a function of features"),
    Retired("page", "custom", "export to .py, or ask `trainlaw many-core`"),
    Retired("command", "data contribute", "check the file with `trainlaw data check` and share it"),
    Retired("formula", "medium", "name 4, 6, 8, 12 or law"),
    Retired("option", "profile --layers", "time layers with torch.profiler"),
    Retired("option", "profile --processes", "time several processes with torch.profiler"),
    Retired("option", "profile --nodes", "time several hosts with torch.profiler"),
    Retired("option", "profile --link", "time several GPUs with torch.profiler"),
    Retired("option", "data import --preview", "`data import` prints how each column is read"),
    Retired("option", "study --watch", "the line of progress says how far a search is"),
    Retired("option", "study --repeats", "the report has the shares in which searches keep each term"),
    Retired("study", "short-runs", "`trainlaw study` evolves a formula per number of constants"),
    Retired("option", "data import --yes", "leave it out: runs without a question are written"),
    Retired(
        "option", "suggest --simulate", "`python -m benchmarks.suggestion` of a checkout replays the choice"
    ),
)


def check_retired(kind: Kind, name: str) -> None:
    """Raise InputError for a name that is gone; the message names the replacement."""
    for row in RETIRED:
        if (row.kind, row.name) == (kind, name):
            from trainlaw.formulas.errors import InputError  # noqa: PLC0415 (loads numpy, `--help` does not)

            raise InputError(f"{kind} {name} is gone: {row.instead}")


def check_retired_words(words: Sequence[str]) -> None:
    """Raise InputError where the words after `trainlaw` ask for a command or an option that is gone.

    >>> check_retired_words(["predict", "--cnn", "resnet50"])
    """
    given = [word.partition("=")[0] for word in words]
    for row in RETIRED:
        *command, last = row.name.split()
        is_command = row.kind == "command" and given[: len(command) + 1] == [*command, last]
        is_option = row.kind == "option" and given[: len(command)] == command and last in given
        if is_command or is_option:
            check_retired(row.kind, row.name)
