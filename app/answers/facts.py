"""Facts: quantities of the table of answers that are neither columns of runs nor features.

Facts of a GPU or precision are known before any prediction: exported programs, page and workbook hold them in
their tables. Those named `is_...` and `has_...` are 1 or 0.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, isnan
from typing import Any

import numpy as np
from trainlaw.app.inputs.resolve import reader_notes, study_specifications
from trainlaw.app.models.calibration import calibration_of
from trainlaw.app.models.lookup_tables import OF_PRECISION
from trainlaw.app.text.numbers import show_seconds
from trainlaw.datasets import CnnCounts, Gpu, RunTable
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS, bytes_per_parameter
from trainlaw.datasets.hardware.collectives import EVEN, most_gpus_of_node
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.datasets.measurements.runs import BY_DEFAULT
from trainlaw.datasets.measurements.stacks import STACK_COLUMNS, UNKNOWN, implied_stack
from trainlaw.formulas import Formula
from trainlaw.validate.applicability import stored_joint_range
from trainlaw.validate.error_table import BY_CNN
from trainlaw.validate.formula_errors import error_on
from trainlaw.validate.formula_intervals import intervals_of

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
        "is_processor": float(gpu.device == "CPU" and not is_known),
        "is_one_die": float(" die" in gpu.remark),
        "error_of_generation": error_on(formula, "generation", gpu.generation),
        "is_other_gpu": float(calibrated is not None and gpu.gpu not in calibrated),
        **{f"is_unknown_{name}": float(isnan(gpu.number(name))) for name in study_specifications()},
    }


def precision_facts(formula: Formula, precision: str) -> dict[str, Fact]:
    """Return what is said of a precision: its bytes per learned element, whether training had it."""
    calibrated = (calibration_of(formula) or {}).get("precisions")
    # Rows of tables may not say their precision; like everywhere, memory is then that of fp32.
    sizes = bytes_per_parameter(precision)
    return {
        "precision": precision,
        "has_fp32_dense": float(precision == "default"),
        "is_16_bit_float": float(precision in ("amp", "fp16")),
        "is_bf16": float(precision == "bf16"),
        "is_untrained_precision": float(precision not in formula.provenance.get("precisions", (precision,))),
        "error_of_precision": error_on(formula, "precision", precision),
        "is_other_precision": float(calibrated is not None and precision not in calibrated),
        **dict(zip(OF_PRECISION, map(float, sizes), strict=True)),
    }


def cnn_facts(cnn: CnnCounts) -> dict[str, Fact]:
    """Return what is said of a CNN: its memory per image, and what the reader of its file noticed."""
    notes = reader_notes(cnn)
    memory = {name: float(getattr(cnn.memory, name)) for name in MEMORY_COLUMNS}
    return {
        "input_size_px": float(cnn.input_size_px),
        "n_cnn_notes": float(len(notes)),
        "cnn_notes": "\n".join(notes),
        # Other outputs know CNNs without layers, too.
        "rough": "",
        **memory,
    }


def architecture_facts(formula: Formula, cnn_base: str) -> dict[str, Fact]:
    """Return what is said of an architecture."""
    return {"error_of_architecture": error_on(formula, BY_CNN, cnn_base)}


_SETTINGS = (
    "layout",
    "compilation",
    "tuned",
    "host_launch_s",
    "allocation",
    "bucketed",
    "precision_stated",
    "algorithm",
    "link",
    "network",
    "n_gpus",
    "n_nodes",
)


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
        "machine": machine_text(run),
        "algorithm": str(run["algorithm"]),
        "ways": " and ".join(ways),
        "settings": settings_text(run),
        "has_settings": float(bool(settings_text(run))),
    }


def _stack_facts(stack: str, *run: Any) -> dict[str, Fact]:
    """Return the stack of a run, and whether it is stated, not what the other settings imply."""
    return {
        "stack": stack,
        "has_stack": float(stack != implied_stack(*run)),
        "is_stack_unknown": float(stack == UNKNOWN),
    }


def machine_text(run: Mapping[str, Any]) -> str:
    """Return how many GPUs on how many nodes train, and how they are connected.

    >>> connected = {"link": "pcie3-x16", "network": "ethernet-100g", "allocation": "even"}
    >>> machine_text({"n_gpus": 16, "n_nodes": 2, **connected})
    '2 nodes of 8 GPUs, link pcie3-x16, fabric ethernet-100g'
    """
    n_gpus, n_nodes = run["n_gpus"], run["n_nodes"]
    most = most_gpus_of_node(run["allocation"])
    each = f"{n_gpus // n_nodes}" if isnan(most) else f"at most {most:.0f}"
    nodes = "1 node" if n_nodes == 1 else f"{n_nodes} nodes"
    parts = (
        "1 GPU" if n_gpus == 1 else f"{nodes} of {each} GPU{'s' * (n_gpus > n_nodes)}",
        f"link {run['link']}" if n_gpus > n_nodes else "",
        f"fabric {run['network']}" if n_nodes > 1 else "",
    )
    return ", ".join(filter(None, parts))


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


def run_facts(formula: Formula, runs: RunTable, rows: FormulaRows | None) -> dict[str, np.ndarray]:
    """Return the facts of all runs by name, (n_runs,) each, numbers or texts.

    rows : those of the formula, None where a measured time replaces them.
    """
    facts, intervals = runs.facts, intervals_of(formula)
    # Runs that agree in these columns have the facts in common, which are found once.
    groups: tuple[tuple[Sequence[str], Callable[..., Mapping[str, Fact]]], ...] = (
        (("gpu",), lambda gpu: gpu_facts(formula, facts.gpus.find(gpu))),
        (("precision",), lambda precision: precision_facts(formula, precision)),
        (("cnn", "input_size_px", "n_classes"), lambda *key: cnn_facts(facts.cnn(key))),
        (("cnn_base",), lambda base: architecture_facts(formula, base)),
        (_SETTINGS, lambda *run: _setting_facts(dict(zip(_SETTINGS, run, strict=True)))),
        (
            ("gpu", "precision", "stack"),
            lambda gpu, *of: {
                "class_factor": (factor := intervals.of_run(facts.gpus.find(gpu), *of)),
                "has_interval": float(isfinite(factor)),
            },
        ),
        (("stack", *STACK_COLUMNS), _stack_facts),
    )
    different = [runs.joined.different(columns) for columns, _ in groups]
    found = dict[str, np.ndarray]()
    for (place, keys), (_, facts_of) in zip(different, groups, strict=True):
        each = [facts_of(*key) for key in keys]
        found |= {name: np.array([one[name] for one in each])[place] for name in (each[0] if each else ())}
    return found if rows is None else found | _row_facts(formula, rows)


def _row_facts(formula: Formula, rows: FormulaRows) -> dict[str, np.ndarray]:
    """Return what the rows of a formula say of each run, (n_runs,) by name.

    For a formula of runs these are its features; for one of layers, how many layers are outside the training
    ranges, and the distance of the farthest.
    """
    if rows.sums is None:
        return dict(rows.columns)
    found, joint = {}, stored_joint_range(formula)
    unlike = None if joint is None else joint.outside(rows.columns)
    # What is 0 contributes nothing: a pooling layer has no time of a matrix product.
    outside = formula.out_of_range(rows.columns)
    far = [mask & (rows.columns[name] != 0) for name, mask in outside.items()]
    if far:
        found["layers_outside"] = rows.per_run(rows.sums.apply(1.0 * np.any(far, axis=0)), 0.0)
    if unlike is not None:
        found["joint_distance"] = np.where(rows.any_per_run(unlike), np.inf, 0.0)
    return found
