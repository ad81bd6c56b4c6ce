"""Export a formula: the suffix of the file chooses the format."""

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name

from trainlaw.app.exports.headers import described
from trainlaw.app.inputs.retired import check_retired
from trainlaw.app.models.scopes import handling
from trainlaw.formulas import Formula, InputError, save_formula
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.files.text_files import write_bytes_atomically, write_text_atomically

# Functions from a formula to a text or bytes, imported only when used: a workbook needs XlsxWriter, ONNX
# needs onnx, and neither may slow down the other formats.
PROGRAMS: Mapping[str, str] = {
    ".py": "trainlaw.formulas.printers:print_python_function",
    ".js": "trainlaw.formulas.printers:print_javascript",
    ".c": "trainlaw.formulas.printers:print_c_function",
    ".R": "trainlaw.formulas.printers:print_r",
    ".jl": "trainlaw.formulas.printers:print_julia",
    ".torch.py": "trainlaw.formulas.printers:print_torch_function",
    ".jax.py": "trainlaw.formulas.printers:print_jax_function",
    ".sql": "trainlaw.formulas.printers:print_sql",
    ".tex": "trainlaw.formulas.printers:print_latex",
    ".onnx": "trainlaw.formulas.printers:print_onnx",
    ".gsheet.tsv": "trainlaw.formulas.printers:print_google_sheets",
}
DOCUMENTS: Mapping[str, str] = {
    ".xlsx": "trainlaw.app.workbook.book:workbook_bytes",
    ".gsheet.xlsx": "trainlaw.app.workbook.book:google_workbook_bytes",
    ".csv": "trainlaw.app.exports.prediction_table:prediction_csv",
    ".html": "trainlaw.app.page.html:page_html",
}
#: Programs that look up GPU and CNN by name.
NAMED = "trainlaw.app.exports.programs:named_program"
NAMED_SUFFIXES = (".py", ".js", ".mjs", ".cjs", ".c", ".h", ".R", ".jl")
_JSON = ".json"


def export_formula(
    formula: Formula, path: Path, overwrite: bool = False, bare: bool = False, prefix: str = ""
) -> None:
    """Write a formula to `path` in the format of its suffix; `overwrite` allows replacing a file.

    bare : a program of features, not of names; formulas whose scope takes no names are always written so.
    prefix : of every name in C, empty for the default. Raises UnknownNameError for an unknown suffix,
    InputError where the file exists or cannot be written, or the formula has no such form.
    """
    suffix = _suffix(path)
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists; choose another name, or say --overwrite")
    if suffix == _JSON:
        save_formula(formula, path)
        return
    content = _content(formula, suffix, bare, prefix)
    if isinstance(content, str):
        write_text_atomically(path, content)
    else:
        write_bytes_atomically(path, content)


def _content(formula: Formula, suffix: str, bare: bool, prefix: str) -> str | bytes:
    content: str | bytes
    if bare and suffix not in NAMED_SUFFIXES:
        raise InputError(f"--bare is for programs, got {suffix}: leave it out")
    named = suffix in NAMED_SUFFIXES and not bare and handling(formula).takes_names
    if prefix and not named:
        raise InputError("--prefix is for .c and .h files that take names of GPU and CNN; leave it out")
    if named:
        content = resolve_name(NAMED)(formula, suffix, prefix)
    elif suffix in PROGRAMS:
        content = resolve_name(PROGRAMS[suffix])(described(formula))
    elif suffix in DOCUMENTS:
        content = resolve_name(DOCUMENTS[suffix])(formula)
    else:
        raise InputError(f"{suffix} is for formulas that take names; export this one to .py, .js or .c")
    return content


def _suffix(path: Path) -> str:
    """Return the suffix that chooses the format: the last two parts where they name one, else the last."""
    known = {*PROGRAMS, *DOCUMENTS, *NAMED_SUFFIXES, _JSON}
    double = "".join(path.suffixes[-2:])
    suffix = double if double in known else path.suffix
    check_retired("suffix", double)
    check_retired("suffix", suffix)
    if suffix == ".ods":
        raise InputError(f"{path}: export to .xlsx, open it in LibreOffice and save it as .ods")
    if suffix not in known:
        raise unknown_name("suffix of an output file", suffix or path.name, sorted(known))
    return suffix
