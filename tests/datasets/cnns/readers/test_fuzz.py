"""Any bytes, and files made to hurt: refused or read; `tests/fuzz` mutates files of any kind."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.memory import training_memory
from trainlaw.datasets.cnns.readers import read_cnn

from ....refusals import read_or_refused


def correct_cnn(path: Path) -> None:
    """Read a network and hold it to what every network has."""
    cnn = read_cnn(path)
    assert isinstance(cnn, Cnn)
    assert len(counts(cnn)) > 50
    training_memory(cnn, 1)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=300), st.sampled_from(["net.csv", "net.json", "net.onnx"]))
def test_any_bytes(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    read_or_refused(correct_cnn, path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("zip.onnx", b"PK\x03\x04" + bytes(1000)),
        ("deep.json", b'{"class_name": "Sequential", "config": ' + b'{"layers": [' * 20_000),
        ("wide.csv", b"kind," * 200_000),
        ("long.json", b"[" + b"{}," * 1_000_000 + b"{}]"),
        ("large.csv", b"kind,in_channels\n" + b"input,1\n" * 3_000_000),
        ("number.json", b'[{"kind": "input", "in_channels": ' + b"9" * 5000 + b"}]"),
    ],
)
def test_files_made_to_hurt(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    read_or_refused(correct_cnn, path)
