"""`trainlaw study`: the main job, from measured runs to a formula and its honest error."""

from pathlib import Path
from typing import Annotated

import typer


def study(
    table: Annotated[
        str, typer.Argument(help="A built-in table (`trainlaw data list`) or a CSV file of your own runs.")
    ] = "default",
    into: Annotated[
        Path | None, typer.Option(help="Folder to write; default: trainlaw-run, or the next free number.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder if it is a run folder.")] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same data, same version: same formula.", min=0)] = 0,
    folds: Annotated[int, typer.Option(help="Parts into which the GPU groups are dealt; each is held out once.", min=2)] = 5,
    evaluations: Annotated[
        int, typer.Option(help="Formulas tried by each of the searches; more takes longer.", min=100)
    ] = 0,
    workers: Annotated[int, typer.Option(help="Processes that search at the same time.", min=1, max=64)] = 2,
) -> None:
    """Evolve a formula and measure its error on GPUs that it never saw.

    One search per fold holds out whole GPU groups and gives the error; one more search on all rows gives the formula.
    The run folder gets formula.json, front.csv, errors.csv, formula.xlsx, report.html and provenance.json.
    Ctrl-C stops early and keeps what was found.

    Examples:  trainlaw study  |  trainlaw study my-runs.csv --into my-run --seed 1
    """
