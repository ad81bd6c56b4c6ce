"""The workbook in a form that Google Sheets takes over whole: `plan.gsheet.xlsx`.

What differs from the ordinary workbook, and why:
- names stand for plain ranges only: Google Sheets drops a name that is an expression, such as a list that
  grows with its rows, and with it every cell that uses it;
- drop-downs name the range itself, with its empty rows, which Google Sheets leaves out of the list;
- no bars inside cells, which it does not know; shares stay as numbers;
- a function that it lacks is refused when the file is written.
"""

import re
from dataclasses import replace

from trainlaw.app.sheets.plan import BookPlan, SheetPlan
from trainlaw.formulas import InputError
from trainlaw.formulas.printers import missing_functions

_GROWING = re.compile(r"^(.+?):INDEX\((.+?),COUNTA\(.+\)\)$")


def google_plan(plan: BookPlan) -> BookPlan:
    """Return the plan of a workbook without what Google Sheets lacks.

    Raises InputError for a formula with a function that it may not have.
    """
    names = {name: _whole_range(place) for name, place in plan.names.items()}
    sheets = [_safe_sheet(sheet, names) for sheet in plan.sheets]
    return replace(plan, names=names, sheets=sheets)


def _whole_range(place: str) -> str:
    """The whole range of a list that grows: its second part names it.

    >>> _whole_range("GPUs!$A$5:INDEX(GPUs!$A$5:$A$9,COUNTA(GPUs!$A$5:$A$9))")
    'GPUs!$A$5:$A$9'
    """
    growing = _GROWING.match(place)
    return growing[2] if growing else place


def _safe_sheet(sheet: SheetPlan, names: dict[str, str]) -> SheetPlan:
    for place, cell in sheet.cells.items():
        missing = missing_functions(cell.formula) if cell.formula else []
        if missing:
            where = f"{', '.join(missing)} in sheet {sheet.name} {place}"
            raise InputError(f"expected functions that Google Sheets has, got {where}: export to .xlsx")
    drop_downs = {place: names[listed] for place, listed in sheet.drop_downs.items()}
    return replace(sheet, drop_downs=drop_downs, bars=[])
