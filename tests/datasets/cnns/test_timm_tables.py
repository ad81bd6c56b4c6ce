"""The shipped CNNs of timm against its published columns."""

import re

import pytest
from trainlaw.datasets.cnns.catalog import COUNT_COLUMNS, keyed_cnn_counts
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS, memory_per_sample
from trainlaw.datasets.cnns.zoo import PREFIX, build, timm_names, timm_table, zoo_entry

from ...rows import each_row
from .published import published

# Columns param_count, gmacs and macts of results/benchmark-train-amp-*-cu113-rtx3090.csv in
# github.com/huggingface/pytorch-image-models at aa4b5850c1543fa488abf260f18390eda46cf85d, Apache-2.0, and of
# results/benchmark-infer-amp-*.csv at the commits of the data set forward.
OF_TRAINING, OF_FORWARD = published("published_timm.csv"), published("published_timm1.csv")
PUBLISHED = OF_TRAINING + OF_FORWARD
COUNTED = [row for row in PUBLISHED if row["gmacs"]]
# timm built convnext_base under these names when it measured with torch 1.10 and 1.11.
MISNAMED = {f"convnext_{size}_{rest}" for size in ("tiny", "small") for rest in ("in22ft1k", "384_in22ft1k")}
# fvcore, timm's counter, sees no convolution whose padding is a word, and the mixing of experts' weights in
# another layer than ours: activations differ.
UNSEEN = re.compile(r"convmixer|(tf_)?efficientnet_cc")
# Layers that normalise with operations of their own, which fvcore does not count.
PLAIN_NORMS = re.compile(r".*_(evos|evob|frn)$")


def close(value: float, published: str) -> bool:
    """Whether a value is within 1 % of a published figure of two decimals, or rounds to it."""
    return abs(value - float(published)) <= 0.01 * float(published) + 0.005


def millions(row: dict) -> dict[str, float]:
    facts = keyed_cnn_counts(PREFIX + row["name"], int(row["input_size_px"]))
    return {name: value / 1e6 for name, value in facts.counts.items()}


@pytest.mark.parametrize(("later", "rows", "names"), [(False, OF_TRAINING, 537), (True, OF_FORWARD, 337)])
def test_all_cnns_of_the_benchmarks_are_shipped(later, rows, names):
    table = timm_table(later)
    assert len(set(table["cnn"])) == names
    listed = {(PREFIX + row["name"], int(row["input_size_px"])) for row in rows}
    assert listed == set(zip(table["cnn"], table["input_size_px"], strict=True))
    assert list(table.columns[5:]) == [*COUNT_COLUMNS, *MEMORY_COLUMNS]
    assert (table[list(COUNT_COLUMNS)] >= 0).all().all()


def test_parameters_are_those_published():
    wrong = [row for row in PUBLISHED if not close(millions(row)["params"], row["params_millions"])]
    assert {row["name"] for row in wrong} == MISNAMED
    assert all(row["params_millions"] == "88.59" for row in wrong)


def test_activations_are_those_published():
    outputs = ("conv_output_elements", "depthwise_output_elements")
    wrong = [
        row
        for row in COUNTED
        if not close(sum(millions(row)[name] for name in outputs), row["macts_millions"])
    ]
    assert all(UNSEEN.match(row["name"]) for row in wrong), [row["name"] for row in wrong]


def test_macs_are_those_published_or_less_by_the_normalisations():
    """fvcore counts normalisations as multiply-accumulates; without them most agree to 1 %."""
    wrong = [row for row in COUNTED if not close(millions(row)["macs"] / 1e3, row["gmacs"])]
    assert len(COUNTED) - len(wrong) >= 0.7 * len(COUNTED)
    for row in wrong:
        counted = counted_by_fvcore(row["name"], int(row["input_size_px"]))
        assert close(counted / 1e9, row["gmacs"]) or row["name"].startswith("convmixer"), row["name"]


def counted_by_fvcore(name: str, size: int) -> float:
    """MACs with what fvcore 0.1.5 adds: 2 per element of a batch normalisation with fixed statistics, 5 (or
    4, without scale and shift) per element of another and per weight that is standardised.
    """
    layers = build(PREFIX + name, size).layers
    of_batch = sum(layer.output_elements for layer in layers if layer.kind == "batchnorm")
    others = sum(layer.output_elements for layer in layers if layer.kind in ("layernorm", "groupnorm"))
    images = (layer for layer in layers if layer.kind == "conv" and layer.out_height > 1)
    weights = sum(layer.weights for layer in images)
    per_weight = 5 if re.match(r"(dm_|eca_)?nfnet|nf_", name) else 4 if "_bit" in name else 0
    per_norm = 0 if PLAIN_NORMS.match(name) else 5
    macs = sum(layer.macs for layer in layers)
    return macs + 2 * of_batch + per_norm * others + per_weight * weights


@each_row("name", timm_names()[::12])
def test_layers_give_the_shipped_counts(name):
    entry = zoo_entry(name)
    cnn = build(name)
    shipped = keyed_cnn_counts(name, entry.input_size_px)
    assert shipped.counts == pytest.approx(counts(cnn), rel=1e-12)
    assert shipped.memory == memory_per_sample(cnn)
    assert (cnn.base, cnn.family) == (shipped.cnn_base, shipped.cnn_family)
