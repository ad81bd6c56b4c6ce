"""A spreadsheet formula as we write it, in the OpenFormula syntax of .ods files.

Differences: an address stands in brackets with a point before its cell, semicolons separate arguments, and
the whole begins with "of:=". OASIS, "Open Document Format for Office Applications 1.3, Part 4", 2021.
"""

import re

_ADDRESS = r"\$?[A-Z]{1,3}\$?[0-9]+"
_TOKEN = re.compile(
    r'(?P<text>"(?:[^"]|"")*")'
    rf"|(?:(?P<sheet>'[^']+'|[A-Za-z]\w*)!)?(?P<first>{_ADDRESS})(?::(?P<last>{_ADDRESS}))?(?![A-Za-z0-9_(])"
    r"|(?P<word>[A-Za-z_][\w.]*)"
    r"|(?P<other>.)",
    re.DOTALL,
)


def open_formula(formula: str) -> str:
    """Return a formula, without "=", in the syntax of .ods files.

    >>> open_formula("SUM(B2:$C4,'All GPUs'!$A$5)*IF(tl_gpu=\\"A1, B2\\",1,2)")
    'of:=SUM([.B2:.$C4];[$\\'All GPUs\\'.$A$5])*IF(tl_gpu="A1, B2";1;2)'
    """
    return "of:=" + "".join(_written(match) for match in _TOKEN.finditer(formula))


def cell_range(formula: str) -> str:
    """Return the address of a range as named ranges of .ods files hold it.

    >>> cell_range("GPUs!$A$5:$A$9")
    '$GPUs.$A$5:.$A$9'
    """
    return open_formula(formula).removeprefix("of:=").strip("[]")


def _written(match: re.Match[str]) -> str:
    if match["first"]:
        sheet = f"${match['sheet']}" if match["sheet"] else ""
        return f"[{sheet}.{match['first']}{':.' + match['last'] if match['last'] else ''}]"
    return ";" if match["other"] == "," else match[0]
