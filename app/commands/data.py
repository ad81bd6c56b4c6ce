"""`trainlaw data`: the tables of measured runs that are built in, and your own."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Look at built-in tables of measured runs; check and import your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_tables() -> None:
    """List the built-in tables.

    \b
    Example:
      trainlaw data list
    """
    from trainlaw.app.plain_tables import text_table
    from trainlaw.datasets import DATASETS

    rows = [[name, dataset.title] for name, dataset in DATASETS.items()]
    print(text_table(["name", "what it is"], rows, indent=""))


@app.command("show")
def show_table(name: Annotated[str, typer.Argument(help="Name of a built-in table.")]) -> None:
    """Show what a built-in table holds, where it comes from, and what to beware of.

    \b
    Example:
      trainlaw data show default
    """
    from trainlaw.app.show_table import table_text

    print(table_text(name))


Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", help="Where a column of yours has another name: OURS=YOURS, such as time_s=latency_ms."
    ),
]


@app.command("check")
def check_file(
    file: Annotated[Path, typer.Argument(help="CSV file of measured runs.")], column: Columns = None
) -> None:
    """Check a file of your own runs: one line per fault, with row, column, value and what was expected.

    \b
    Examples:
      trainlaw data check my-runs.csv
      trainlaw data check my-runs.csv --column time_s=latency_ms
    """
    from trainlaw.app.run_tables import columns_of_options
    from trainlaw.datasets.importing import check_runs
    from trainlaw.formulas import InputError

    faults = check_runs(file, columns_of_options(column))
    for fault in faults:
        print(fault)
    if faults:
        number = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise InputError(f"{file}: {number}; correct the file and check again")
    print(f"{file}: no fault; next: trainlaw study {file}")


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="CSV file of measured runs.")],
    to: Annotated[
        Path | None, typer.Option(help="CSV file to write; default: the name of FILE with -imported.csv.")
    ] = None,
    column: Columns = None,
) -> None:
    """Rewrite your own runs in trainlaw's columns and units, with our names of GPUs and CNNs.

    \b
    Example:
      trainlaw data import my-runs.csv --column time_s=latency_ms --to runs.csv
    """
    from trainlaw.app.run_tables import columns_of_options, write_table
    from trainlaw.datasets.importing import import_runs

    table = import_runs(file, columns_of_options(column))
    target = to or file.with_name(f"{file.stem}-imported.csv")
    write_table(table, target)
    print(f"{target}: {len(table):,} runs; next: trainlaw study {target}")
