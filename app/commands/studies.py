"""`trainlaw study`, `compare` and `validate`: fit formulas to measured runs and estimate held-out errors."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trainlaw.app.commands.options import Cluster, Json, Trust, refuse
from trainlaw.app.commands.parsing import GivenOptions
from trainlaw.app.inputs.declared import argument, flag, option
from trainlaw.app.inputs.study_definition import StudyDefinition

if TYPE_CHECKING:
    from trainlaw.app.inputs.run_folder import StudyPlace
    from trainlaw.app.studies.result import StudyOutcome
    from trainlaw.datasets.tables.measured_table import MeasuredTable

_EXIT_INTERRUPTED = 130
# What an evaluation depends on; its searches have no budget.
_OF_VALIDATION = ("table", "of", "split", "folds", "seed", "against", "gpu_file", "cnn_file")


def study_command(
    *,
    asked: Annotated[Mapping[str, object], GivenOptions(StudyDefinition)],
    into: Path | None = option("Folder to write; default: trainlaw-run, or the next free number.", "--out"),
    overwrite: bool = flag("Replace the folder if it is a run folder.", "--overwrite"),
    definition: Path | None = option("TOML file that defines the study; options take precedence over it."),
    trust: Trust = False,
    workers: int = option("Number of worker processes.", default=2, min=1, max=64),
    cluster: Cluster = "",
    resume: bool = flag("Only continue an unfinished study; an error if there is none.", "--resume"),
    figures: Path | None = option(
        "Folder for the figures (SVG, PDF) and tables (CSV, LaTeX) of a paper.", "--figures"
    ),
) -> None:
    """Evolve formulas of few constants, fit the law, and measure their errors on held-out GPUs.

    Searches per fold hold out whole GPU groups and give the errors, of evolved formulas and of the controls
    that they have to beat; one more on all rows gives the formulas. The run folder gets formula.json, the
    most accurate one; front.csv and the folder front, a formula per number of constants; errors.csv,
    predictions.csv, study.toml, formula.xlsx, report.html and provenance.json. Ctrl-C, SIGTERM and SIGHUP
    stop early and keep the results so far.

    Every finished search is written to disk at once: after an interruption or a crash, the same command
    continues and ends with the same files, byte for byte.
    """
    from trainlaw.app.inputs.run_folder import study_place
    from trainlaw.app.studies.definition import asked_definition, read_study_table, study_identity
    from trainlaw.app.studies.processes import interruptible

    wanted = asked_definition(definition, asked)
    runs = read_study_table(wanted, trust)
    study = study_identity(wanted, runs)
    with interruptible(), study_place(into, study, overwrite=overwrite, resume=resume) as place:
        outcome = _run_study(runs, wanted, (workers, cluster), place, study)
    if figures is not None:
        from trainlaw.app.report.figures import write_figures

        print(write_figures(outcome, figures))


def _run_study(
    runs: "MeasuredTable",
    wanted: StudyDefinition,
    workplace: tuple[int, str],
    place: "StudyPlace",
    study: str,
) -> "StudyOutcome":
    """Search, or continue, and write the run folder; the journal is removed once nothing is missing.

    workplace : number of processes, and a cluster to use instead, or "".
    """
    from trainlaw.app.inputs.run_folder import new_run_folder
    from trainlaw.app.report.run_files import write_run_files
    from trainlaw.app.studies.processes import uninterrupted
    from trainlaw.app.studies.study import study_table
    from trainlaw.app.terminal.progress import shown_progress
    from trainlaw.app.terminal.study import print_kept, print_resumed, study_text
    from trainlaw.validate.journal import Journal

    began = time.monotonic()
    workers, cluster = workplace
    journal = Journal(place.journal, study)
    print_resumed(journal, place)
    try:
        with shown_progress() as on_fit:
            outcome = study_table(runs, wanted, workers, on_fit, journal=journal, cluster=cluster)
        seconds = round(time.monotonic() - began, 1)
        circumstances = {"command": "trainlaw study", "workers": cluster or workers, "seconds": seconds}
        with ExitStack() as stack:
            folder = stack.enter_context(new_run_folder(place.target, place.may_replace, place.working))
            write_run_files(outcome, folder, circumstances)
            # A signal between the two would call a finished study unfinished.
            with uninterrupted():
                stack.close()
                if not outcome.missing:
                    journal.remove()
    except KeyboardInterrupt:
        print_kept(journal)
        raise SystemExit(_EXIT_INTERRUPTED) from None
    finally:
        if not len(journal):
            journal.remove()
    print(study_text(outcome, place.target, time.monotonic() - began))
    if outcome.definition.of != wanted.of:
        free = f"searched as with --of {outcome.definition.of}"
        print(f"note: some runs lack what the formula of --of {wanted.of} needs, such as a CPU's: {free}")
    if outcome.missing:
        print_kept(journal)
        raise SystemExit(_EXIT_INTERRUPTED)
    return outcome


def compare_command(
    first: Path = argument("A run folder: A.", default=..., file="folder"),
    second: Path = argument("Another run folder, or the same: B.", default=..., file="folder"),
    estimators: str = option(
        "Estimators to compare: one name for both, or those of A and B separated by a comma.",
        default="trainlaw",
    ),
    by: str = option(
        "Label whose groups are resampled for the interval: gpu_group, cnn_base, source, ...",
        default="gpu_group",
    ),
    as_json: Json = False,
) -> None:
    """Compare the errors of two studies on the rows that both held out, and their fronts side by side.

    The difference B - A is taken row by row, then averaged per group and over groups, with an interval by a
    bootstrap over groups.
    """
    from trainlaw.app.terminal.comparison import comparison_json, comparison_text, fronts_text, read_run
    from trainlaw.app.terminal.output import print_fitted

    names = [name.strip() for name in estimators.split(",")]
    if len(names) > 2 or not all(names):
        refuse(f"--estimators: expected one name, or two with a comma, got {estimators!r}")
    runs, pair = (read_run(first), read_run(second)), (names[0], names[-1])
    if as_json:
        print(comparison_json(*runs, pair, by))
        return
    print_fitted(comparison_text(*runs, pair, by))
    print(fronts_text(first, second))


def validate_command(
    *,
    formula: str = option(
        "Formula of the time in seconds, of features or short names; a formula.json; or built-in.",
        default=...,
    ),
    asked: Annotated[Mapping[str, object], GivenOptions(StudyDefinition, _OF_VALIDATION)],
    refit: bool = flag("Fit the constants again in each fold.", "--refit"),
    trust: Trust = False,
    into: Path | None = option(
        "Folder to write, as `trainlaw study` does: report, workbook, errors.csv, ...", "--out"
    ),
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Evaluate your own formula: held-out errors per architecture, with those of null model and roofline.

    Short names: batch, peak, bandwidth, activations, conv_outputs, im2col, parameters, weights, layers,
    convs, bytes, sms, cores; all others as listed by `trainlaw features`. Functions: sqrt, cbrt, square,
    cube, exp, log, min, max, abs, tanh, ...
    """
    from trainlaw.app.inputs.run_folder import check_target, new_run_folder
    from trainlaw.app.models.coverage import in_sample_warning
    from trainlaw.app.models.user_formula import read_formula, unit_fault
    from trainlaw.app.report.run_files import write_run_files
    from trainlaw.app.studies.definition import asked_definition, read_study_table
    from trainlaw.app.studies.kinds import STUDY_KINDS
    from trainlaw.app.studies.study import score_formula
    from trainlaw.app.terminal.as_json import formula_json
    from trainlaw.app.terminal.formula import equation_text, errors_text, symbols_text
    from trainlaw.app.terminal.output import print_fitted
    from trainlaw.app.terminal.progress import shown_fits
    from trainlaw.formulas.errors import check_name

    kind = str(asked.get("of", "runs"))
    check_name("kind of study", kind, STUDY_KINDS)
    law = read_formula(formula, STUDY_KINDS[kind].scope)
    if into is not None:
        check_target(into, False)
    wanted = asked_definition(None, {"against": "null_compute,roofline", **asked}, "validate")
    with shown_fits() as on_fit:
        runs = read_study_table(wanted, trust)
        outcome = score_formula(law, runs, wanted, refit, on_fit, cluster=cluster)
    scored, fault = outcome.formula, unit_fault(law)
    warnings = in_sample_warning(law, runs)
    warnings += [f"warning: units do not agree: {fault}", ""] if fault else []
    parts = [equation_text(scored), "", *warnings]
    parts += [symbols_text(scored), "", errors_text(scored, "your formula")]
    parts += [f"not compared: {name} ({remedy})" for name, remedy in outcome.absent.items()]
    if into is not None:
        with new_run_folder(into, False) as folder:
            write_run_files(outcome, folder, {"command": "trainlaw validate"})
        parts += ["", f"{into}: formula.json, errors.csv, report.html, formula.xlsx and more"]
    if as_json:
        said = [line.removeprefix("warning: ") for line in warnings if line]
        print(formula_json(scored, formula, warnings=said, not_compared=dict(outcome.absent)))
        return
    print_fitted("\n".join(parts))


def warmup_command() -> None:
    """Compile the search engine now, so that no later command waits for it.

    Compiled code is kept for this version, processor and user: in NUMBA_CACHE_DIR, next to the source, or in
    the user's cache.
    """
    from trainlaw.evolve.front.search import compile_front
    from trainlaw.evolve.regressor import compile_machine

    print(f"compiled code is ready ({compile_machine() + compile_front():.1f} s)")
