"""Each value of a GPU has a source, and what a source claims to be derived can be derived."""

from math import isnan

import pytest
from trainlaw.datasets import built_in_gpus, find_gpu, find_link
from trainlaw.datasets.files.storage import read_data_table
from trainlaw.datasets.hardware.gpus import FACT_COLUMNS, STATED_NUMBERS
from trainlaw.formulas import UnknownNameError

from ...rows import each_row

GPUS = built_in_gpus().gpus
DERIVED = {
    "derived: 2 x core_count x boost_clock_hz": (lambda g: 2 * g.core_count * g.boost_clock_hz, 1e-9),
    "derived: 2 x core_count x base_clock_hz": (lambda g: 2 * g.core_count * g.base_clock_hz, 5e-3),
    "derived: the fp32 rate": (lambda g: g.peak_fp32_flop_per_s, 0),
    "derived: half of peak_fp16_flop_per_s": (lambda g: g.peak_fp16_flop_per_s / 2, 1e-9),
    "derived: peak_fp16_flop_per_s": (lambda g: g.peak_fp16_flop_per_s, 0),
    "derived: tensor_fp16_flop_per_s": (lambda g: g.tensor_fp16_flop_per_s, 0),
    "derived: 4 x peak_fp32_flop_per_s": (lambda g: 4 * g.peak_fp32_flop_per_s, 1e-9),
    "derived: half of tensor_fp16_flop_per_s": (lambda g: g.tensor_fp16_flop_per_s / 2, 3e-3),
    "derived: peak_fp32_flop_per_s": (lambda g: g.peak_fp32_flop_per_s, 1e-9),
    "derived: half of peak_fp32_flop_per_s": (lambda g: g.peak_fp32_flop_per_s / 2, 1e-9),
    "derived: twice peak_fp32_flop_per_s": (lambda g: 2 * g.peak_fp32_flop_per_s, 1e-9),
    "derived: 1/64 of peak_fp32_flop_per_s": (lambda g: g.peak_fp32_flop_per_s / 64, 1e-9),
    "derived: twice the fp32 rate": (lambda g: 2 * g.peak_fp32_flop_per_s, 1e-2),
}
NOT_A_NUMBER = ("gpu_group", "compute_capability", "l1_bytes_per_sm")


def test_lines_name_known_gpus_and_columns():
    for line in read_data_table("gpu_sources.csv").to_dict("records"):
        assert set(line["columns"].split(";")) <= set(FACT_COLUMNS)
        if line["gpus"] != "*":
            assert set(line["gpus"].split(";")) <= {gpu.gpu for gpu in GPUS}


@each_row("gpu", GPUS)
def test_every_value_has_a_source_and_unknown_values_are_unknown(gpu):
    for column in FACT_COLUMNS:
        value = getattr(gpu, column)
        is_known = not isnan(value) if isinstance(value, float) else bool(value)
        assert (gpu.source_of(column) != "unknown") == is_known, column


@each_row("gpu", GPUS)
def test_what_is_derived_can_be_derived(gpu):
    derived = [name for name in FACT_COLUMNS if gpu.source_of(name).startswith("derived")]
    for name in derived:
        if name in NOT_A_NUMBER:
            continue
        (rule,) = [DERIVED[text] for text in DERIVED if gpu.source_of(name).startswith(text)]
        assert getattr(gpu, name) == pytest.approx(rule[0](gpu), rel=rule[1], abs=0), name
    assert gpu.gpu_group == f"{gpu.chip}-{gpu.sm_count:g}"


@each_row("gpu", GPUS)
def test_what_agrees_with_lanes_and_clock_does(gpu):
    source = gpu.source_of("peak_fp32_flop_per_s")
    for factor in (2, 4):
        if f"agrees with {factor} x core_count x boost_clock_hz" in source:
            rate = factor * gpu.core_count * gpu.boost_clock_hz
            assert gpu.peak_fp32_flop_per_s == pytest.approx(rate, rel=1e-2 if factor == 4 else 5e-3)


def test_gpus_of_a_generation_share_its_compute_capability():
    """What is derived from a generation: some have two."""
    seen = {}
    for gpu in GPUS:
        if gpu.compute_capability:
            seen.setdefault(gpu.generation, set()).add(gpu.compute_capability)
    for generation, found in seen.items():
        of_two = ("Ampere", "Blackwell", "Blackwell 2.0", "Pascal", "Kepler")
        assert len(found) == 1 or generation in of_two, generation


def test_sources_of_figures_from_sheets_are_named():
    assert "V100 data sheet" in find_gpu("V100-SXM2-16GB").source_of("peak_fp32_flop_per_s")
    assert find_gpu("V100-SXM2-16GB").source_of("gpu_group") == "derived: chip and sm_count"
    assert find_gpu("T4").source_of("gpu_link") == "unknown"
    with pytest.raises(UnknownNameError, match="bandwidth_byte_per_s"):
        find_gpu("T4").source_of("bandwidth_byte_per_second")
    assert len(STATED_NUMBERS) >= 15


def test_a_link_has_a_source_for_each_figure():
    link = find_link("nvlink4-x18")
    assert link.source_of("nominal_byte_per_s").startswith("NVIDIA H100 whitepaper")
    assert link.source_of("latency_s") == "recalled"
    assert find_link("none").source_of("latency_s") == "unknown"
    with pytest.raises(UnknownNameError, match="latency_s"):
        link.source_of("latency")
