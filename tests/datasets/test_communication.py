import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets.communication import butterfly_s, parameter_server_s, ring_s, ring_transfer_s, tree_s

FORMS = (ring_s, tree_s, butterfly_s, parameter_server_s)
sizes = st.floats(0, 1e10)
rates = st.floats(1e6, 1e12)


@pytest.mark.parametrize("form", FORMS)
@given(size=sizes, rate=rates, latency=st.floats(0, 1e-3))
def test_one_participant_exchanges_nothing(form, size, rate, latency):
    assert form(size, 1.0, 1 / rate, latency) == 0.0


@pytest.mark.parametrize("form", FORMS)
@given(size=sizes, n=st.integers(1, 512), rate=rates, latency=st.floats(0, 1e-3))
def test_more_participants_never_take_less(form, size, n, rate, latency):
    less, more = form(size, float(n), 1 / rate, latency), form(size, n + 1.0, 1 / rate, latency)
    assert more >= less * (1 - 1e-12)


@pytest.mark.parametrize(
    ("form", "seconds"),
    # 1 GB over 8 participants at 1 GB/s and 1 ms, by hand.
    [
        (ring_s, 2 * 7 / 8 + 14e-3),
        (tree_s, 6 * 1.001),
        (butterfly_s, 3 * 1.001),
        (parameter_server_s, 14 * 1.001),
    ],
)
def test_textbook_values(form, seconds):
    assert form(1e9, 8.0, 1e-9, 1e-3) == pytest.approx(seconds, rel=1e-12)


@given(sizes, st.integers(2, 512), rates)
def test_ring_sends_less_than_twice_the_size(size, n, rate):
    assert size / rate * 0.999 <= ring_transfer_s(size, float(n), 1 / rate) <= 2 * size / rate * 1.001


def test_forms_take_arrays():
    n = np.array([1.0, 2.0, 4.0])
    assert ring_s(4e9, n, 1 / 1e9, 0.0).tolist() == [0.0, 4.0, 6.0]
