from trainlaw.datasets.files.storage import read_data_file
from trainlaw.datasets.measurements.nearest import FILE, nearest_measured

from tools.measured import measured_csv


def test_shipped_times_are_those_of_the_built_in_runs():
    assert read_data_file(FILE).decode() == measured_csv()


def test_the_same_precision_is_nearer_than_the_same_batch():
    found = nearest_measured("resnet50", "V100-SXM2-16GB", 128, "fp32", is_channels_last=False, pixels=None)
    assert found is not None and (found.letter, found.batch_per_gpu) == ("f", 128)
    assert nearest_measured("resnet50", "H20-96GB", 1, "fp32", is_channels_last=False, pixels=None) is None
