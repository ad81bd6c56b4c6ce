"""Spreadsheets as people publish them: imported right with one corrected command at most, and never wrong."""

import pytest

from . import corpus

pytest.importorskip("openpyxl")


@pytest.mark.parametrize("name", corpus.NAMES)
def test_a_spreadsheet_is_imported_with_one_corrected_command(name, tmp_path):
    sheets, truth = corpus.load(name)
    path = corpus.write(sheets, truth, tmp_path)
    how, said = corpus.imported(path, truth["choices"])
    assert how == "written", said
    assert corpus.differences(path, truth) == ""
