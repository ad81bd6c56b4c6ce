"""The command line: one command per job; invalid input prints one line and exits with status 2."""

import atexit
import gc
import os
import sys
from typing import Annotated, Any

import typer
from trainlaw.app.commands import (
    calibration,
    catalogs,
    data,
    formulas,
    plan,
    predictions,
    profile,
    studies,
    suggest,
)
from trainlaw.app.terminal.output import visible_output
from typer.core import TyperGroup

_EXIT_INPUT = 2
# Python collects after 700 new objects, which takes a tenth of the time of importing pandas.
_OBJECTS_PER_COLLECTION = 500_000
# Commands that fit or search; for the others, to start the threads of linear algebra is work for nothing.
_COMMANDS_WITH_FITS = {"study", "suggest", "calibrate", "compare", "use", "validate", "warmup"}
_EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class _Commands(TyperGroup):
    """Print what a user can cause as one line; anything else is our defect and keeps its traceback."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line; what it prints gives no orders to the terminal."""
        is_closed = sys.stdout is None
        with visible_output():
            if is_closed:
                _report("standard output is closed; redirect it to a file or to the null device")
                raise SystemExit(_EXIT_INPUT)
            return super().main(*arguments, **options)

    def invoke(self, ctx: Any) -> object:  # the context class differs between releases of typer
        """Run the chosen command."""
        from trainlaw.formulas.errors import TrainlawError  # noqa: PLC0415 (loads numpy, `--help` does not)

        try:
            return super().invoke(ctx)
        except TrainlawError as error:
            _report(str(error), error.longest_message)
            raise typer.Exit(_EXIT_INPUT) from None
        except BrokenPipeError:
            # The reader of a pipe went away (`trainlaw cnn list | head`): nothing is wrong.
            sys.stderr.close()
            raise typer.Exit(0) from None
        except OSError as error:
            _report(f"{error.filename or 'file system'}: {error.strerror or error}")
            raise typer.Exit(_EXIT_INPUT) from None
        except KeyboardInterrupt:
            _report("interrupted; nothing was written")
            raise typer.Exit(_EXIT_INTERRUPTED) from None


def _report(text: str, longest: int = 400) -> None:
    from trainlaw.formulas.errors import cut_message  # noqa: PLC0415 (loads numpy)

    print(f"trainlaw: {cut_message(text, longest)}", file=sys.stderr)


_EXAMPLES = """\b
Examples:
  trainlaw study
  trainlaw predict --cnn resnet50 --gpu T4 --batch 64
  trainlaw cnn list
"""

# Names that options had before; they still work.
_FORMER_OPTIONS = {"to": "out", "into": "out", "cnns": "cnn", "input": "pixels"}

app = typer.Typer(
    cls=_Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "token_normalize_func": lambda name: _FORMER_OPTIONS.get(name, name),
    },
    epilog=_EXAMPLES,
)
app.command("study")(studies.study_command)
app.command("suggest")(suggest.suggest_command)
app.command("calibrate")(calibration.calibrate_command)
app.command("compare")(studies.compare_command)
app.command("predict")(predictions.predict_command)
app.command("predict-from-profile")(predictions.predict_from_profile_command)
app.command("profile")(profile.profile_command)
app.command("many-core")(predictions.many_core_command)
app.command("scaling")(predictions.scaling_command)
app.command("schedule")(predictions.schedule_command)
app.command("plan")(plan.plan_command)
app.command("show")(formulas.show_command)
app.command("export")(formulas.export_command)
app.command("use")(formulas.use_command)
app.command("validate")(studies.validate_command)
app.add_typer(data.app, name="data")
app.add_typer(catalogs.gpus_app, name="gpus")
app.add_typer(catalogs.cnns_app, name="cnn")
app.command("features")(catalogs.features_command)
app.command("warmup")(studies.warmup_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 (for `--help` to come at once)

        print(f"trainlaw {version('trainlaw')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Formulas for the time of a CNN training iteration, fitted to measured runs.

    Start with `trainlaw study`: it takes the built-in measurements, evolves a formula, measures its error
    on held-out GPUs, and writes a folder with the formula, a workbook and a report. Then use
    `trainlaw predict`.
    """


def main() -> None:
    """Run the command line and exit: 0 done, 2 invalid input (one line on stderr), 130 interrupted."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    if not _COMMANDS_WITH_FITS.intersection(sys.argv):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # The interpreter collects when it ends; nothing is left that needs it, and pandas makes it slow.
    atexit.register(gc.freeze)
    app(prog_name="trainlaw")
