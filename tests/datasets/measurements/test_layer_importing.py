"""Layers in a file of a user: read as they are, or refused cell by cell."""

import pytest
from trainlaw.datasets import load
from trainlaw.datasets.files.faults import FaultsError
from trainlaw.datasets.hardware.gpu_files import with_gpus
from trainlaw.datasets.measurements.importing import import_layers
from trainlaw.datasets.measurements.layers import LAYER_COLUMNS
from trainlaw.datasets.profiler.machine import Processor
from trainlaw.datasets.profiler.row_files import MachineFile

DEVICE = "Toy CPU, 1 thread"


@pytest.fixture
def rows():
    frame = load("neusight-layers").frame.head(4)
    return frame.assign(gpu=DEVICE)


@pytest.fixture
def gpus(tmp_path):
    machine = MachineFile(tmp_path / "runs.csv")
    machine.add(Processor("Toy CPU", 2, 16, 2.5e9, 8e9, 32e6, 48e3).gpu_row(1, 1e11, 1e10))
    return with_gpus(machine.path)


def test_rows_of_a_file_are_layers(rows, gpus, tmp_path):
    path = tmp_path / "runs-layers.csv"
    rows.to_csv(path, index=False)
    table = import_layers(path, gpus)
    assert list(table.frame) == [column.name for column in LAYER_COLUMNS]
    assert table.name == "runs-layers.csv" and len(table) == len(rows)
    assert (table.features(["peak_flop_per_s"]) == 1.6e11).all(axis=None)
    assert table.frame["batch"].dtype == "int64"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gpu": "Toy CPU, 3 threads"}, "row 1, column gpu: expected a known name"),
        ({"kind": "pool"}, "column kind: expected"),
        ({"time_s": -1.0}, "column time_s"),
        ({"batch": None}, "column batch"),
    ],
)
def test_faulty_layers_are_refused(rows, gpus, tmp_path, change, words):
    path = tmp_path / "layers.csv"
    rows.assign(**change).to_csv(path, index=False)
    with pytest.raises(FaultsError, match=words):
        import_layers(path, gpus)


def test_a_table_without_layers_or_columns_is_refused(rows, tmp_path):
    path = tmp_path / "layers.csv"
    rows.iloc[:0].to_csv(path, index=False)
    with pytest.raises(FaultsError, match="at least one row"):
        import_layers(path)
    rows.assign(dtype="amp").to_csv(path, index=False)
    with pytest.raises(FaultsError, match=r"column dtype: expected a known column .*'precision'"):
        import_layers(path)
    rows.drop(columns="kernel_px").to_csv(path, index=False)
    with pytest.raises(FaultsError, match="kernel_px"):
        import_layers(path)
