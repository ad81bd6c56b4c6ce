"""Joins: each column is computed from the right row of the right table, and only when it is asked for."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import Gpu, GpuCatalog, configuration, find_cnn_counts, find_gpu, find_link
from trainlaw.datasets.tables.joins import Facts, GpuJoin, RunJoin
from trainlaw.formulas.errors import UnknownNameError

CATALOG = GpuCatalog(
    (
        Gpu(
            "slow", peak_fp32_flop_per_s=1e12, peak_fp16_flop_per_s=2e12, boost_clock_hz=1e9, peer_access=0.0
        ),
        Gpu("fast", peak_fp32_flop_per_s=3e12, peak_fp16_flop_per_s=8e12, base_clock_hz=2e9, gpu_group="new"),
    )
)


def table(**columns):
    rows = {
        "gpu": ["fast", "slow", "fast"],
        "precision": ["fp32", "amp", "fp16"],
        "batch": [1.0, np.nan, 4.0],
    }
    return pd.DataFrame(rows | columns)


def test_each_row_has_the_specifications_of_its_gpu():
    joined = GpuJoin(table(), CATALOG)
    columns = joined.makers(["batch"], {"double": lambda rows: 2 * rows.number("batch")})
    assert columns["peak_flop_per_s"]().tolist() == [3e12, 2e12, 8e12]
    assert columns["bytes_per_element"]().tolist() == [4.0, 2.0, 2.0]
    # An unknown base clock counts as the boost clock.
    assert columns["base_clock_hz"]().tolist() == [2e9, 1e9, 2e9]
    assert np.isnan(columns["batch"]()).tolist() == [False, True, False]
    assert columns["double"]()[[0, 2]].tolist() == [2.0, 8.0]
    assert joined.texts("gpu_group").tolist() == ["new", "", "new"]
    assert joined.texts("precision").tolist() == ["fp32", "amp", "fp16"]


def test_a_text_is_looked_up_once_per_different_value():
    asked = []
    values = GpuJoin(table(), CATALOG).looked_up("gpu", lambda name: asked.append(name) or float(len(asked)))
    assert asked == ["fast", "slow"]
    assert values.tolist() == [1.0, 2.0, 1.0]


def runs(**options):
    parts = [
        configuration(cnn="vgg16", gpu="T4", batch_per_gpu=8),
        configuration(
            cnn="resnet50",
            gpu="T4",
            batch_per_gpu=4,
            n_gpus=8,
            n_nodes=2,
            precision="amp",
            algorithm="tree",
            network="ib-edr",
            timed_parts="forward+backward+copy",
        ),
    ]
    return pd.concat([part.frame for part in parts], ignore_index=True).assign(**options)


@pytest.fixture
def columns():
    return RunJoin(runs(), Facts(GpuCatalog((find_gpu("T4"),)))).columns()


def test_runs_are_joined_with_cnn_gpu_and_interconnects(columns):
    counts = [find_cnn_counts(cnn).counts["macs"] for cnn in ("vgg16", "resnet50")]
    assert columns["macs"]().tolist() == counts
    assert columns["is_tensor_precision"]().tolist() == [0.0, 1.0]
    assert columns["has_optimizer"]().tolist() == [1.0, 0.0]
    assert columns["has_input_copy"]().tolist() == [0.0, 1.0]
    assert (columns["is_tree"]().tolist(), columns["is_ring"]().tolist()) == ([0.0, 1.0], [0.0, 0.0])
    assert columns["exchange_rounds"]().tolist() == [0.0, 3.0]
    # One GPU and one node have no link: it takes no time.
    fabric = find_link("ib-edr")
    assert columns["network_byte_per_s"]().tolist() == [0.0, fabric.effective_byte_per_s]
    assert columns["network_s_per_byte"]().tolist() == [0.0, fabric.s_per_byte]
    assert columns["network_latency_s"]().tolist() == [0.0, fabric.latency_s]
    assert columns["link_latency_s"]()[1] == find_link(find_gpu("T4").host_link).latency_s
    assert columns["link_byte_per_s"]()[1] == find_link(find_gpu("T4").host_link).effective_byte_per_s


def test_stated_peer_access_overrides_that_of_the_gpu():
    facts = Facts(GpuCatalog((find_gpu("T4"),)))
    stated = RunJoin(runs(peer_access=[0.5, np.nan]), facts).columns()["peer_access"]()
    assert stated.tolist() == [0.5, find_gpu("T4").peer_access]


def test_labels_of_a_cnn_without_counts_are_its_name():
    joined = RunJoin(runs(cnn=["vgg16", "mystery"]), Facts(GpuCatalog((find_gpu("T4"),))))
    assert joined.texts("cnn_base").tolist() == ["vgg16", "mystery"]
    assert joined.texts("cnn_family").tolist() == ["vgg", "unknown"]
    assert joined.texts("gpu").tolist() == ["T4", "T4"]
    with pytest.raises(UnknownNameError, match="mystery"):
        joined.columns()["macs"]()


def test_added_cnns_come_before_the_zoo():
    custom = find_cnn_counts("lenet5")
    facts = Facts(GpuCatalog(()), (custom,))
    assert facts.cnn(custom.key) is custom
    assert facts.cnn(("vgg16", 224, 1000)) == find_cnn_counts("vgg16")
