"""An import as text: the reading of each column, the questions, and the command that answers them."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import click
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
# Options of `calibrate` that are those of `data import`.
_OF_CALIBRATE = ("--set", "--unit", "--precision", "--columns-are", "--gpu-file", "--cnn-file", "--trust")
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
    options = list(given)
    for answer in (tuple(issue.answer) for issue in issues if issue.answer):
        known = [place for place, option in enumerate(options) if option[0] == answer[0]]
        if answer in options:
            continue
        if known and answer[0] == "--skip-rows":
            rows = dict.fromkeys([*options[known[0]][1].split(","), *answer[1].split(",")])
            options[known[0]] = (answer[0], ",".join(rows))
        elif known and answer[0] in _ONCE:
            options[known[0]] = answer
        else:
            options.append(answer)
    return shlex.join(["trainlaw", "data", "import", file, *chain.from_iterable(options)])


def _given_options() -> list[tuple[str, ...]]:
    """Return the options of the running command that `data import` takes, too, with their values."""
    context, found = click.get_current_context(), list[tuple[str, ...]]()
    for each in context.command.params:
        value, name = context.params.get(str(each.name)), each.opts[0]
        is_import = context.command.name == "import" or name in _OF_CALIBRATE
        if isinstance(each, click.Option) and is_import and value not in (None, (), False):
            for one in value if each.multiple else (value,):
                found.append((name,) if each.is_flag else (name, str(one)))
    return found


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
) -> RunTable:
    """Print how a table is read, and return its runs; InputError with the command where something is open."""

    def read(answers: SheetAnswers, *table: tuple[str, ...]) -> tuple[Imported, str]:
        made = checked_times(imported(file, answers, gpu_file, cnn_files), answers)
        return made, rerun_command(str(file), [*_given_options(), *table], made.issues)

    made, command = read(answers)
    print(columns_text(made))
    if made.issues:
        print(issues_text(made.issues))
        tables = [option for issue in made.issues for option in issue.options if option[0] in _ONE_TABLE]
        # Each table of a file has other questions.
        commands = [
            read(replace(answers, **_ONE_TABLE[option[0]](option[1])), tuple(option))[1]
            for option in tables[:_MOST_TABLES]
        ]
        for text in commands:
            print(f"\none of the tables: {text}")
        error = InputError(number_of_issues(made, commands[0] if commands else command))
        error.longest_message = 10_000  # a command to run is not cut
        raise error
    if made.table is None:
        raise InputError(f"{file}: no row is a run")
    return made.table
