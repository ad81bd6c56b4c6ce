"""Micro-benchmarks become rates: hand-made times give back the constants that they were made of."""

import math

import pytest
from trainlaw.datasets.profiler.micro import (
    MICRO_COLUMNS,
    MicroTime,
    conv_flop,
    matmul_flop,
    per_layer_overhead,
    rate_cells,
)


def test_rates_are_work_over_time():
    assert matmul_flop(1000) == 2e9
    assert conv_flop(2, 3, 5) == 2 * 9 * 3 * 3 * 5 * 5 * 2
    matmul = MicroTime("matmul", "1000", 2e9, 0.5)
    assert list(matmul.cells.values()) == ["matmul", "1000", 0.5, 4e9, "FLOP/s"]
    assert (MicroTime("copy", "1 B", 2.0, 0.5).unit, MicroTime("conv", "", 2.0, 0.5).unit) == (
        "B/s",
        "FLOP/s",
    )
    assert math.isnan(MicroTime("launch", "1", 0.0, 1e-6).rate)


def test_the_table_holds_the_best_product_and_the_largest_copy():
    times = [
        MicroTime("matmul", "128", 1e9, 1.0),
        MicroTime("matmul", "256", 1e9, 0.5),
        MicroTime("copy", "1", 1e3, 1e-9),
        MicroTime("copy", "2", 1e9, 0.1),
        MicroTime("launch", "1", 0.0, 2e-6),
        MicroTime("layer", "1", 0.0, 3e-6),
    ]
    row = rate_cells(times)
    assert {*row, "gpu", "threads", "precision", "measured_at"} == set(MICRO_COLUMNS)
    assert row["achieved_matmul_flop_per_s"] == 2e9
    assert row["achieved_copy_byte_per_s"] == pytest.approx(1e10)
    assert (row["launch_latency_s"], row["host_overhead_per_layer_s"]) == (2e-6, 3e-6)
    assert math.isnan(rate_cells([])["achieved_conv_flop_per_s"])


def test_overhead_of_a_layer_is_the_slope():
    assert per_layer_overhead({50: 1e-4, 100: 2e-4, 200: 4e-4}) == pytest.approx(2e-6)
