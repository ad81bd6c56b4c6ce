"""Facts: quantities of the table of answers that are neither columns of runs nor features.

Facts of a GPU or precision are known before any prediction: exported programs, page and workbook hold them in
their tables. Those named `is_...` and `has_...` are 1 or 0.
"""

from collections.abc import Callable, Iterable, Mapping
from math import isnan
from typing import Any

import numpy as np
from trainlaw.app.inputs.resolve import reader_notes, study_specifications
from trainlaw.app.models.calibration import calibration_of
from trainlaw.app.models.lookup_tables import OF_PRECISION
from trainlaw.app.models.multi_gpu import scaled_runs
from trainlaw.app.text.numbers import show_seconds
from trainlaw.datasets import CnnCounts, Gpu, RunTable
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS, bytes_per_parameter
from trainlaw.datasets.hardware.collectives import EVEN
from trainlaw.datasets.measurements.memory_fit import ROUGH_MEMORY
from trainlaw.datasets.measurements.runs import BY_DEFAULT, USUAL_FABRIC
from trainlaw.datasets.measurements.stacks import UNKNOWN, stacks_of
from trainlaw.formulas import Formula
from trainlaw.validate.held_out_errors import interval_factors

Fact = float | str
#: Quantities of memory that no feature is made of.
OF_MEMORY = (*MEMORY_COLUMNS, *OF_PRECISION)


def gpu_facts(formula: Formula, gpu: Gpu) -> dict[str, Fact]:
    """Return what is said of a GPU: its kind, whether training or calibration had it, what is not known."""
    seen = formula.provenance.get("generations")
    calibrated = (calibration_of(formula) or {}).get("gpus")
    # A formula that was calibrated to the GPU has measured it.
    is_known = seen is None or gpu.generation in seen or gpu.gpu in (calibrated or ())
    of_vendor = gpu.vendor in formula.provenance.get("vendors", ())
    return {
        "gpu": gpu.gpu,
        "vendor": gpu.vendor or "its vendor",
        "generation": gpu.generation or "unknown",
        "is_unseen_vendor": float(not is_known and not of_vendor),
        "is_unseen_generation": float(not is_known and of_vendor),
        # Where a GPU has no faster units for 16-bit numbers, their data sheets state the rate of fp32.
        "has_slow_fp16": float(gpu.has_fast_fp16 == 0),
        "has_slow_bf16": float(gpu.peak_bf16_flop_per_s <= gpu.peak_fp32_flop_per_s),
        "is_other_gpu": float(calibrated is not None and gpu.gpu not in calibrated),
        **{f"is_unknown_{name}": float(isnan(gpu.number(name))) for name in study_specifications()},
    }


def precision_facts(formula: Formula, precision: str) -> dict[str, Fact]:
    """Return what is said of a precision: its bytes per learned element, whether training had it."""
    calibrated = (calibration_of(formula) or {}).get("precisions")
    # Rows of tables may not say their precision; like everywhere, memory is then that of fp32.
    sizes = bytes_per_parameter("fp32" if precision == "unknown" else precision)
    return {
        "precision": precision,
        "is_tf32": float(precision == "tf32"),
        "is_16_bit_float": float(precision in ("amp", "fp16")),
        "is_bf16": float(precision == "bf16"),
        "is_untrained_precision": float(precision not in formula.provenance.get("precisions", (precision,))),
        "is_other_precision": float(calibrated is not None and precision not in calibrated),
        **dict(zip(OF_PRECISION, map(float, sizes), strict=True)),
    }


def cnn_facts(cnn: CnnCounts) -> dict[str, Fact]:
    """Return what is said of a CNN: its memory per image, and what the reader of its file noticed."""
    notes = reader_notes(cnn)
    memory = {name: float(getattr(cnn.memory_per_image, name)) for name in MEMORY_COLUMNS}
    return {
        "input_size_px": float(cnn.input_size_px),
        "n_cnn_notes": float(len(notes)),
        "cnn_notes": "\n".join(notes),
        "rough": ROUGH_MEMORY if cnn.memory is None else "",
        **memory,
    }


