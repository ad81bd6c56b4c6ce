from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets.cnns.windows import transposed_output, window_output

SIDES, STEPS = st.integers(1, 40), st.integers(1, 5)


@given(SIDES, st.integers(1, 9), STEPS, st.integers(0, 4), st.integers(0, 4))
def test_windows_are_counted_as_they_slide(side, reach, stride, before, after):
    starts = range(-before, side + after - reach + 1, stride)
    assert window_output(side, reach, stride, (before, after)) == (len(starts), before)


@given(SIDES, st.integers(1, 9), STEPS, st.integers(0, 4))
def test_a_last_incomplete_window_starts_inside_the_image(side, reach, stride, padding):
    padding = min(padding, reach // 2)
    starts = [start for start in range(-padding, side + padding - reach + stride, stride) if start < side]
    expected = len(starts) if reach <= side + 2 * padding else 0
    assert window_output(side, reach, stride, padding, ceil=True)[0] == expected


@given(SIDES, st.integers(1, 9), STEPS)
def test_same_padding_divides_by_the_stride(side, reach, stride):
    out, before = window_output(side, reach, stride, "same")
    assert out == -(-side // stride)
    total = max((out - 1) * stride + reach - side, 0)
    assert before == total // 2


@given(SIDES, st.integers(1, 9), STEPS, st.integers(0, 4))
def test_a_transposed_convolution_undoes_the_size(side, reach, stride, padding):
    out, _ = window_output(side, reach, stride, padding)
    if out:
        lost = (side + 2 * padding - reach) % stride
        assert transposed_output(out, reach, stride, padding, extra=lost)[0] == side
