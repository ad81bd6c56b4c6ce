"""Formulas in other languages; `FUNCTIONS` names those of programming languages by suffix."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.excel import ExcelCells, excel_expression, split_for_excel
from trainlaw.formulas.printers.latex import latex_expression, latex_symbol, print_latex
from trainlaw.formulas.printers.mathml import mathml_expression, mathml_symbol
from trainlaw.formulas.printers.programming import (
    print_c_function,
    print_javascript,
    print_julia,
    print_python_function,
    print_r,
)

#: Functions of features, without tables of GPUs and CNNs.
FUNCTIONS: Mapping[str, Callable[[Formula], str]] = MappingProxyType(
    {
        ".py": print_python_function,
        ".js": print_javascript,
        ".c": print_c_function,
        ".R": print_r,
        ".jl": print_julia,
    }
)

__all__ = [
    "FUNCTIONS",
    "ExcelCells",
    "excel_expression",
    "latex_expression",
    "latex_symbol",
    "mathml_expression",
    "mathml_symbol",
    "print_c_function",
    "print_javascript",
    "print_julia",
    "print_latex",
    "print_python_function",
    "print_r",
    "split_for_excel",
]
