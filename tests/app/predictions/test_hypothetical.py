"""No change of a specification makes the time go the wrong way: swept over all GPUs."""

import numpy as np
import pytest
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.scopes import formula_rows
from trainlaw.datasets import built_in_gpus
from trainlaw.datasets.cnns.catalog import find_cnn_counts
from trainlaw.datasets.hardware.gpus import GpuCatalog
from trainlaw.datasets.hardware.hypothetical import hypothetical_gpu
from trainlaw.datasets.measurements.runs import Setup, configuration_row, unmeasured_runs
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import InputError, load_formula

# More of each is never slower, less never faster.
BETTER = """boost_clock_hz core_count sm_count base_clock_hz bandwidth_byte_per_s l2_bytes l1_bytes_per_sm
    last_level_cache_bytes peak peak_fp32_flop_per_s peak_tf32_flop_per_s peak_fp16_flop_per_s
    peak_bf16_flop_per_s comparable_fp32_flop_per_s memory_bytes""".split()
CNNS = [find_cnn_counts(name) for name in ("resnet50", "mobilenet_v2", "convnext_tiny")]
# A host that never decides hides no change.
SETUPS = [Setup(precision, host_launch_s=1e-6) for precision in (None, "fp32", "amp")]


def seconds(gpus):
    """Times by GPU, shape (n_gpus, n_cnns x n_setups), s."""
    rows = [configuration_row(cnn, gpu, 64, one) for gpu in gpus for cnn in CNNS for one in SETUPS]
    runs = unmeasured_runs("swept", rows, Facts(GpuCatalog(tuple(gpus)), tuple(CNNS)))
    formula = load_formula(BUILT_IN)
    return formula_rows(formula, runs).predict(formula).reshape(len(gpus), -1)


def changed(gpu, text):
    """The changed GPU; the plain one where the change is refused with a reason."""
    try:
        return hypothetical_gpu(f"{gpu.gpu} with {text}")
    except InputError:
        return gpu


@pytest.mark.parametrize("factor", [0.5, 2])
def test_no_change_goes_the_wrong_way(factor):
    gpus = [gpu for gpu in built_in_gpus().gpus if gpu.device == "GPU"]
    usual = seconds(gpus)
    for name in BETTER:
        ratio = seconds([changed(gpu, f"{factor}x {name}") for gpu in gpus]) / usual
        wrong = ratio > 1 + 1e-9 if factor > 1 else ratio < 1 - 1e-9
        assert not wrong.any(), (name, [gpus[row].gpu for row in np.flatnonzero(wrong.any(axis=1))])
