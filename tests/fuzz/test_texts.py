"""Any text as a formula, a unit, a name or the value of an option: taken, or refused by one line."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.app.commands.profile_jobs import counts_of
from trainlaw.app.inputs.prices import _number as price_number
from trainlaw.app.inputs.requests import host_launch_of
from trainlaw.app.inputs.selection import parse_hours, parse_memory, whole_numbers
from trainlaw.app.inputs.spreadsheets import chosen_pairs, values_of
from trainlaw.app.models.user_formula import read_formula
from trainlaw.app.studies.clusters import local_workers
from trainlaw.app.workbook.lookup_sheets import natural_key
from trainlaw.datasets.files.numbers import decimal_marks, number_of
from trainlaw.datasets.hardware.collectives import gpus_of_nodes
from trainlaw.datasets.hardware.gpu_files import si_number
from trainlaw.datasets.hardware.gpus import built_in_gpus
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.formulas import Unit, to_text
from trainlaw.formulas.errors import TrainlawError

from ..rows import each_row

_WORDS = (
    *"macs batch peak bandwidth sqrt( max( exp( log( ( ) , + - * / ^ ** 2 0.5 1e9 1e999 . __import__".split(),
    *"T4 x ms GB s/ byte = : ² ٣".split(),
    " ",
    "9" * 400,
    "with 2x ",
    "\x1b",
    "\ud800",
)
T4 = built_in_gpus().find("T4")
TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(_WORDS), max_size=12).map("".join)
READERS = {
    "formula": lambda text: to_text(read_formula(text).expression),
    "unit": Unit.parse,
    "time of a launch": host_launch_of,
    "hours": lambda text: parse_hours(text, "--within"),
    "memory": lambda text: parse_memory(text, "--min-memory"),
    "numbers": lambda text: whole_numbers(text, "--batch"),
    "column": lambda text: chosen_pairs("--column", [text], "OURS=YOURS"),
    "value": lambda text: values_of([text]),
    "allocation": gpus_of_nodes,
    "GPU": lambda text: wanted_gpu(text, built_in_gpus()),
    "quantity": lambda text: si_number(text, "byte/s"),
    "decimal": lambda text: (decimal_marks([text]), number_of(text, ",")),
    "workers": lambda text: local_workers(f"local:{text}"),
    "counts": lambda text: counts_of(text, "--batch"),
    "own value": lambda text: chosen_pairs("--set", [f"n_gpus={text}"], "OURS=VALUE"),
    "prices": price_number,
    "sheet names": natural_key,
    "precision": lambda text: replace(T4, compute_capability=text).default_precision,
}
# Python converts no number of more than 4,300 digits.
LONG = ("9" * 5000, "000000001" + "9" * 5000, "gpu:" + "x" * 5000, "²", "=" + "9" * 5000)


@pytest.mark.parametrize("name", READERS)
def test_any_text_is_taken_or_refused_by_one_line(name, examples):
    number = max(examples[0] // 20, 10)

    @settings(max_examples=number, database=None, derandomize=number < 100)
    @given(TEXTS)
    def read(text):
        check(name, text)

    read()


@each_row(("name", "text"), list(product(READERS, LONG)))
def test_long_texts_are_taken_or_refused_by_one_line(name, text):
    check(name, text)


def check(name, text):
    try:
        READERS[name](text)
    except TrainlawError as error:
        assert "\n" not in str(error) and len(str(error)) < 2000
