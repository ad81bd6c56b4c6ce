import hashlib
import json
from importlib.resources import files

import pytest
from trainlaw.datasets.files import storage
from trainlaw.formulas.errors import InputError

DATA = files("trainlaw.datasets.data")


def test_every_table_is_registered_and_unaltered():
    tables = {
        item.name
        for item in DATA.iterdir()
        if item.name.endswith((".csv", ".csv.gz", ".csv.xz", ".toml", ".txt.xz", ".schema.json"))
    }
    assert tables == set(storage.registered_files())
    for name, expected in storage.registered_files().items():
        assert hashlib.sha256(DATA.joinpath(name).read_bytes()).hexdigest() == expected


def test_shipped_tables_are_small():
    # A user downloads them with every installation.
    assert sum(item.stat().st_size for item in DATA.iterdir() if item.is_file()) < 3_000_000


def test_altered_file_is_refused(monkeypatch):
    wrong = dict(storage.registered_files()) | {"links.csv": "0" * 64}
    monkeypatch.setattr(storage, "registered_files", lambda: wrong)
    with pytest.raises(InputError, match=r"links\.csv was altered: expected sha256 000000000000"):
        storage.read_data_file("links.csv")


def test_missing_file_is_told(monkeypatch):
    monkeypatch.setattr(storage, "registered_files", lambda: {"gone.csv": "0" * 64})
    with pytest.raises(InputError, match=r"cannot read the shipped data file gone\.csv"):
        storage.read_data_file("gone.csv")


def test_registry_is_plain_json():
    assert json.loads(DATA.joinpath("registry.json").read_text()) == dict(storage.registered_files())


def test_rows_of_text_hold_what_the_table_holds():
    table = storage.read_data_table("gpus.csv", text_columns=("compute_capability",))
    rows = storage.read_data_rows("gpus.csv")
    for row, filled in zip(rows, table.notna().to_dict("records"), strict=True):
        assert set(row) == {name for name, is_filled in filled.items() if is_filled}
    assert [row.get("compute_capability", "") for row in rows] == table["compute_capability"].fillna(
        ""
    ).tolist()
