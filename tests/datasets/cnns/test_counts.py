import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.datasets import cnn_table, find_cnn_counts
from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.catalog import COUNT_COLUMNS
from trainlaw.datasets.cnns.counts import counts, explain
from trainlaw.datasets.cnns.graph import Cnn, longest_path
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS, memory_per_sample
from trainlaw.datasets.cnns.zoo import build, zoo_names
from trainlaw.formulas.algebra.units import Unit


def network(net):
    return Cnn("net", "net", "net", net.shape(0)[1], net.channels(len(net.layers) - 1), net.layers)


def test_a_small_net_is_counted_as_by_hand():
    net = CnnBuilder()
    image = net.input(3, 8)
    left = net.conv(image, 4, 3)
    left = net.elementwise(net.elementwise(left, "batchnorm", vector_parameters=8), "relu")
    right = net.conv(image, 4, 5, 2, bias=True)
    joined = net.concat(net.pool(left, "max_pool", 2), right)
    x = net.conv(net.conv(joined, 8, 3, groups=2), 8, 3, groups=8, bias=True)
    net.elementwise(net.dense(net.elementwise(x, "dropout"), 5), "softmax")
    found = counts(network(net))
    assert found["conv_macs"] == 108 * 64 + 300 * 16
    assert found["grouped_conv_macs"] == 288 * 16
    assert found["depthwise_macs"] == 72 * 16
    assert found["dense_macs"] == 128 * 5
    assert found["macs"] == 6912 + 4800 + 4608 + 1152 + 640
    assert found["conv_params"] == 108 + 304 + 288 + 80
    assert found["dense_params"] == 645
    assert found["params"] == 780 + 645 + 8
    assert found["conv_output_elements"] == 256 + 64 + 128
    assert found["depthwise_output_elements"] == 128
    assert found["batchnorm_output_elements"] == 256
    assert found["batchnorm_pixels"] == 64
    assert found["concat_elements"] == 128
    assert found["pool_elements"] == 256
    assert found["elementwise_elements"] == 256 + 256 + 64 + 128 + 128 + 5
    assert found["activation_elements"] == 448 + 128 + 5 + 837
    assert found["im2col_elements"] == 27 * 64 + 75 * 16 + 72 * 16
    assert found["conv3x3_macs"] == 6912
    assert found["strided_conv_macs"] == 4800
    assert found["conv5x5_macs"] == found["conv1x1_macs"] == 0
    assert found["graph_width"] == pytest.approx(18112 / 13312)
    assert (found["depth"], found["depth_all_layers"]) == (4, 10)
    assert found["depthwise_input_macs"] == 128 * 9
    # Normalisation 8, ReLU 5, concat 4, dropout 4, gate 5 per element; pooling 4 and 3; three biases 3.
    moved = 256 * 8 + 256 * 5 + (4 * 256 + 3 * 64) + 4 * 128 + 4 * 128 + 2 * 5 + 3 * 5 + 3 * (64 + 128 + 5)
    assert found["moved_elements_8k"] == moved
    numbers = {"layers": 11, "conv": 3, "grouped_conv": 1, "depthwise": 1, "other": 2, "concat": 1, "pool": 1}
    assert numbers == {name: found[f"n_{name}"] for name in numbers} and found["n_activation"] == 1


def test_a_transposed_convolution_works_on_its_input():
    net = CnnBuilder()
    net.conv_transpose(net.input(4, 8), 6, 3, 2, padding=1, output_padding=1, bias=True)
    layer = net.layers[-1]
    assert (layer.out_height, layer.weights, layer.parameters, layer.macs) == (16, 216, 222, 216 * 64)
    assert counts(network(net))["im2col_elements"] == 64 * 6 * 9


def test_units_and_definitions_are_those_of_the_counts():
    rows = explain()
    assert [name for name, _, _ in rows] == list(counts(build("lenet5")))
    assert all(definition and len(definition) < 130 for _, _, definition in rows)
    for _, unit, _ in rows:
        assert unit == "1" or "^" in unit or str(Unit.parse(unit)) == unit


# What the shipped table has and the zoo has not, for a reason: docs/cnns.md.
EXPLAINED = {"alexnet_bvlc", "alexnet_mx", "se_resnext101_32x4d", "inception_resnet_v2"}


def test_the_shipped_table_is_that_of_the_zoo():
    table = cnn_table()
    assert len(table) >= 255 and set(table["cnn"]) == set(zoo_names())
    assert set(table.columns[5:]) == {*COUNT_COLUMNS, *MEMORY_COLUMNS}
    for key in table[["cnn", "input_size_px", "n_classes"]].itertuples(index=False, name=None):
        graph, shipped = build(*key), find_cnn_counts(*key)
        assert (graph.base, graph.family) == (shipped.cnn_base, shipped.cnn_family)
        assert shipped.memory == memory_per_sample(graph), key
        if key[0] not in EXPLAINED:
            assert counts(graph) == pytest.approx(shipped.counts, rel=1e-9), key


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(zoo_names()))
def test_relations_between_counts(name):
    found = counts(build(name))
    kinds = ("conv_macs", "grouped_conv_macs", "depthwise_macs", "dense_macs")
    assert found["macs"] == sum(found[kind] for kind in kinds)
    assert found["graph_width"] >= 1
    assert found["depth"] <= found["depth_all_layers"] <= found["n_layers"]
    numbers = "conv depthwise dense batchnorm pool activation add concat other".split()
    assert found["n_layers"] == sum(found[f"n_{number}"] for number in numbers)
    assert found["activation_elements"] == (
        found["conv_output_elements"]
        + found["depthwise_output_elements"]
        + found["elementwise_elements"]
        + sum(layer.out_channels for layer in build(name).layers if layer.kind == "dense")
    )


def test_the_longest_path_is_the_longest_of_all_paths():
    layers = build("squeezenet1_1", 64, 10).layers

    def paths_to(position):
        before = [path for source in layers[position].inputs for path in paths_to(source)]
        return [[*path, position] for path in before or [[]]]

    expected = max(sum(layers[step].macs for step in path) for path in paths_to(len(layers) - 1))
    assert longest_path(build("squeezenet1_1", 64, 10), [layer.macs for layer in layers]) == expected


def test_a_net_without_convolutions_has_finite_counts():
    net = CnnBuilder()
    net.elementwise(net.dense(net.input(1, 4), 3), "softmax")
    found = counts(network(net))
    assert all(math.isfinite(value) for value in found.values())
    assert found["conv_macs"] == found["conv_output_pixels"] == 0
