import pytest
from trainlaw.datasets import find_cnn_counts, load
from trainlaw.datasets.cnns.names import cnn_name, cnn_names
from trainlaw.datasets.cnns.zoo import build, zoo_entry
from trainlaw.formulas.errors import UnknownNameError

from ...rows import each_row
from .published import agrees, published

TORCHVISION = published("published_torchvision.csv")
TRANSFORMERS = ("maxvit", "swin", "vit")


def test_all_classifiers_of_torchvision_are_listed():
    assert len({row["name"] for row in TORCHVISION}) == 80


@each_row("row", TORCHVISION)
@pytest.mark.parametrize("prefix", ["torchvision.models.", "torchvision/"])
def test_published_columns_of_torchvision(row, prefix):
    name = prefix + row["name"]
    if row["name"].startswith(TRANSFORMERS):
        with pytest.raises(UnknownNameError, match="transformer"):
            find_cnn_counts(name)
        return
    counts = find_cnn_counts(name, int(row["input_size_px"])).counts
    assert counts["params"] == int(row["params"])
    if row["name"] == "inception_v3":
        # torchvision counts operations in evaluation, without the second classifier.
        counts = find_cnn_counts("inception_v3", 299).counts
    assert agrees(counts["macs"] / 1e9, row["gmacs"])


# Bare names that torchvision shares with other sources, whose networks the tables of runs hold under them.
SHARED = {"googlenet", "inception_v3"}


@each_row(
    "row",
    [row for row in TORCHVISION if not row["name"].startswith(TRANSFORMERS) and row["name"] not in SHARED],
)
def test_bare_names_of_torchvision_are_its_networks(row):
    assert find_cnn_counts(row["name"], int(row["input_size_px"])).counts["params"] == int(row["params"])


@each_row(("text", "name"), [(row["text"], row["cnn"]) for row in published("cnn_names.csv")])
def test_names_are_found_as_people_write_them(text, name):
    assert cnn_name(text) == name


def test_every_known_name_is_found_on_the_command_line_as_in_a_table():
    for name in cnn_names():
        assert cnn_name(name) == name
        assert zoo_entry(name).input_size_px > 0


@pytest.mark.parametrize(
    ("name", "of_authors", "of_torchvision"),
    [
        ("regnet_x_400mf", 5_157_512, 5_495_976),
        ("regnet_y_800mf", 6_263_168, 6_432_512),
        ("regnet_y_8gf", 39_180_068, 39_381_472),
    ],
)
def test_a_regnet_means_the_same_in_tables_and_on_the_command_line(name, of_authors, of_torchvision):
    assert cnn_name(name) == f"{name}_torch"
    assert find_cnn_counts(name).counts["params"] == of_torchvision
    assert find_cnn_counts(f"pycls/{name}").counts["params"] == of_authors
    # The runs of the authors are those of the authors' CNN.
    runs = load("multi").where(source="pycls").frame
    assert f"pycls/{name}" in set(runs["cnn"]) and name not in set(runs["cnn"])


def test_a_cnn_of_timm_can_be_built_at_any_size():
    cnn = build("timm/resnet50d", 96, 10)
    assert (cnn.layers[0].out_height, cnn.layers[-1].out_channels) == (96, 10)
