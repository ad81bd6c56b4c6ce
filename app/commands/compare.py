"""`trainlaw compare`: two studies on the same rows, paired."""

from pathlib import Path
from typing import Annotated

import typer


def compare_command(
    first: Annotated[Path, typer.Argument(help="A run folder: A.", exists=True, file_okay=False)],
    second: Annotated[
        Path, typer.Argument(help="Another run folder, or the same: B.", exists=True, file_okay=False)
    ],
    estimators: Annotated[
        str,
        typer.Option(help="What to compare: one name for both, or those of A and B separated by a comma."),
    ] = "trainlaw",
    by: Annotated[
        str,
        typer.Option(
            help="Label whose groups are resampled for the interval: gpu_group, cnn_base, source, ..."
        ),
    ] = "gpu_group",
) -> None:
    """Compare the held-out errors of two studies on the rows that both held out.

    The difference B - A is paired: row by row, then per group, then the mean over groups, with the interval
    of a bootstrap over groups.

    \b
    Examples:
      trainlaw compare trainlaw-run trainlaw-run-2
      trainlaw compare trainlaw-run trainlaw-run --estimators trainlaw,cf9
      trainlaw compare trainlaw-run trainlaw-run-2 --by cnn_base
    """
    from trainlaw.app.studies.comparison import comparison_text, read_run
    from trainlaw.formulas import InputError

    names = [name.strip() for name in estimators.split(",")]
    if len(names) > 2 or not all(names):
        raise InputError(f"--estimators: expected one name, or two with a comma, got {estimators!r}")
    print(comparison_text(read_run(first), read_run(second), (names[0], names[-1]), by))
