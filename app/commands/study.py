"""`trainlaw study`: the main job, from measured runs to a formula and its honest error."""

from pathlib import Path
from typing import Annotated

import typer

_EXIT_INTERRUPTED = 130


def study_command(
    table: Annotated[
        str, typer.Argument(help="A built-in table (`trainlaw data list`) or a CSV file of your own runs.")
    ] = "default",
    into: Annotated[
        Path | None, typer.Option(help="Folder to write; default: trainlaw-run, or the next free number.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder if it is a run folder.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Same seed, data and version give the same formula.", min=0)] = 0,
    folds: Annotated[
        int,
        typer.Option(help="Parts into which the GPU groups are dealt; each part is held out once.", min=2),
    ] = 5,
    evaluations: Annotated[
        int | None, typer.Option(help="Formulas tried by each search; more takes longer.", min=100, max=10**9)
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that work at the same time.", min=1, max=64)] = 2,
) -> None:
    """Evolve a formula and measure its error on GPUs that it never saw.

    One search per fold holds out whole GPU groups and gives the error; one more search on all rows gives
    the formula.
    The run folder gets formula.json, front.csv, errors.csv, formula.xlsx, report.html and provenance.json.
    Ctrl-C stops early and keeps what was found.

    \b
    Examples:
      trainlaw study
      trainlaw study my-runs.csv --into my-run --seed 1
    """
    from trainlaw.app.interrupts import uninterrupted
    from trainlaw.app.progress import shown_progress
    from trainlaw.app.run_files import write_run_files
    from trainlaw.app.run_folder import check_target, free_run_folder, new_run_folder
    from trainlaw.app.run_tables import find_table
    from trainlaw.app.show_study import study_text
    from trainlaw.app.study import EVALUATIONS, StudyOptions, stopwatch, study_table

    runs = find_table(table)
    target = into or free_run_folder(Path.cwd())
    check_target(target, overwrite)
    elapsed = stopwatch()
    options = StudyOptions(seed, folds, evaluations or EVALUATIONS, workers)
    with shown_progress() as (on_start, on_fit):
        outcome = study_table(runs, options, on_start, on_fit)
    circumstances = {"command": "trainlaw study", "workers": workers, "seconds": round(elapsed(), 1)}
    with uninterrupted(), new_run_folder(target, overwrite) as folder:
        write_run_files(outcome, folder, circumstances)
    print(study_text(outcome, target, elapsed()))
    if outcome.missing:
        raise typer.Exit(_EXIT_INTERRUPTED)
