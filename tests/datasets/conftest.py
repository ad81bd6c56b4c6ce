"""Shared pieces: a small valid file of runs, and settings of the property tests."""

import pandas as pd
import pytest
from hypothesis import settings
from trainlaw.datasets import load
from trainlaw.datasets.cnns.memory import step_memory

settings.register_profile("datasets", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("datasets")


@pytest.fixture
def write(tmp_path):
    """Writes text or bytes to a file and returns its path."""

    def written(content, name="runs.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


@pytest.fixture(scope="session")
def runs():
    """The runs of single GPUs in fp32."""
    return load("fp32-2026")


@pytest.fixture(scope="session")
def memory_ratios():
    """Estimated over measured memory of the shipped runs of batch 32 or more that state it."""
    table = load("atlas-all")
    frame = table.frame
    stated = frame["memory_bytes"].notna() & (frame["pool_reason"] != "the CNN has no counts")
    found = frame[stated & (frame["batch_per_gpu"] >= 32)].reset_index(drop=True)
    ratios = []
    for run in found.to_dict("records"):
        cnn = table.facts.cnn((run["cnn"], run["input_size_px"], run["n_classes"]))
        precision = "fp32" if run["precision"] == "unknown" else run["precision"]
        step = step_memory(cnn.counts["params"], cnn.memory, run["batch_per_gpu"], precision, momentum=False)
        ratios.append(step.total / run["memory_bytes"])
    return found.assign(ratio=pd.Series(ratios))
