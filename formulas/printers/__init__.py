"""Formulas in other languages; `PRINTERS` names them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.excel import ExcelCells, excel_expression, print_excel, split_for_excel
from trainlaw.formulas.printers.latex import latex_expression, latex_symbol, print_latex
from trainlaw.formulas.printers.mathml import mathml_expression, mathml_symbol, print_mathml
from trainlaw.formulas.printers.programming import (
    print_c_function,
    print_javascript,
    print_julia,
    print_numpy_function,
    print_python_function,
    print_r,
)

PRINTERS: Mapping[str, Callable[[Formula | Expression], str]] = MappingProxyType(
    {
        "python_function": print_python_function,
        "numpy_function": print_numpy_function,
        "excel": print_excel,
        "javascript": print_javascript,
        "latex": print_latex,
        "mathml": print_mathml,
        "c_function": print_c_function,
        "r": print_r,
        "julia": print_julia,
    }
)

__all__ = [
    "PRINTERS",
    "ExcelCells",
    "excel_expression",
    "latex_expression",
    "latex_symbol",
    "mathml_expression",
    "mathml_symbol",
    "print_c_function",
    "print_excel",
    "print_javascript",
    "print_julia",
    "print_latex",
    "print_mathml",
    "print_numpy_function",
    "print_python_function",
    "print_r",
    "split_for_excel",
]
