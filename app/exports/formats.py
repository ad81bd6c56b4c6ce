"""A formula written to a file in the form that the file's suffix names."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from trainlaw.app.models.custom_features import case_table, cases_of, has_own_features
from trainlaw.app.models.feature_expressions import feature_expression
from trainlaw.app.models.layer_entry import as_entered
from trainlaw.app.page.custom import own_page_html
from trainlaw.app.page.html import page_html
from trainlaw.app.terminal.formula import headline
from trainlaw.app.text.csv import rows_as_csv
from trainlaw.formulas import FeatureSpec, Formula, InputError, TrainlawError, save_formula, to_text
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.files import write_bytes_atomically, write_text_atomically
from trainlaw.formulas.printers import PRINTERS, print_onnx
from trainlaw.formulas.printers.naming import header


def export_formula(formula: Formula, path: Path, overwrite: bool = False) -> None:
    """Write a formula; the suffix of `path` chooses the form, `overwrite` allows to replace a file.

    Raises UnknownNameError for a suffix that names no form, InputError where the file exists or cannot be
    written.
    """
    suffix = "".join(path.suffixes[-2:]) if "".join(path.suffixes[-2:]) in _WRITERS else path.suffix
    if suffix not in _WRITERS:
        raise unknown_name("suffix of an output file", suffix or path.name, sorted(_WRITERS))
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists; choose another name, or say --overwrite")
    own = _OWN_WRITERS.get(suffix) if has_own_features(formula) else None
    (own or _WRITERS[suffix])(formula, path)


def _write_own_workbook(formula: Formula, path: Path) -> None:
    """The workbook of a formula whose features no run on a GPU has."""
    from trainlaw.app.sheets.ods import ods_bytes  # noqa: PLC0415 (as below)
    from trainlaw.app.sheets.xlsx import xlsx_bytes  # noqa: PLC0415 (as below)
    from trainlaw.app.workbook.custom import own_workbook_plan  # noqa: PLC0415 (as below)

    write = ods_bytes if path.suffix == ".ods" else xlsx_bytes
    write_bytes_atomically(path, write(own_workbook_plan(formula)))


def _write_own_page(formula: Formula, path: Path) -> None:
    write_text_atomically(path, own_page_html(formula))


def _write_own_table(formula: Formula, path: Path) -> None:
    entered = as_entered(formula)
    write_text_atomically(path, rows_as_csv(*case_table(entered, cases_of(entered))))


def _write_workbook(formula: Formula, path: Path) -> None:
    from trainlaw.app.workbook.book import workbook_bytes  # noqa: PLC0415 (only this form needs XlsxWriter)

    write_bytes_atomically(path, workbook_bytes(formula))


def _write_google_workbook(formula: Formula, path: Path) -> None:
    from trainlaw.app.workbook.book import google_workbook_bytes  # noqa: PLC0415 (as above)

    write_bytes_atomically(path, google_workbook_bytes(formula))


def _write_open_document(formula: Formula, path: Path) -> None:
    from trainlaw.app.workbook.book import open_document_bytes  # noqa: PLC0415 (as above)

    write_bytes_atomically(path, open_document_bytes(formula))


def _write_table(formula: Formula, path: Path) -> None:
    from trainlaw.app.exports.prediction_table import prediction_csv  # noqa: PLC0415 (as above)

    write_text_atomically(path, prediction_csv(formula, header(_for_readers(formula))))


def _write_page(formula: Formula, path: Path) -> None:
    write_text_atomically(path, page_html(formula))


def _write_onnx(formula: Formula, path: Path) -> None:
    write_bytes_atomically(path, print_onnx(_for_readers(formula)))


def _writer(language: str) -> Callable[[Formula, Path], None]:
    return lambda formula, path: write_text_atomically(path, PRINTERS[language](_for_readers(formula)))


def _for_readers(formula: Formula) -> Formula:
    """The formula as the header of a program describes it: features with their forms, the stated error."""
    features = tuple(replace(spec, meaning=_computed(spec)) for spec in formula.features)
    stated = headline(formula).removeprefix("stated error: ")
    errors = {"stated": stated, "protocol": formula.errors["protocol"]} if formula.errors else {}
    return replace(formula, features=features, errors=errors)


def _computed(spec: FeatureSpec) -> str:
    try:
        form = to_text(feature_expression(spec.name))
    except TrainlawError:
        return spec.meaning  # a feature that the user named, or one without such a form
    return spec.meaning if form == spec.name else f"{spec.meaning}, {form}"


# Forms that choose among GPUs and networks have others for a formula whose features are its own.
_OWN_WRITERS: Mapping[str, Callable[[Formula, Path], None]] = {
    ".xlsx": _write_own_workbook,
    ".gsheet.xlsx": _write_own_workbook,
    ".ods": _write_own_workbook,
    ".csv": _write_own_table,
    ".html": _write_own_page,
}
_WRITERS: Mapping[str, Callable[[Formula, Path], None]] = {
    ".py": _writer("python_function"),
    ".js": _writer("javascript"),
    ".c": _writer("c_function"),
    ".sql": _writer("sql"),
    ".tex": _writer("latex"),
    ".onnx": _write_onnx,
    ".json": save_formula,
    ".xlsx": _write_workbook,
    ".gsheet.xlsx": _write_google_workbook,
    ".gsheet.tsv": _writer("google_sheets"),
    ".ods": _write_open_document,
    ".csv": _write_table,
    ".html": _write_page,
}
