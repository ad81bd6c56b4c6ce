import numpy as np
import pytest
from trainlaw.datasets import CnnCounts, cnn_table, find_cnn, find_cnn_counts
from trainlaw.datasets.cnns.catalog import COUNT_COLUMNS, rough_memory
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS, MemoryPerSample, memory_per_sample
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.cnns.zoo import zoo_names
from trainlaw.datasets.files.mapping import joined_name
from trainlaw.formulas.errors import InputError, UnknownNameError


def test_shipped_table_is_whole():
    table = cnn_table()
    assert len(table) >= 255
    assert set(table["cnn"]) == set(zoo_names())
    assert set(table.columns[5:]) == {*COUNT_COLUMNS, *MEMORY_COLUMNS}
    assert np.isfinite(table[list(COUNT_COLUMNS)].to_numpy()).all()
    assert (table[list(COUNT_COLUMNS)] >= 0).all().all()


@pytest.mark.slow
def test_every_shipped_network_is_in_the_zoo_with_the_same_kin():
    for cnn, base, family, size, classes in cnn_table().iloc[:, :5].itertuples(index=False):
        graph = find_cnn(cnn, size, classes)
        assert (graph.base, graph.family) == (base, family)


def test_memory_of_the_table_is_that_of_the_graphs():
    for key in (
        cnn_table()[["cnn", "input_size_px", "n_classes"]].iloc[::9].itertuples(index=False, name=None)
    ):
        assert find_cnn_counts(*key).memory == memory_per_sample(find_cnn(*key)), key


def test_counts_of_graphs_and_of_the_table_agree_where_both_are():
    for key in (("resnet50", 224, 1000), ("densenet121", 224, 1000), ("mobilenet_v2_keras", 96, 10)):
        graph = CnnCounts.of(find_cnn(*key))
        assert find_cnn_counts(*key).counts == pytest.approx(graph.counts, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ResNet-50", "resnet50"),
        ("RegNet_X_1.6GF", "regnet_x_1_6gf"),
        ("regnet_x_16gf", "regnet_x_16gf"),
        ("VGG 16 BN", "vgg16_bn"),
        ("Inception v3", "inception_v3"),
    ],
)
def test_names_are_found_in_any_spelling(text, name):
    assert cnn_name(text) == name


def test_no_two_networks_share_a_spelling():
    assert len({joined_name(name) for name in zoo_names()}) == len(zoo_names())


@pytest.mark.parametrize(("text", "near"), [("resnet51", "resnet50"), ("vgg", "vgg16"), ("x" * 500, "known")])
def test_unknown_names_are_refused_with_near_ones(text, near):
    with pytest.raises(UnknownNameError, match=near):
        find_cnn_counts(text)


def test_bad_sizes_are_refused():
    with pytest.raises(InputError, match="too small"):
        find_cnn("vgg16", 2)


def test_memory_without_layers_keeps_all_outputs_and_two_of_the_largest():
    counted = {"activation_elements": 11.0, "max_layer_elements": 3.0, "im2col_elements": 5.0}
    assert rough_memory(counted) == MemoryPerSample(11, 0, 6, 5)
