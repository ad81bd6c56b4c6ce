"""`trainlaw features`: everything that a formula may be made of."""

from typing import Annotated

import typer


def features_command(
    search: Annotated[
        str, typer.Argument(help="Show only features whose name, meaning or definition contains this text.")
    ] = "",
    layers: Annotated[
        bool, typer.Option("--layers", help="Features of single layers instead of whole CNNs.")
    ] = False,
    brief: Annotated[bool, typer.Option("--brief", help="Omit the definitions.")] = False,
) -> None:
    """List the features: name, symbol, unit, meaning and definition.

    A star marks those that a study searches over; the others are available to baselines and to your own
    formulas. Python, workbook, page and exported code compute a feature from the definition printed here; one
    without a definition is a column of the runs, of the GPU, of the CNN or of the links.

    \b
    Examples:
      trainlaw features
      trainlaw features bandwidth
      trainlaw features --layers
    """
    from trainlaw.app.terminal.catalog import features_text

    print(features_text(search, layers, brief))
