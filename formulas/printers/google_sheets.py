"""A formula as cells to paste into Google Sheets at A1: name, value, unit, meaning, separated by tabs.

What differs from the Excel form, and why: it uses addresses of cells, since Google Sheets has no way to paste
defined names; it calls only functions of `FUNCTIONS`, which both have with one meaning; it never uses a name
that stands for an expression, which Google Sheets drops; arguments are separated by commas and numbers have
a decimal point, so the sheet needs a locale that has them (File, Settings: United States). Nothing limits
the nesting there, but long formulas are split for Excel's limits all the same, to survive a way back.
"""

import re

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.excel import split_for_excel
from trainlaw.formulas.printers.naming import as_formula, header, identifiers, inert

# Google, "Google Sheets function list": those of our forms, and those that a workbook needs.
FUNCTIONS = frozenset(
    "ABS AND CHOOSE COS COUNT COUNTA COUNTIF EXP FIXED IF IFERROR INDEX INT ISNUMBER LEFT LN LOG LOG10 LOWER "
    "MATCH MAX MIN MOD N NA OR POWER ROUND ROUNDUP ROWS SIGN SIN SQRT SUBSTITUTE SUM SUMPRODUCT SUMSQ "
    "TANH TEXT TRUNC".split()
)
# A pasted cell that begins with one of these would be taken for a formula.
_STARTS = ("=", "+", "-", "@")
_CALL = re.compile(r"([A-Z][A-Z0-9.]*)\(")


def missing_functions(formula: str) -> list[str]:
    """Return the functions that a spreadsheet formula calls and Google Sheets may not have.

    >>> missing_functions('IF(A1="LAMBDA(",SUM(B1),LET(x,1,x))')
    ['LET']
    """
    without_texts = re.sub(r'"(?:[^"]|"")*"', "", formula)
    return sorted({name for name in _CALL.findall(without_texts) if name not in FUNCTIONS})


def print_google_sheets(formula: Formula | Expression) -> str:
    """Return lines to paste at A1; inputs to fill in come first, the target comes last.

    Raises InputError for a function that Google Sheets may not have.
    """
    formula = as_formula(formula)
    comments = [f"# {line}" for line in [*header(formula), "enter the values of column B, in their units"]]
    names = identifiers(
        [*(spec.name for spec in formula.used_features), *(item.name for item in formula.grouped)], ()
    )
    places = {name: f"$B${len(comments) + 1 + line}" for line, name in enumerate(names)}
    rows = [[names[spec.name], "", str(spec.unit), spec.meaning] for spec in formula.used_features]
    rows += [
        [names[item.name], repr(item.default), "", f"a value per {item.key}"] for item in formula.grouped
    ]
    first = len(comments) + len(rows) + 1
    cells = split_for_excel(formula.expression, places, lambda index: f"$B${first + index}")
    rows += [[f"step {line}", f"={text}", "", ""] for line, (_, text) in enumerate(cells.helpers, start=1)]
    rows.append([formula.target.name, f"={cells.formula}", str(formula.target.unit), formula.target.meaning])
    missing = missing_functions("".join(row[1] for row in rows))
    if missing:
        raise InputError(
            f"expected functions that Google Sheets has, got {', '.join(missing)}: use print_excel"
        )
    lines = ["\t".join([_plain(name), value, *map(_plain, rest)]) for name, value, *rest in rows]
    return "".join(f"{line}\n" for line in [*comments, *lines])


def _plain(text: str) -> str:
    plain = inert(text)
    return f"'{plain}" if plain.startswith(_STARTS) else plain
