import re
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.zoo import build, zoo_entry, zoo_names
from trainlaw.datasets.files.mapping import joined_name

from ...rows import each_row
from .published import agrees, published

PUBLISHED = published("published.csv")


@cache
def counted(name, input_size_px, n_classes):
    """A net and its counts, once for all tests: there are 160 nets."""
    cnn = build(name, input_size_px, n_classes)
    return cnn, counts(cnn)


@each_row("row", PUBLISHED)
def test_published_figures(row):
    found = counted(row["cnn"], int(row["input_size_px"]), int(row["n_classes"]))[1]
    if row["params"]:
        assert found["params"] == int(row["params"])
    if row["params_millions"]:
        assert agrees(found["params"] / 1e6, row["params_millions"])
    if row["macs_billions"]:
        assert agrees(found["macs"] / 1e9, row["macs_billions"])


def test_enough_nets_have_exact_published_figures():
    exact = {row["cnn"] for row in PUBLISHED if row["params"] and row["macs_billions"]}
    assert len(exact) >= 60
    assert len(zoo_names()) >= 60


@each_row("name", zoo_names())
def test_every_net_builds_with_its_usual_input(name):
    entry = zoo_entry(name)
    cnn, found = counted(name, entry.input_size_px, entry.n_classes)
    assert (cnn.name, cnn.base, cnn.family) == (name, entry.base, entry.family)
    assert (cnn.input_size_px, cnn.n_classes) == (entry.input_size_px, entry.n_classes)
    last = cnn.layers[-1]
    assert (last.kind, last.out_channels) == ("softmax", entry.n_classes)
    assert last.out_height == last.out_width == 1
    assert all(value >= 0 for value in found.values())


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["resnet18", "vgg11", "mobilenet_v2", "densenet121", "googlenet"]),
    st.integers(64, 320),
    st.integers(1, 2000),
)
def test_any_size_and_class_count(name, size, n_classes):
    cnn = build(name, size, n_classes)
    assert cnn.layers[0].out_height == size
    assert cnn.layers[-1].out_channels == n_classes
    assert counts(cnn)["input_elements"] == 3 * size * size


def test_names_are_listed_without_building(monkeypatch):
    monkeypatch.setattr(CnnBuilder, "__init__", None)
    assert list(zoo_names()) == sorted(zoo_names())
    assert "resnet50" in zoo_names()


def test_names_do_not_run_into_each_other():
    assert len({joined_name(name) for name in zoo_names()}) == len(zoo_names())
    assert all(re.fullmatch(r"(pycls/)?[a-z0-9_()]+", name) for name in zoo_names())
