"""Mutated files: an error of ours or a network, never another exception, and never for long."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trainlaw.datasets.cnns import Cnn, build, counts, read_cnn, training_memory, write_layer_table

from ....fuzz.mutation import mutant
from ....refusals import read_or_refused

INPUTS = 400
KERAS = Path(__file__).with_name("keras_functional.json")


@pytest.fixture(scope="module")
def samples(tmp_path_factory, onnx_model):
    folder = tmp_path_factory.mktemp("samples")
    found = {}
    for name in ("lenet5", "mobilenet_v3_small"):
        for ending in ("csv", "json"):
            path = folder / f"{name}.{ending}"
            write_layer_table(build(name, 64, 10), path)
            found[path.name] = path.read_bytes()
        found[f"{name}.onnx"] = onnx_model(build(name, 64, 10)).SerializeToString()
    found["keras.json"] = KERAS.read_bytes()
    return found


def correct_cnn(path: Path) -> None:
    """Read a network and hold it to what every network has."""
    cnn = read_cnn(path)
    assert isinstance(cnn, Cnn)
    assert len(counts(cnn)) > 50
    training_memory(cnn, 1)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_mutated_files(part, samples, tmp_path):
    source = random.Random(f"networks {part}")
    names = sorted(samples)
    for number in range(INPUTS // 4):
        name = names[number % len(names)]
        path = tmp_path / name
        path.write_bytes(mutant(samples[name], name, source))
        read_or_refused(correct_cnn, path)


@pytest.mark.slow
def test_onnx_with_other_values(samples, tmp_path):
    source = random.Random("models")
    for number in range(INPUTS // 2):
        path = tmp_path / "net.onnx"
        sample = samples[("lenet5.onnx", "mobilenet_v3_small.onnx")[number % 2]]
        path.write_bytes(mutant(sample, path.name, source))
        read_or_refused(correct_cnn, path)


@settings(max_examples=INPUTS // 8, deadline=None, suppress_health_check=list(HealthCheck))
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
