import pytest
from trainlaw.datasets import configuration, find_gpu
from trainlaw.datasets.hardware.hypothetical import hypothetical_gpu, wanted_gpu
from trainlaw.formulas.errors import InputError

A100 = find_gpu("A100-SXM4-40GB")


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("A100-SXM4-40GB with 2x bandwidth", "bandwidth_byte_per_s", 2 * A100.bandwidth_byte_per_s),
        ("A100-SXM4-40GB with bandwidth=2x", "bandwidth_byte_per_s", 2 * A100.bandwidth_byte_per_s),
        ("NVIDIA A100-SXM4-40GB with l2_bytes=8e7, 2x memory", "l2_bytes", 8e7),
        ("A100-SXM4-40GB with 0.5x peak", "peak_fp16_flop_per_s", A100.peak_fp16_flop_per_s / 2),
        ("A100-SXM4-40GB with 0.5x peak", "peak_fp32_flop_per_s", A100.peak_fp32_flop_per_s / 2),
    ],
)
def test_one_line_changes_a_gpu(text, fact, value):
    gpu = hypothetical_gpu(text)
    assert getattr(gpu, fact) == value
    assert gpu.gpu.startswith("A100-SXM4-40GB with ")
    assert gpu.source_of(fact) == "hypothetical"
    assert gpu.source_of("sm_count") == A100.source_of("sm_count")
    assert (gpu.gpu_group, gpu.sm_count) == (A100.gpu_group, A100.sm_count)


def test_a_factor_of_the_peak_changes_all_rates():
    gpu = find_gpu("RTX 3090")
    faster = hypothetical_gpu("RTX 3090 with 2x peak")
    for fact in ("peak_fp32_flop_per_s", "comparable_fp32_flop_per_s", "tensor_fp16_flop_per_s"):
        assert getattr(faster, fact) == 2 * getattr(gpu, fact)
    unstated = find_gpu("GTX 1080")
    assert hypothetical_gpu("GTX 1080 with 2x peak").number(
        "comparable_fp32_flop_per_s"
    ) == 2 * unstated.number("comparable_fp32_flop_per_s")


def test_rates_follow_lanes_and_clock_unless_they_are_changed():
    slower = hypothetical_gpu("A100-SXM4-40GB with 0.5x boost, peak_fp32_flop_per_s=3e13")
    assert slower.peak_fp16_flop_per_s == A100.peak_fp16_flop_per_s / 2
    assert (slower.base_clock_hz, slower.peak_fp32_flop_per_s) == (A100.base_clock_hz / 2, 3e13)
    wider = hypothetical_gpu("A100-SXM4-40GB with 2x core_count")
    assert (wider.sm_count, wider.peak_tf32_flop_per_s) == (216, 2 * A100.peak_tf32_flop_per_s)


def test_a_plain_name_stays_a_plain_gpu():
    assert wanted_gpu("GeForce RTX 2070 with Max-Q Design").gpu == "RTX 2070 Max-Q"
    assert wanted_gpu("Tesla T4") == find_gpu("T4")


def test_prediction_sees_the_changed_fact():
    plain = configuration(cnn="resnet18", gpu="T4", batch_per_gpu=8)
    faster = configuration(cnn="resnet18", gpu="T4 with 2x bandwidth", batch_per_gpu=8)
    names = ["bandwidth_byte_per_s", "conv_output_memory_s", "conv_compute_s"]
    assert (faster.matrix(names) / plain.matrix(names)).tolist() == [[2.0, 0.5, 1.0]]


def test_overrides_have_at_most_five_hundred_characters():
    text = "T4 with 2x bandwidth"
    assert hypothetical_gpu(text.ljust(500)) == hypothetical_gpu(text)
    with pytest.raises(InputError, match="with overrides"):
        hypothetical_gpu(text.ljust(501))
