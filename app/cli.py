"""The command line: one command per job; invalid input prints one line and exits with status 2."""

import atexit
import gc
import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from trainlaw.app.commands.parsing import CommandGroup, command_of, help_all, usage_text
from trainlaw.app.terminal.output import visible_output

_EXIT_INPUT = 2
# Python collects after 700 new objects, which takes a tenth of the time of importing pandas.
_OBJECTS_PER_COLLECTION = 500_000
# Commands that fit or measure; for the others, to start the threads of linear algebra is work for nothing.
_WITH_THREADS = {"study", "suggest", "calibrate", "compare", "profile", "use", "validate", "warmup"}
_EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class _CommandLine(CommandGroup):
    """Print what a user can cause as one line; anything else is our defect and keeps its traceback."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line; what it prints gives no orders to the terminal."""
        is_closed = sys.stdout is None
        with visible_output():
            if is_closed:
                _report("standard output is closed; redirect it to a file or to the null device")
                raise SystemExit(_EXIT_INPUT)
            return super().main(*arguments, **options)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the chosen command; one that is gone is refused with its replacement."""
        from trainlaw.app.inputs.retired import check_retired_words  # noqa: PLC0415

        check_retired_words(args)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options of `trainlaw` itself."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            _report(usage_text(error))
            raise click.exceptions.Exit(_EXIT_INPUT) from None

    def invoke(self, ctx: click.Context) -> object:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException) as error:
            is_help = isinstance(error, click.exceptions.NoArgsIsHelpError)
            if is_help or not isinstance(error, click.UsageError):
                raise
            _report(usage_text(error))
            raise click.exceptions.Exit(_EXIT_INPUT) from None
        except BrokenPipeError:
            # The reader of a pipe went away (`trainlaw cnn list | head`): nothing is wrong.
            sys.stderr.close()
            raise click.exceptions.Exit(0) from None
        except OSError as error:
            _report(f"{error.filename or 'file system'}: {error.strerror or error}")
            raise click.exceptions.Exit(_EXIT_INPUT) from None
        except KeyboardInterrupt as error:
            _report(str(error) or "interrupted; nothing was written")
            raise click.exceptions.Exit(_EXIT_INTERRUPTED) from None
        except Exception as error:
            from trainlaw.formulas.errors import TrainlawError  # noqa: PLC0415 (loads numpy)

            if not isinstance(error, TrainlawError):
                raise
            _report(str(error), error.longest_message)
            raise click.exceptions.Exit(_EXIT_INPUT) from None


def _report(text: str, longest: int | None = None) -> None:
    from trainlaw.formulas.errors import TrainlawError, cut_message  # noqa: PLC0415 (loads numpy)

    print(f"trainlaw: {cut_message(text, longest or TrainlawError.longest_message)}", file=sys.stderr)


_EXAMPLES = """\b
Examples:
  trainlaw study
  trainlaw predict --cnn resnet50 --gpu T4 --batch 64
  trainlaw cnn list
"""

# Names that options had before; they still work.
_FORMER_OPTIONS = {"to": "out", "into": "out", "cnns": "cnn", "input": "pixels"}

# The file of each command in `app/commands`, which has the function `NAME_command`, in the order of the help.
_COMMANDS = {
    "study": "studies",
    "suggest": "suggest",
    "calibrate": "calibration",
    "compare": "studies",
    "predict": "predictions",
    "predict-from-profile": "predictions",
    "profile": "profile",
    "many-core": "predictions",
    "scaling": "predictions",
    "schedule": "predictions",
    "plan": "plan",
    "show": "formulas",
    "export": "formulas",
    "use": "formulas",
    "validate": "studies",
    "features": "catalogs",
    "warmup": "studies",
}
# Those that few people need, which --help-all lists.
_RARE = ("use", "features", "warmup")
# Likewise the commands that hold others, `NAME_app`.
_GROUPS = {"data": "data", "gpus": "catalogs", "cnn": "catalogs"}


def _print_completion(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from click.shell_completion import get_completion_class  # noqa: PLC0415 (for `--help` to come at once)

        shell = Path(os.environ.get("SHELL", "bash")).name
        completion = get_completion_class(shell)
        if completion is None:
            raise click.ClickException(f"expected the shell bash, zsh or fish in SHELL, got {shell}")
        print(completion(context.command, {}, "trainlaw", "_TRAINLAW_COMPLETE").source())
        context.exit()


_HELP = """Formulas for the time of a CNN training iteration, fitted to measured runs.

Start with `trainlaw study`: it takes the built-in measurements, evolves a formula, measures its error
on held-out GPUs, and writes a folder with the formula, a workbook and a report. Then use
`trainlaw predict`.
"""


_COMPLETION = click.Option(
    ["--show-completion"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_completion,
    help="Print the script that completes commands in your shell.",
)


@cache
def command_line(names: Iterable[str] = (*_COMMANDS, *_GROUPS)) -> click.Group:
    """Return the command line with the commands of these names; each loads what it needs."""
    found = _CommandLine(
        _HELP,
        name="trainlaw",
        params=[help_all(), _COMPLETION],
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": 100,
            "token_normalize_func": lambda name: _FORMER_OPTIONS.get(name, name),
        },
        epilog=_EXAMPLES,
    )
    version = {"message": "trainlaw %(version)s", "help": "Print the version and exit."}
    click.version_option(package_name="trainlaw", **version)(found)
    for name in names:
        home = import_module(f"trainlaw.app.commands.{_COMMANDS.get(name) or _GROUPS[name]}")
        if name in _GROUPS:
            made = getattr(home, f"{name}_app")
        else:
            made = command_of(getattr(home, f"{name.replace('-', '_')}_command"), name)
        made.hidden = name in _RARE
        found.add_command(made, name)
    return found


def __getattr__(name: str) -> click.Group:
    """Return `app`, the command line with every command."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return command_line()


def main() -> None:
    """Run the command line and exit: 0 done, 2 invalid input (one line on stderr), 130 interrupted."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    first = [name for name in sys.argv[1:2] if name in (*_COMMANDS, *_GROUPS)]
    if not _WITH_THREADS.issuperset(first):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # The interpreter collects when it ends; nothing is left that needs it, and pandas makes it slow.
    atexit.register(gc.freeze)
    # To build every command would take a tenth of the time of a short one.
    command_line(tuple(first) or (*_COMMANDS, *_GROUPS))(prog_name="trainlaw")
