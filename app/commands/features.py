"""`trainlaw features`: everything that a formula may be made of."""

from typing import Annotated

import typer


def features_command(
    search: Annotated[
        str, typer.Argument(help="Show only features whose name or meaning contains this text.")
    ] = "",
) -> None:
    """List the features: name, symbol, unit, meaning.

    A star marks those that a study searches over; the others are known to rivals and to formulas of your own.

    \b
    Examples:
      trainlaw features
      trainlaw features bandwidth
    """
    from trainlaw.app.plain_tables import text_table
    from trainlaw.datasets import FEATURES, STUDY_FEATURES

    wanted = search.lower()
    specs = [feature.spec for feature in FEATURES.values()]
    rows = [
        ["*" if spec.name in STUDY_FEATURES else "", spec.name, spec.symbol, str(spec.unit), spec.meaning]
        for spec in specs
        if wanted in spec.name.lower() or wanted in spec.meaning.lower()
    ]
    print(
        text_table(["", "name", "symbol", "unit", "meaning"], rows, indent="")
        if rows
        else f"no feature contains {search!r}"
    )
