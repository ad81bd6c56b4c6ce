"""The rule for images of any size gives the counts that the layers give, for CNNs of the workbook."""

import random

import pytest
from trainlaw.datasets import cnn_table
from trainlaw.datasets.cnns.any_size import CLASSES, LARGEST, SUMS, any_size
from trainlaw.datasets.cnns.catalog import CnnCounts
from trainlaw.datasets.cnns.zoo import build
from trainlaw.formulas import InputError

from ...rows import each_row

LISTED = sorted(set(cnn_table()[["cnn", "n_classes"]].itertuples(index=False, name=None)))
KEYS = [key for key in LISTED if any_size(key[0]) is not None]
CHOOSE = random.Random(3)
DRAWN = [(*CHOOSE.choice(KEYS), CHOOSE.choice([CHOOSE.randint(1, 80), CHOOSE.randint(60, 700)]))
         for _ in range(150)]  # fmt: skip


def by_layers(name, pixels, classes):
    try:
        found = CnnCounts.of(build(name, pixels, classes))
    except InputError:
        return {}
    memory = {key: getattr(found.memory, key) for key in ("kept_elements", "kept_bytes", *LARGEST)}
    return {key: float({**found.counts, **memory}[key]) for key in (*SUMS, *CLASSES, *LARGEST)}


@each_row(("name", "classes", "pixels"), DRAWN)
def test_counts_equal_those_of_the_layers(name, classes, pixels):
    rule = any_size(name, classes)
    assert rule.counts(pixels, classes) == by_layers(name, pixels, classes)


def test_every_listed_cnn_but_one_has_a_rule():
    assert {name for name, _ in LISTED} - {name for name, _ in KEYS} <= {"ssd300_resnet50"}


@pytest.mark.parametrize(
    "name", ["unet_medical", "retinanet_resnet50_fpn", "ssd300_resnet50", "timm/resnet50"]
)
def test_other_layers_have_none(name):
    # Resampled to the size of another layer, read at six sizes by one layer, or shipped at single sizes.
    assert any_size(name) is None


def test_classes_count_as_they_are_given():
    rule = any_size("squeezenet1_1")
    assert rule.counts(100, 777) == by_layers("squeezenet1_1", 100, 777)
    # With so few channels its last convolution becomes a thin one.
    assert rule.counts(100, 10) != any_size("squeezenet1_1", 10).counts(100, 10)
