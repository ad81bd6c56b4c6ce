import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets import FEATURES, configuration
from trainlaw.datasets.features.feature import written_out
from trainlaw.formulas import evaluate

from ...rows import each_row

FORMS = ("ring_s", "tree_s", "butterfly_s", "parameter_server_s")
EXPRESSIONS = {name: written_out(FEATURES, name) for name in (*FORMS, "ring_transfer_s")}
sizes = st.floats(0, 1e10)
rates = st.floats(1e6, 1e12)


def seconds_of(name, size, n, rate, latency):
    """A feature's definition for `size` bytes among `n` GPUs of one node."""
    columns = {
        "params": size / 4,
        "n_gpus": float(n),
        "exchange_rounds": np.ceil(np.log2(n)),
        "link_s_per_byte": 1 / rate,
        "link_latency_s": latency,
        "network_s_per_byte": 0.0,
        "network_latency_s": 0.0,
    }
    values, valid = evaluate(EXPRESSIONS[name], {key: np.array([value]) for key, value in columns.items()})
    assert valid.all()
    return values.item()


@pytest.mark.parametrize("name", FORMS)
@given(size=sizes, rate=rates, latency=st.floats(0, 1e-3))
def test_one_participant_exchanges_nothing(name, size, rate, latency):
    assert seconds_of(name, size, 1, rate, latency) == 0.0


@pytest.mark.parametrize("name", FORMS)
@given(size=sizes, n=st.integers(1, 512), rate=rates, latency=st.floats(0, 1e-3))
def test_more_participants_never_take_less(name, size, n, rate, latency):
    less, more = (seconds_of(name, size, count, rate, latency) for count in (n, n + 1))
    assert more >= less * (1 - 1e-12)


@given(sizes, st.integers(2, 512), rates)
def test_ring_sends_less_than_twice_the_size(size, n, rate):
    sent = seconds_of("ring_transfer_s", size, n, rate, 0.0)
    assert size / rate * 0.999 <= sent <= 2 * size / rate * 1.001


@each_row("n_gpus", [*range(1, 66), 127, 128, 129, 1023, 1024, 1025])
def test_rounds_of_an_exchange(n_gpus):
    """The rounds are the doublings until all GPUs are reached."""
    doublings = 0
    while 2**doublings < n_gpus:
        doublings += 1
    run = configuration(cnn="lenet5", gpu="T4", batch_per_gpu=8, n_gpus=n_gpus, n_nodes=1)
    assert run.matrix(["exchange_rounds"]).item() == doublings
