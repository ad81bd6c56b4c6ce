"""A formula as spreadsheet formulas that Excel and LibreOffice compute alike.

Where the formula is not valid the cell shows an error value (#NUM!, #DIV/0!, #N/A), as spreadsheets know
neither infinity nor nan. Powers are always POWER: in Excel -2^2 is 4. No LAMBDA, no dynamic arrays. Excel
computes the sine and cosine of numbers up to 2^27 only, and shows an error beyond.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from trainlaw.formulas.algebra.expression import Apply, Expression, fold, substitute
from trainlaw.formulas.algebra.text import number_text
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.printers.language import Language, plain_number
from trainlaw.formulas.printers.steps import named_steps

# Microsoft, "Excel specifications and limits": length of formula contents, nested levels of functions.
MAX_LENGTH = 8192
MAX_LEVELS = 64
# What a caller may wrap around a formula, such as IFERROR, without exceeding the limits.
ROOM, ROOM_LEVELS = 600, 6

# A power below 1E-307.6 is nothing: Excel takes it for 0, LibreOffice for an error.
VANISHING = 307.6
# Cells are cut at half of the limits, so that user-defined names of inputs may be long.
MARGIN = 0.5
# Characters reserved for the name of a helper cell.
HELPER_LENGTH = 32


def _constant_power(exponent: float) -> str:
    """Return the form of a power to a constant.

    LibreOffice takes odd roots of negative numbers, and shows an error where a power vanishes; Excel has no
    0^0.
    """
    if exponent == 0:
        return "(1+0*({a}))"
    plain = f"POWER({{a}},{_number(exponent)})"
    if abs(exponent) > 1:
        # Beyond this size of the base, of either sign for whole exponents, the power is below 2.2E-308.
        limit = _number(10.0 ** (-VANISHING / exponent))
        size = "ABS({a})" if exponent.is_integer() else "{a}"
        vanishes = f"{size}<{limit}" if exponent > 0 else f"{size}>{limit}"
        vanishes = f"AND({{a}}>=0,{vanishes})" if exponent > 0 and not exponent.is_integer() else vanishes
        return f"IF({vanishes},0,{plain})"
    # Only where 1/exponent is nearly an odd whole number; the square root keeps negative numbers out.
    root = round(1 / exponent)
    is_root = abs(root) > 1 and root % 2 == 1 and abs(1 / exponent - root) < 1e-6
    return f"POWER(SQRT({{a}}),{_number(2 * exponent)})" if is_root else plain


def _number(value: float) -> str:
    return number_text(value).upper()


EXCEL = Language(
    forms={
        "abs": "ABS({a})",
        "sqrt": "SQRT({a})",
        "cbrt": "(SIGN({a})*POWER(ABS({a}),1/3))",
        "square": "SUMSQ({a})",
        "cube": "(SUMSQ({a})*{a:atom})",
        "exp": "EXP({a})",
        "log": "LN({a})",
        "pow": (
            "IF({b}=0,1+0*({a}),IF(AND({a}<0,{b}<>TRUNC({b})),NA(),"
            f"IF({{a}}=0,POWER({{a}},{{b}}),IF({{b:atom}}*LOG10(ABS({{a}}))<-{VANISHING},0,POWER({{a}},{{b}})))))"
        ),
        "min": "MIN({a},{b})",
        "max": "MAX({a},{b})",
        "sin": "SIN({a})",
        "cos": "COS({a})",
        "tanh": "TANH({a})",
        "step": "((SIGN({a})+1)/2)",
    },
    constant_power=_constant_power,
    number=plain_number(_number),
)


class ExcelCells(NamedTuple):
    """The helper cells, each over inputs and earlier helpers, and the formula of the result.

    expressions : what each helper stands for, over the variables of the whole expression.
    """

    helpers: tuple[tuple[str, str], ...]
    formula: str
    expressions: tuple[Expression, ...] = ()


def excel_expression(expression: Expression, names: Mapping[str, str]) -> str:
    """Return the expression as the text of one cell, without the leading "=".

    names : the cell or defined name of each variable. Raises InputError where the text exceeds what one cell
    holds (8,192 characters, 64 levels): `split_for_excel` then spreads it.

    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> excel_expression(parse_text("2 * x^0.5"), {"x": "B2"})
    '2 * POWER(B2,0.5)'
    """
    text = EXCEL.write(EXCEL.known(expression), names)
    if not _fits(text):
        raise InputError(
            f"expected at most {MAX_LENGTH} characters and {MAX_LEVELS} levels in a cell, got {len(text)} "
            f"and {_levels(text)}: split_for_excel spreads the formula over helper cells"
        )
    return text


def split_for_excel(
    expression: Expression, names: Mapping[str, str], helper_name: Callable[[int], str]
) -> ExcelCells:
    """Return the expression as one cell where it fits, else with helper cells for its common and long parts.

    names : the cell or defined name of each variable. helper_name : the cell or defined name of helper 0, 1,
    ...
    """
    known = EXCEL.known(expression)
    text = EXCEL.write(known, names)
    if _fits(text):
        return ExcelCells((), text)
    cuts = _cuts(known, names)
    steps = named_steps(known, lambda node, place: (node, place) in cuts)
    places = {step: helper_name(index) for index, (step, _) in enumerate(steps.assignments)}
    everywhere = {**names, **places}
    helpers = tuple((places[step], EXCEL.write(part, everywhere)) for step, part in steps.assignments)
    meant: dict[str, Expression] = {}
    for step, part in steps.assignments:
        meant[step] = substitute(part, meant)
    return ExcelCells(helpers, EXCEL.write(steps.result, everywhere), tuple(meant.values()))


def _fits(text: str) -> bool:
    return len(text) <= MAX_LENGTH - ROOM and _levels(text) <= MAX_LEVELS - ROOM_LEVELS


def _levels(text: str) -> int:
    """Return how deeply parentheses are nested."""
    level = deepest = 0
    for character in text:
        level += (character == "(") - (character == ")")
        deepest = max(deepest, level)
    return deepest


def _cuts(expression: Expression, names: Mapping[str, str]) -> set[tuple[Apply, int]]:
    """Return the arguments, as node and place, that need a separate cell to stay within the limits.

    An argument that a form repeats is one of them; else the longest and the deepest of a node that gets too
    large.
    """
    cuts: set[tuple[Apply, int]] = set()

    def measured(node: Apply, sizes: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        form = EXCEL.form(node) or "({a} + {b})"
        parts = list(sizes)
        for place in range(len(parts)):
            times = EXCEL.repeats(node, place)
            if times > 1 and isinstance(node.arguments[place], Apply):
                cuts.add((node, place))
                parts[place] = HELPER_LENGTH * times, 0
        while True:
            length = len(form) + sum(part[0] for part in parts)
            levels = form.count("(") + max(part[1] for part in parts)
            if length <= MARGIN * MAX_LENGTH and levels <= MARGIN * MAX_LEVELS:
                return length, levels
            largest = max(range(len(parts)), key=lambda place: parts[place][1] * 100 + parts[place][0])
            cuts.add((node, largest))
            parts[largest] = HELPER_LENGTH, 0

    fold(
        expression,
        lambda node: (len(_number(node.value)), 0),
        lambda node: (len(names[node.name]), 0),
        measured,
    )
    return cuts
