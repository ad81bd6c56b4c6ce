"""Export a formula: the suffix of the file chooses the format."""

from collections.abc import Callable, Mapping
from pathlib import Path

from trainlaw.app.exports.headers import described, header_lines
from trainlaw.app.inputs.retired import check_retired
from trainlaw.app.models.scopes import handling
from trainlaw.formulas import Formula, InputError, save_formula
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.files.text_files import write_bytes_atomically, write_text_atomically
from trainlaw.formulas.printers.latex import print_latex
from trainlaw.formulas.printers.programming import FUNCTIONS


# A writer loads its room when it is used: a workbook needs XlsxWriter, which is slow to load.
def _python_program(formula: Formula) -> str:
    from trainlaw.app.exports.python_program import named_program

    return named_program(formula)


def _javascript_module(formula: Formula) -> str:
    from trainlaw.app.page.script import module_of

    return "".join(f"// {line}\n" for line in header_lines(formula)) + module_of(formula)


def _workbook(formula: Formula) -> bytes:
    from trainlaw.app.workbook.book import workbook_bytes

    return workbook_bytes(formula)


def _page(formula: Formula) -> str:
    from trainlaw.app.page.html import page_html

    return page_html(formula)


#: Programs that look up GPU and CNN by name.
PROGRAMS: Mapping[str, Callable[[Formula], str]] = {".py": _python_program, ".mjs": _javascript_module}
DOCUMENTS: Mapping[str, Callable[[Formula], str | bytes]] = {
    ".xlsx": _workbook,
    ".html": _page,
    ".tex": lambda formula: print_latex(described(formula)),
}
_JSON = ".json"


def export_formula(formula: Formula, path: Path, overwrite: bool = False, bare: bool = False) -> None:
    """Write a formula to `path` in the format of its suffix; `overwrite` allows replacing a file.

    bare : a function of features, not a program that takes names. Formulas whose scope takes no names are
    always written so. Raises UnknownNameError for an unknown suffix, InputError where the file exists or
    cannot be written, or the formula has no such form.
    """
    suffix = _suffix(path)
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists; choose another name, or say --overwrite")
    if suffix == _JSON:
        save_formula(formula, path)
        return
    content = _content(formula, suffix, bare)
    if isinstance(content, str):
        write_text_atomically(path, content)
    else:
        write_bytes_atomically(path, content)


def _content(formula: Formula, suffix: str, bare: bool) -> str | bytes:
    if suffix in DOCUMENTS:
        if bare:
            raise InputError(f"--bare is for programs, got {suffix}: leave it out")
        return DOCUMENTS[suffix](formula)
    if handling(formula).takes_names and not bare:
        check_retired("program", suffix)
        return PROGRAMS[suffix](formula)
    if suffix not in FUNCTIONS:
        raise InputError(f"expected {', '.join(FUNCTIONS)} for a function of features, got {suffix}")
    return FUNCTIONS[suffix](described(formula))


def _suffix(path: Path) -> str:
    """Return the suffix that chooses the format."""
    for retired in ("".join(path.suffixes[-2:]), path.suffix):
        check_retired("suffix", retired)
    known = {*FUNCTIONS, *PROGRAMS, *DOCUMENTS, _JSON}
    if path.suffix == ".ods":
        raise InputError(f"{path}: export to .xlsx, open it in LibreOffice and save it as .ods")
    if path.suffix not in known:
        raise unknown_name("suffix of an output file", path.suffix or path.name, sorted(known))
    return path.suffix