_SETTINGS = (
    "layout", "compilation", "tuned", "host_launch_s", "allocation", "bucketed", "precision_stated",
    "algorithm", "link", "network",
)  # fmt: skip


def _setting_facts(run: Mapping[str, Any]) -> dict[str, Fact]:
    """Return which settings of a run differ from their defaults, and how the run is connected."""
    launch = run["host_launch_s"]
    ways = [str(run[name]) for name in ("link", "network") if run[name] != "none"]
    return {
        "layout": str(run["layout"]),
        "has_layout": float(run["layout"] not in ("nchw", "unknown")),
        "compilation": str(run["compilation"]),
        "has_compilation": float(run["compilation"] not in ("eager", "unknown")),
        "has_host_launch": float(not isnan(launch)),
        "by_default": float(run["precision_stated"] == BY_DEFAULT),
        "algorithm": str(run["algorithm"]),
        "ways": " and ".join(ways),
        "settings": settings_text(run),
        "has_settings": float(bool(settings_text(run))),
    }


def settings_text(run: Mapping[str, Any]) -> str:
    """Return the settings that differ from the default: layout, compilation, host, allocation, buckets.

    run : the columns of a run; None for what is not set.
    """
    launch = run["host_launch_s"]
    parts = (
        f"layout {run['layout']}" if run["layout"] not in (None, "nchw") else "",
        f"compilation {run['compilation']}" if run["compilation"] not in (None, "eager") else "",
        "vendor-tuned" if run["tuned"] else "",
        "" if launch is None or isnan(launch) else f"host launch {show_seconds(launch)} per layer",
        f"{run['allocation']} GPUs per node" if run["allocation"] not in (None, EVEN) else "",
        "gradients not in buckets" if run["bucketed"] in (False, 0) else "",
    )
    return ", ".join(filter(None, parts))


def run_facts(formula: Formula, runs: RunTable, scaling: Formula | None) -> dict[str, np.ndarray]:
    """Return the facts of all runs by name, (n_runs,) each, numbers or texts."""
    frame, factors = runs.frame, interval_factors(formula, runs)
    cnns = frame[["cnn", "input_size_px", "n_classes"]].itertuples(index=False, name=None)
    settings = frame[list(_SETTINGS)].itertuples(index=False, name=None)
    return {
        **_spread(frame["gpu"], lambda name: gpu_facts(formula, runs.facts.gpus.find(str(name)))),
        **_spread(frame["precision"], lambda name: precision_facts(formula, str(name))),
        **_spread(cnns, lambda key: cnn_facts(runs.facts.cnn(key))),
        **_spread(settings, lambda row: _setting_facts(dict(zip(_SETTINGS, row, strict=True)))),
        "stack": frame["stack"].to_numpy(dtype=object),
        # Stated, and not what the other settings imply.
        "has_stack": (frame["stack"] != stacks_of(frame)).to_numpy(dtype=np.float64),
        "is_stack_unknown": (frame["stack"] == UNKNOWN).to_numpy(dtype=np.float64),
        "is_usual_fabric": (frame["network"] == USUAL_FABRIC).to_numpy(dtype=np.float64),
        "is_scaled": scaled_runs(scaling, runs).astype(float),
        "interval_factor": factors,
        "has_interval": np.isfinite(factors).astype(float),
    }


def _spread(keys: Iterable[Any], facts: Callable[[Any], Mapping[str, Fact]]) -> dict[str, np.ndarray]:
    """Return the facts of each key by name, (n_keys,) each; equal keys are looked up once."""
    places: dict[Any, int] = {}
    rows = np.array([places.setdefault(key, len(places)) for key in keys], dtype=int)
    found = [facts(key) for key in places]
    return {name: np.array([one[name] for one in found])[rows] for name in (found[0] if found else ())}
