"""The tables of docs/cnn-zoo.md say what the code computes."""

from pathlib import Path

import pytest
from trainlaw.datasets.cnns import build, counts, explain, zoo_entry, zoo_names

PAGE = Path(__file__).resolve().parents[3] / "docs" / "cnn-zoo.md"


@pytest.fixture(scope="module")
def rows():
    if not PAGE.is_file():
        pytest.skip("the documentation is not part of this installation")
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


@pytest.mark.slow
def test_every_net_is_listed_with_its_figures(rows):
    listed = {row[0]: row for row in rows if len(row) == 8 and row[0] in zoo_names()}
    assert sorted(listed) == list(zoo_names())
    for name, row in listed.items():
        entry, found = zoo_entry(name), counts(build(name))
        assert row[1:5] == [entry.base, entry.family, str(entry.input_size_px), str(entry.n_classes)]
        assert row[5:] == [
            f"{int(found['n_layers'])}",
            f"{int(found['params']):,}",
            f"{found['macs'] / 1e6:.2f}",
        ]


def test_every_column_is_defined(rows):
    defined = [tuple(row) for row in rows if len(row) == 3 and row[0].startswith("`") and row[1] != "call"]
    assert [(f"`{name}`", unit, definition) for name, unit, definition in explain()] == defined[
        : len(explain())
    ]
