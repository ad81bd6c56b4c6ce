"""`trainlaw study`: fit a formula to measured runs and estimate its held-out error."""

from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import CnnFiles, GpuFile

_EXIT_INTERRUPTED = 130
_SPLIT_HELP = (
    "What is held out: gpu-folds (default), cnn-folds, gpu (leave-one-gpu-out), gpu-5-fold, cnn, cnn-family, "
    "both, source, harness, generation, threads, newest, or list with --held-out."
)


def study_command(
    table: Annotated[
        str | None,
        typer.Argument(
            help="A built-in table (`trainlaw data list`) or a file of your own runs; default: default."
        ),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Folder to write; default: trainlaw-run, or the next free number.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder if it is a run folder.")
    ] = False,
    definition: Annotated[
        Path | None, typer.Option(help="TOML file that defines the study; options take precedence over it.")
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            help="What to model: runs (default); layers, summed over each CNN; multi (several GPUs, from the "
            "time on one); multi-end-to-end (several GPUs, from specifications alone); layer-times (layers "
            "measured one by one); anchor (one GPU from a profile on another)."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Random seed; the same seed, data and version give the same formula.", min=0),
    ] = None,
    split: Annotated[str | None, typer.Option(help=_SPLIT_HELP)] = None,
    folds: Annotated[
        int | None,
        typer.Option(help="Number of parts of the groups; each part is held out once.", min=2),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(help="TOML file that lists what is held out; see docs/studies.md."),
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(help="Formulas tried by each search.", min=100, max=10**9)
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Baselines on the same splits: all, or names separated by commas.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Errors from platform to platform: harness, framework, precision, vendor, generation, "
            "source, device; several separated by commas."
        ),
    ] = None,
    search_by_platform: Annotated[
        bool, typer.Option("--search-by-platform", help="With --by: also rerun the search on each platform.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(help="Further searches with other seeds, for the selection frequency of terms.", min=0),
    ] = None,
    rates: Annotated[
        Path | None, typer.Option(help="CSV or JSON file of achieved rates of GPUs, for calibration level 1.")
    ] = None,
    gpu_file: GpuFile = None,
    cnn_file: CnnFiles = None,
    workers: Annotated[int, typer.Option(help="Number of worker processes.", min=1, max=64)] = 2,
) -> None:
    """Evolve a formula and measure its error on held-out GPUs.

    One search per fold holds out whole GPU groups and gives the error; one more search on all rows gives
    the formula.
    The run folder gets formula.json, front.csv, errors.csv, predictions.csv, study.toml, formula.xlsx,
    report.html and provenance.json. Ctrl-C stops early and keeps the results so far.

    \b
    Examples:
      trainlaw study
      trainlaw study my-runs.csv --into my-run --seed 1
      trainlaw study runs.csv --gpu-file runs-machine.csv --split cnn
      trainlaw study --against all --split newest
      trainlaw study --of layers
      trainlaw study --of multi --split source
      trainlaw study --by harness,framework
      trainlaw study --definition trainlaw-run/study.toml --seed 1
    """
    from trainlaw.app.inputs.run_folder import check_target, free_run_folder, new_run_folder
    from trainlaw.app.report.run_files import write_run_files
    from trainlaw.app.studies.definition import asked_definition, read_study_table
    from trainlaw.app.studies.search import uninterrupted
    from trainlaw.app.studies.study import stopwatch, study_table
    from trainlaw.app.terminal.study import shown_progress, study_text

    options = {
        "table": table, "of": of, "seed": seed, "split": split, "folds": folds, "held_out": held_out,
        "evaluations": evaluations, "against": against, "by": by, "repeats": repeats, "rates": rates,
        "search_by_platform": search_by_platform or None, "gpu_file": gpu_file, "cnn_file": cnn_file,
    }  # fmt: skip
    wanted = asked_definition(definition, options)
    runs = read_study_table(wanted)
    target = into or free_run_folder(Path.cwd())
    check_target(target, overwrite)
    elapsed = stopwatch()
    with shown_progress() as (on_start, on_fit):
        outcome = study_table(runs, wanted, workers, on_start, on_fit)
    circumstances = {"command": "trainlaw study", "workers": workers, "seconds": round(elapsed(), 1)}
    with uninterrupted(), new_run_folder(target, overwrite) as folder:
        write_run_files(outcome, folder, circumstances)
    print(study_text(outcome, target, elapsed()))
    if outcome.missing:
        raise typer.Exit(_EXIT_INTERRUPTED)
