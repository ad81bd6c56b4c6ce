"""Mutated files: an error of ours or a network, never another exception, and never for long.

The number of inputs is `TRAINLAW_FUZZ_INPUTS` (a few hundred unless set).
"""

import json
import os
import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trainlaw.datasets.cnns import Cnn, build, counts, read_cnn, training_memory, write_layer_table
from trainlaw.formulas.errors import TrainlawError

INPUTS = int(os.environ.get("TRAINLAW_FUZZ_INPUTS", "400"))
LIMIT_SECONDS = 5.0
KERAS = Path(__file__).with_name("keras_functional.json")
HOSTILE = (
    *(b"0", b"-1", b"1e308", b"4294967296", b"999999999999", b"null", b"true", b"[]", b"{}", b'""', b"=1+1"),
    *(b"@SUM(A1)", b"../../etc/passwd", b"\x00", b"\xff\xfe", b"NaN", b"Infinity", b",,,,", b"\n\n", b'"'),
    *(b"[[[[[[[[", b"\x1a\x7f\x80"),
)


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


def mutated(data: bytes, source: random.Random) -> bytes:
    """Some of: bytes changed, removed, doubled or put in; a number replaced; the end cut off."""
    for _ in range(source.randint(1, 4)):
        place, length = source.randrange(len(data) + 1), source.randint(1, 40)
        change = source.randrange(6)
        if change == 0:
            data = data[:place] + source.randbytes(length) + data[place + length :]
        elif change == 1:
            data = data[:place] + data[place + length :]
        elif change == 2:
            data = data[:place] + data[place : place + length] * source.randint(2, 50) + data[place:]
        elif change == 3:
            data = data[:place] + source.choice(HOSTILE) + data[place:]
        elif change == 4:
            data = data[:place] if source.random() < 0.2 else data
        else:
            numbers = list(re.finditer(rb"\d+", data))
            if numbers:
                number = source.choice(numbers)
                data = data[: number.start()] + source.choice(HOSTILE) + data[number.end() :]
    return data


def read_or_refused(path: Path) -> None:
    started = time.process_time()
    try:
        cnn = read_cnn(path)
        assert isinstance(cnn, Cnn)
        assert len(counts(cnn)) > 50
        training_memory(cnn, 1)
    except TrainlawError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 2000
    assert time.process_time() - started < LIMIT_SECONDS


@pytest.mark.parametrize("part", range(4))
def test_mutated_files(part, samples, tmp_path):
    source = random.Random(f"networks {part}")
    names = sorted(samples)
    for number in range(INPUTS // 4):
        name = names[number % len(names)]
        path = tmp_path / name
        path.write_bytes(mutated(samples[name], source))
        read_or_refused(path)


def paths_into(value, path=()):
    """All places in a JSON value, as keys and positions."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from paths_into(part, (*path, key))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=max(INPUTS // 4, 20), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_json_with_other_values(samples, tmp_path, data):
    name = data.draw(st.sampled_from(["keras.json", "lenet5.json"]))
    content = json.loads(samples[name])
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([path for path in paths_into(content) if path]))
        place = content
        for key in way:
            place = place[key]
        place[last] = data.draw(VALUES)
    path = tmp_path / name
    path.write_text(json.dumps(content), encoding="utf-8")
    read_or_refused(path)


EXTREMES = (-(2**31), -7, -1, 0, 1, 2, 3, 7, 100, 65_537, 2**31, 2**62)


def changed_model(data: bytes, source: random.Random) -> bytes:
    """An ONNX model with other operations, attributes, sizes of weights or connections."""
    onnx = pytest.importorskip("onnx", reason="the extra 'cnn' brings onnx")
    model = onnx.ModelProto()
    model.ParseFromString(data)
    graph = model.graph
    names = [name for node in graph.node for name in (*node.input, *node.output)]
    for _ in range(source.randint(1, 3)):
        node, weight = source.choice(graph.node), source.choice(graph.initializer)
        change = source.randrange(6)
        if change == 0:
            node.op_type = source.choice(graph.node).op_type
        elif change == 1 and node.attribute:
            attribute = source.choice(node.attribute)
            attribute.i = source.choice(EXTREMES)
            if attribute.ints:
                attribute.ints[source.randrange(len(attribute.ints))] = source.choice(EXTREMES)
        elif change == 2 and weight.dims:
            weight.dims[source.randrange(len(weight.dims))] = source.choice(EXTREMES)
        elif change == 3 and node.input:
            node.input[source.randrange(len(node.input))] = source.choice(names)
        elif change == 4 and node.input:
            del node.input[source.randrange(len(node.input)) :]
        else:
            sides = graph.input[0].type.tensor_type.shape.dim
            sides[source.randrange(len(sides))].dim_value = source.choice(EXTREMES)
    return model.SerializeToString()


@pytest.mark.slow
def test_onnx_with_other_values(samples, tmp_path):
    source = random.Random("models")
    for number in range(INPUTS // 2):
        path = tmp_path / "net.onnx"
        sample = samples[("lenet5.onnx", "mobilenet_v3_small.onnx")[number % 2]]
        path.write_bytes(changed_model(sample, source))
        read_or_refused(path)


@settings(max_examples=max(INPUTS // 8, 20), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=300), st.sampled_from(["net.csv", "net.json", "net.onnx"]))
def test_any_bytes(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    read_or_refused(path)


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
    read_or_refused(path)
