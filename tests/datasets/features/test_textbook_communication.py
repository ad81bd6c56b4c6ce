"""The time of every algorithm equals its textbook alpha-beta form, written out anew, for 1 to 64 GPUs."""

import math

import pandas as pd
import pytest
from trainlaw.datasets import RunTable, configuration, find_cnn_counts, find_link
from trainlaw.datasets.hardware.collectives import ALGORITHMS

CNN = find_cnn_counts("resnet50")
LINK, NETWORK = find_link("nvlink2-x6"), find_link("infiniband-edr")
BATCH = 16


def rounds(n):
    return math.ceil(math.log2(n)) if n > 1 else 0


def textbook(algorithm, n, nodes):
    """Seconds of an exchange among `n` GPUs on `nodes` nodes: M bytes, B bytes/s, a seconds of latency."""
    size, g = 4 * CNN.counts["params"], n // nodes
    inside = (LINK.s_per_byte, LINK.latency_s) if g > 1 else (0.0, 0.0)
    across = (NETWORK.s_per_byte, NETWORK.latency_s) if nodes > 1 else (0.0, 0.0)
    per_byte, latency = (max(pair) for pair in zip(inside, across, strict=True))

    def ring(count, way):
        return 2 * (count - 1) / count * size * way[0] + 2 * (count - 1) * way[1]

    cut = BATCH * 4 * CNN.counts["conv_output_elements"] / CNN.counts["n_conv"]
    whole = size * per_byte + latency
    forms = {
        "ring": ring(n, (per_byte, latency)),
        "mpi": ring(n, (per_byte, latency)),
        "tree": 2 * rounds(n) * whole,
        "butterfly": rounds(n) * whole,
        "parameter_server": 2 * (n - 1) * whole,
        "hierarchical_ring": ring(g, inside) + ring(nodes, across),
        "data_parallel": 2 * (g - 1) * (size * inside[0] + inside[1]),
        "model_parallel": 2 * (n - 1) * (cut * per_byte + latency),
    }
    return forms[algorithm]


COUNTS = [(n, nodes) for n in range(1, 65) for nodes in sorted({1, 2 - n % 2, n})]


@pytest.fixture(scope="module")
def together():
    """One run per number of GPUs and nodes."""
    runs = [
        configuration(
            cnn=CNN,
            gpu="V100-SXM2-16GB",
            batch_per_gpu=BATCH,
            n_gpus=n,
            n_nodes=nodes,
            link="nvlink2",
            network="ib-edr",
            algorithm="ring",
        )
        for n, nodes in COUNTS
    ]
    return pd.concat([run.frame for run in runs]), runs[0].facts


@pytest.mark.parametrize("algorithm", ALGORITHMS[1:])
def test_every_algorithm_has_its_textbook_time(algorithm, together):
    frame, facts = together
    # One GPU exchanges nothing, by no algorithm.
    exchanged = frame.assign(algorithm=frame["algorithm"].where(frame["n_gpus"] == 1, algorithm))
    found = RunTable("together", exchanged, facts).matrix(["communication_s"])[:, 0]
    for seconds, (n, nodes) in zip(found, COUNTS, strict=True):
        assert seconds == pytest.approx(textbook(algorithm, n, nodes), rel=1e-12), (n, nodes)
