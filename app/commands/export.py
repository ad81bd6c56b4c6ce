"""`trainlaw export`: a formula as code, workbook, page or data."""

from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import FormulaName


def export_command(
    formula: FormulaName = None,
    to: Annotated[
        Path | None,
        typer.Option(
            help="File to write; its suffix chooses: .py .js .c .sql .tex .onnx .json .csv .xlsx .html; "
            ".gsheet.xlsx and .gsheet.tsv are for Google Sheets."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a formula in another form, chosen by the suffix of the file.

    \b
    Examples:
      trainlaw export --to formula.xlsx
      trainlaw export --to page.html
      trainlaw export trainlaw-run --to iteration_time.py
      trainlaw export xeon-phi-a --to many-cores.xlsx
    """
    from trainlaw.app.exports.formats import export_formula
    from trainlaw.app.models.user_formula import find_formula
    from trainlaw.formulas import InputError

    if to is None:
        raise InputError("expected --to FILE, such as --to formula.xlsx")
    found, origin = find_formula(formula, Path.cwd())
    export_formula(found, to, overwrite)
    print(f"{to} written from {origin}")
