"""Options that several commands have, each written once."""

from pathlib import Path
from typing import Annotated

import typer

Pixels = Annotated[
    int | None, typer.Option(help="Height and width of an image; default: the CNN's own.", min=1)
]
Link = Annotated[
    str | None, typer.Option(help="What joins the GPUs of a node; default: the card's own link.")
]
Fabric = Annotated[
    str | None,
    typer.Option("--fabric", "--network", help="What joins the nodes; default: ethernet-10g."),
]
FormulaFile = Annotated[
    Path | None,
    typer.Option(help="formula.json or run folder; default: the newest run here, else the built-in one."),
]
FormulaName = Annotated[
    Path | None,
    typer.Argument(
        help="formula.json, run folder or built-in name; default: the newest run here, else built-in."
    ),
]
Law = Annotated[
    str | None,
    typer.Option(
        help="Law of several GPUs: multi (built in, default), textbook, or the formula.json or run folder of "
        "`trainlaw study --of multi`."
    ),
]
Out = Annotated[Path | None, typer.Option(help="File to write instead of printing; never replaces one.")]
