"""Laws of CPUs in which threads matter: planted in runs with 1 to 16 threads, found, and held out."""

import csv

import pytest
from trainlaw.app.studies.definition import asked_definition, read_study_table
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.material import defined_splits
from trainlaw.datasets import configuration
from trainlaw.datasets.profiler.machine import Processor
from trainlaw.datasets.profiler.row_files import MachineFile
from trainlaw.evolve import SearchSettings
from trainlaw.validate.metrics import mape_percent

CNNS = ("alexnet_mx", "resnet18", "squeezenet1_1", "vgg11")
THREADS = (1, 2, 4, 8, 16)


def planted_s(terms, threads):
    """Half the peak in convolutions; threads that wait for each other once per layer."""
    return 2.0 * terms["conv_compute_s"] + 3.0 * terms["layer_launch_s"] * threads


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    processor = Processor("Sixteen cores", 16, 16, 2.5e9, 6.4e10, 32e6, 32e3)
    machine = MachineFile(folder / "runs.csv")
    rows = []
    for threads in THREADS:
        device = processor.gpu_row(threads, 0.0, 1e10 * threads**0.5)
        machine.add(device)
        for cnn in CNNS:
            for batch in (1, 4, 16):
                row = configuration(cnn=cnn, gpu="T4", batch_per_gpu=batch).features(
                    ["conv_compute_s", "layer_launch_s", "peak_flop_per_s"]
                )
                terms = row.iloc[0].to_dict()
                terms["conv_compute_s"] *= terms["peak_flop_per_s"] / device["peak_fp32_flop_per_s"]
                rows.append([device["gpu"], cnn, batch, planted_s(terms, threads)])
    with open(folder / "runs.csv", "w", newline="") as text:
        csv.writer(text).writerows([["gpu", "cnn", "batch_per_gpu", "time_s"], *rows])
    return folder


@pytest.fixture(scope="module")
def definition(runs):
    options = {"table": runs / "runs.csv", "gpu_file": runs / "runs-machine.csv", "split": "threads"}
    return asked_definition(None, options)


def test_a_number_of_threads_that_was_held_out_is_predicted(definition):
    kind = STUDY_KINDS["free-runs"]
    table = kind.rows(read_study_table(definition))
    splits = defined_splits(definition, table.labels, "runs")
    assert [split.held_out for split in splits] == sorted((f"threads {n}",) for n in THREADS)
    (split,) = [split for split in splits if split.held_out == ("threads 8",)]
    settings = SearchSettings(evaluations=3000, population=100, random_seed=1)
    law = kind.search(table, settings)()
    law.fit(table.X.iloc[split.train], table.seconds[split.train], table.groups[split.train])
    predicted = law.predict(table.X.iloc[split.test])
    assert "sm_count" in law.formula_.text()
    assert mape_percent(table.seconds[split.test], predicted) < 5


def test_threads_are_no_matter_of_gpus_nor_of_one_number_of_threads(definition, runs):
    kind = STUDY_KINDS["free-runs"]
    settings = SearchSettings(evaluations=100)

    def names(rows):
        return {spec.name for spec in kind.search(rows, settings)().features}

    assert "sm_count" in names(kind.rows(read_study_table(definition)))
    assert "sm_count" not in names(kind.rows(read_study_table(asked_definition(None, {}))))
    alone = read_study_table(definition)
    assert "sm_count" not in names(kind.rows(alone.where(gpu="Sixteen cores, 4 threads")))
