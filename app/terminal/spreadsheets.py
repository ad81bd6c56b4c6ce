"""An import as text: the reading of each column, the questions, and the command that answers them."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from trainlaw.app.inputs.spreadsheets import imported
from trainlaw.app.models.plausibility import checked_times
from trainlaw.app.terminal.output import TABLES
from trainlaw.app.text.tables import Table, fitted_lines
from trainlaw.datasets import RunTable
from trainlaw.datasets.spreadsheets.answers import CHOICE, Issue, SheetAnswers
from trainlaw.datasets.spreadsheets.cells import OF_FLAG
from trainlaw.datasets.spreadsheets.conversion import Imported
from trainlaw.datasets.spreadsheets.headings import FLAG
from trainlaw.formulas import InputError

_MOST_OF_A_KIND = 25
_ONCE = ("--unit", "--decimal", "--batch-is", "--precision", "--sheet", "--table", "--range", "--columns-are")
# What says which table of a file is read, as an answer.
_ONE_TABLE: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "--table": lambda text: {"table": int(text)},
    "--range": lambda text: {"area": text},
    "--sheet": lambda text: {"sheet": text},
}
_MOST_TABLES = 6
_OURS = TABLES["import_columns"] | {f"{FLAG}{flag}": ours for flag, ours in OF_FLAG.items()}


def columns_text(made: Imported) -> str:
    """Return how the columns were read, and what was not."""
    rows = [
        [one.heading, _OURS.get(one.target, one.target), one.unit.text if one.unit else "", one.first]
        for one in made.columns
    ]
    number = "1 run" if len(made.rows) == 1 else f"{len(made.rows):,} runs"
    lines = [f"{made.name}: {number} read"]
    lines += ["", Table.of(["your column", "is", "unit", "first value"], rows).text()]
    return fitted_lines("\n".join([*lines, *(f"note: {note}" for note in made.notes)]))


def issues_text(issues: Sequence[Issue]) -> str:
    """Return the issues by kind, with rows and the options that answer each."""
    lines: list[str] = []
    for kind, title in TABLES["issues"].items():
        of_kind = [issue for issue in issues if issue.kind == kind]
        if of_kind:
            lines += ["", f"{title} ({len(of_kind)})"]
        for issue in of_kind[:_MOST_OF_A_KIND]:
            where = f" [{issue.where}; {len(issue.rows)} in all]" if len(issue.rows) > 1 else ""
            where = f" [{issue.where}]" if len(issue.rows) == 1 else where
            lines.append(fitted_lines(f"  - {issue.text}{where}"))
            if issue.options:
                shown = (option for option in issue.options if option[-1] != CHOICE)
                lines.append("      " + " | ".join(map(shlex.join, shown)))
        if len(of_kind) > _MOST_OF_A_KIND:
            lines.append(f"  - and {len(of_kind) - _MOST_OF_A_KIND} more")
    return "\n".join(lines)


def rerun_command(file: str, given: Sequence[tuple[str, ...]], issues: Sequence[Issue]) -> str:
    """Return the command that reads a file when all that can be answered by options is answered.

    given : options that the user gave already, with their values.
    """
    words = list(given)
    for answer in (tuple(issue.answer) for issue in issues):
        known = [place for place, option in enumerate(words) if answer[:1] == option[:1]]
        if not answer or answer in words:
            continue
        if known and answer[0] == "--skip-rows":
            rows = dict.fromkeys([*words[known[0]][1].split(","), *answer[1].split(",")])
            words[known[0]] = (answer[0], ",".join(rows))
        elif known and answer[0] in _ONCE:
            words[known[0]] = answer
        else:
            words.append(answer)
    return shlex.join(["trainlaw", "data", "import", file, *chain.from_iterable(words)])


def given_options(answers: SheetAnswers, others: Sequence[tuple[str, object]]) -> list[tuple[str, ...]]:
    """Return the options that give these answers, and others by name where they have a value."""
    constants = answers.constants.items()
    options = [
        *others,
        *(("--column", f"{ours}={theirs}") for ours, theirs in answers.columns.items()),
        *(("--value", f"{column}:{text}={value}") for (column, text), value in answers.values.items()),
        *((("--precision", v) if ours == "precision" else ("--set", f"{ours}={v}")) for ours, v in constants),
        *(("--only", f"{column}={value}") for column, value in answers.only),
        *(("--ignore", name) for name in answers.ignored),
        ("--unit", answers.unit),
        ("--batch-is", answers.batch_is),
        ("--decimal", answers.decimal),
        ("--sheet", answers.sheet),
        ("--table", answers.table),
        ("--range", answers.area),
        ("--columns-are", ",".join(answers.columns_are)),
        ("--sheets-are", answers.sheets_are),
        ("--skip-rows", ",".join(answers.skipped_rows)),
        ("--skip-unmeasured", answers.skip_unmeasured),
        ("--fill-down", answers.fill_down),
        ("--trust", answers.trust),
    ]
    return [(name,) if value is True else (name, str(value)) for name, value in options if value]


def number_of_issues(made: Imported, command: str) -> str:
    """Return what is left to do in one line, with the command to run."""
    number = "1 question or fault" if len(made.issues) == 1 else f"{len(made.issues)} questions or faults"
    choice = f" (replace each {CHOICE})" if CHOICE in command else ""
    faults = [issue for issue in made.issues if not issue.options]
    if faults and len(faults) == len(made.issues):
        trust = ", or add --trust if the times are right" if faults[-1].kind == "times" else ""
        return f"{made.name}: {number}; correct the file and import it again{trust}"
    first = "correct the file where no option is shown, and run" if faults else "run"
    return f"{made.name}: {number}; {first}{choice}: {command}"


def imported_runs(
    file: Path,
    answers: SheetAnswers,
    gpu_file: Path | None = None,
    cnn_files: Sequence[Path] | None = None,
    others: Sequence[tuple[str, object]] = (),
) -> RunTable:
    """Print how a table is read, and return its runs; InputError with the command where something is open.

    others : further options of the command and their values.
    """
    files: list[tuple[str, object]] = [
        ("--gpu-file", gpu_file),
        *(("--cnn-file", path) for path in cnn_files or ()),
    ]

    def read(answers: SheetAnswers) -> tuple[Imported, str]:
        made = checked_times(imported(file, answers, gpu_file, cnn_files), answers)
        return made, rerun_command(str(file), given_options(answers, [*others, *files]), made.issues)

    made, command = read(answers)
    print(columns_text(made))
    if made.issues:
        print(issues_text(made.issues))
        tables = [option for issue in made.issues for option in issue.options if option[0] in _ONE_TABLE]
        # Each table of a file has other questions.
        commands = [
            read(replace(answers, **_ONE_TABLE[name](text)))[1] for name, text in tables[:_MOST_TABLES]
        ]
        for text in commands:
            print(f"\none of the tables: {text}")
        error = InputError(number_of_issues(made, commands[0] if commands else command))
        error.longest_message = 10_000  # a command to run is not cut
        raise error
    if made.table is None:
        raise InputError(f"{file}: no row is a run")
    return made.table
