"""Hypothetical GPUs: no change of a specification makes times go the wrong way without a word."""

from itertools import product

import numpy as np
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.scopes import formula_rows
from trainlaw.datasets import GpuCatalog, built_in_gpus, find_cnn_counts
from trainlaw.datasets.hardware.hypothetical import hypothetical_gpu
from trainlaw.datasets.measurements.runs import Setup, configuration_row, unmeasured_runs
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import InputError, load_formula

CHANGED = (
    *("bandwidth", "peak", "boost", "base", "core_count", "sm_count", "l1_bytes", "l2_bytes", "last_level"),
    *("memory_bytes", "peak_fp32", "peak_tf32", "peak_fp16", "peak_bf16", "comparable", "tdp_w"),
)
PRECISIONS = ("fp32", "default", "amp", "bf16")


def test_better_specifications_never_take_longer_and_worse_ones_never_less():
    cnn, gpus = find_cnn_counts("mobilenet_v2"), [gpu for gpu in built_in_gpus().gpus if gpu.device == "GPU"]
    made, places, signs = list(gpus), list(range(len(gpus))), [0] * len(gpus)
    for factor, name, (place, gpu) in product((2, 0.5), CHANGED, enumerate(gpus)):
        try:
            made.append(hypothetical_gpu(f"{gpu.gpu} with {factor}x {name}"))
        except InputError:  # which says why
            assert name in ("base", "comparable", "l2_bytes", "last_level", "memory_bytes", "tdp_w")
            continue
        places.append(place)
        signs.append(1 if factor > 1 else -1)
    rows = [configuration_row(cnn, gpu, 64, Setup(precision)) for gpu in made for precision in PRECISIONS]
    formula, facts = load_formula(BUILT_IN), Facts(GpuCatalog(tuple(made)), (cnn,))
    found = formula_rows(formula, unmeasured_runs("changed", rows, facts)).predict(formula)
    seconds = np.asarray(found).reshape(len(made), len(PRECISIONS))
    longer = np.log(seconds / seconds[places]) * np.array(signs)[:, np.newaxis]
    # Of one GPU no level 2 cache is known, so that it has no times.
    assert np.isfinite(longer).all(axis=1).mean() > 0.99
    wrong = (longer > 1e-9).any(axis=1)
    assert not wrong.any(), [made[place].gpu for place in np.flatnonzero(wrong)]
    # Each kind of change but that of the memory's size has an effect.
    assert (np.abs(longer[len(gpus) :]) > 1e-9).any(axis=1).mean() > 0.75
