"""The table of a file that is read: one of a sheet, or one of each sheet."""

from pathlib import Path

from trainlaw.datasets.files.grids import read_grids
from trainlaw.datasets.spreadsheets.answers import SheetAnswers, choices
from trainlaw.datasets.spreadsheets.columns import check_named, left_half
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.known_names import Names
from trainlaw.datasets.spreadsheets.layout import PIVOTS, SheetTable, find_tables, likely_pivot, sheets_of
from trainlaw.datasets.spreadsheets.rows import Dialogue
from trainlaw.formulas.errors import InputError, check_name, shown


def tables_of(path: Path, dialogue: Dialogue) -> list[SheetTable]:
    """Return the table that is read, or one of each sheet; ask which where several may be meant."""
    answers, names = dialogue.answers, dialogue.names
    for kind in (*answers.columns_are, *filter(None, (answers.sheets_are,))):
        check_name("column", kind, PIVOTS)
    grids = sheets_of(read_grids(path), answers)
    found = {sheet: find_tables(sheet, grid, answers, names) for sheet, grid in grids.items()}
    found = {sheet: tables for sheet, tables in found.items() if tables}
    if not found or not any(
        _is_table(table, answers, names) for tables in found.values() for table in tables
    ):
        first = next((row for grid in grids.values() for row in grid.rows if any(row)), ())
        cells = ", ".join(str(cell) for cell in first if cell is not None)
        raise InputError(
            f"{path}: expected a row with names of columns (GPU, model, batch size, time) and rows below, "
            f"got {shown(cells) if cells else 'an empty table'}; add such a row, or name your columns, "
            "such as --column gpu=NAME"
        )
    if len(found) > 1 and not answers.sheets_are:
        kinds = [kind for kind in ("gpu", "cnn") if all(names.is_name(kind, sheet) for sheet in found)]
        options = (*choices("--sheets-are", kinds[:1]), *choices("--sheet", found))
        text = f"the file has {len(found)} sheets with tables ({', '.join(found)[:80]}): which one is read?"
        dialogue.ask("columns", text, options)
        found = dict([next(iter(found.items()))])
    chosen = [_chosen(sheet, tables, dialogue) for sheet, tables in found.items()]
    check_named(chosen, answers)
    return [left_half(table, dialogue) for table in chosen]


def _is_table(table: SheetTable, answers: SheetAnswers, names: Names) -> bool:
    """Return whether a heading is known, or the user says what the columns are."""
    is_said = bool(answers.columns or answers.columns_are)
    known = is_said or any(read_heading(text).target for text in table.headings)
    return len(table.headings) > 1 and (known or bool(likely_pivot(table, names, answers)))


def _chosen(sheet: str, tables: list[SheetTable], dialogue: Dialogue) -> SheetTable:
    number = dialogue.answers.table
    if number > len(tables):
        raise InputError(f"--table {number}: {sheet or 'the file'} has {len(tables)} tables")
    if len(tables) > 1 and not number:
        listed = "; ".join(
            f"{place}: rows {table.header} to {table.numbers[-1]}, {shown(', '.join(table.headings)[:50])}"
            for place, table in enumerate(tables, start=1)
        )
        options = choices("--table", map(str, range(1, len(tables) + 1)))
        dialogue.ask(
            "columns", f"{len(tables)} tables stand below each other ({listed}): which one?", options
        )
    return tables[max(number - 1, 0)]
