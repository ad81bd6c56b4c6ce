"""Export: every suffix writes one file, and programs say where they come from."""

import os
import subprocess
import sys

import pytest
from trainlaw.app.exports.formats import DOCUMENTS, FUNCTIONS, PROGRAMS, export_formula
from trainlaw.app.models.builtin import formula_named
from trainlaw.formulas import load_formula

from ...commands import output, refusal


def export(formula_file, path, *options):
    output("export --to", path, formula_file, *options)
    return path.read_text() if path.suffix != ".xlsx" else ""


def test_json_reads_back(formula_file, tmp_path, formula):
    export(formula_file, tmp_path / "law.json")
    assert load_formula(tmp_path / "law.json") == formula


@pytest.mark.parametrize("suffix", [*FUNCTIONS, ".tex"])
def test_headers_say_units_ranges_error_and_origin(suffix, formula_file, tmp_path, formula):
    bare = ("--bare",) if suffix in FUNCTIONS else ()
    text = export(formula_file, tmp_path / f"law{suffix}", *bare)
    for spec in formula.used_features:
        assert spec.name in text or spec.symbol in text
    if suffix != ".tex":
        for expected in ("15.2 %", "seed", "0.1.0", "6 * batch_per_gpu * im2col_elements / peak_flop_per_s"):
            assert expected in text


SUFFIXES = sorted({*PROGRAMS, *DOCUMENTS, ".json"})


@pytest.mark.usefixtures("few_networks")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_writes_one_file_and_never_over_another(suffix, formula_file, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    export(formula_file, folder / f"law{suffix}")
    assert [path.name for path in folder.iterdir()] == [f"law{suffix}"]
    assert "exists" in refusal("export --to", folder / f"law{suffix}", formula_file)


def test_a_file_is_replaced_where_that_is_asked_for(formula_file, tmp_path):
    (tmp_path / "law.py").write_text("mine")
    assert "def " in export(formula_file, tmp_path / "law.py", "--overwrite")


def test_no_format_is_a_program_and_a_document():
    assert not {*PROGRAMS, *FUNCTIONS} & set(DOCUMENTS)


@pytest.mark.usefixtures("few_networks")
def test_documents_do_not_depend_on_the_hashes_of_names(tmp_path):
    code = (
        "import sys, trainlaw\nfrom trainlaw.app.models import lookup_tables\n"
        "table = lookup_tables.cnn_table()\n"
        "few = table[table['cnn'].isin(['resnet50', 'vgg16', 'lenet5']) & (table['input_size_px'] == 224)]\n"
        "lookup_tables.cnn_table = few.copy\n"
        "for path in sys.argv[1:]: trainlaw.export(trainlaw.load_formula('short'), path)"
    )
    here, there = ([tmp_path / f"{place}{suffix}" for suffix in (".xlsx", ".html")] for place in "ab")
    # The hashes of this process are others.
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", code, *there], check=True, env=environment)
    for one, other in zip(here, there, strict=True):
        export_formula(formula_named("short"), one)
        assert one.read_bytes() == other.read_bytes()
