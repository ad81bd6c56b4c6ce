"""A law of measured layers as a person enters it: a layer's sizes and a GPU by name, not times of a sheet."""

from dataclasses import replace

import numpy as np
from trainlaw.datasets import LAYER_FEATURES, gpu_table
from trainlaw.datasets.features.feature import written_out
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.formulas import Constant, Formula, GroupedConstant, Variable, substitute, variables

_GPU = "gpu"
_PEAK = "peak_flop_per_s"
# A layer that most networks of the last ten years have, and cards of each generation since Kepler.
_TYPICAL = {
    "batch": 32.0, "in_channels": 128.0, "out_channels": 128.0, "in_height_px": 28.0, "in_width_px": 28.0,
    "out_height_px": 28.0, "tiled_height_px": 28.0, "tiled_channels": 128.0, "kernel_px": 3.0,
    "stride_px": 1.0,
}  # fmt: skip
_DENSE = {
    "in_height_px": 1.0,
    "in_width_px": 1.0,
    "out_height_px": 1.0,
    "tiled_height_px": 4.0,
    "kernel_px": 1.0,
}
_CARDS = ("K80", "P100-PCIE-16GB", "V100-SXM2-16GB", "T4", "A100-SXM4-40GB", "H100-SXM5-80GB")


def is_of_measured_layers(formula: Formula) -> bool:
    """Return whether a formula is of one layer that was measured alone, from features of layers.

    >>> from trainlaw.app.models.builtin import LAW_OF_LAYERS
    >>> from trainlaw.formulas import load_formula
    >>> is_of_measured_layers(load_formula(LAW_OF_LAYERS))  # of layers inside a network
    False
    """
    used = [spec.name for spec in formula.used_features]
    return (
        not formula.summed_over and "launch_s" in _names(formula) and all(n in LAYER_FEATURES for n in used)
    )


def _names(formula: Formula) -> tuple[str, ...]:
    return tuple(spec.name for spec in formula.features)


def as_entered(formula: Formula) -> Formula:
    """Return a law of measured layers over what a person knows of a layer, with a choice of GPU.

    Each fact of a GPU is a constant by `gpu`, of all cards that have it. Any other formula stays as it is.
    """
    if not is_of_measured_layers(formula):
        return formula
    table = str(formula.provenance.get("table", ""))
    fixed = {"bytes_per_element": 4.0, "n_passes": 3.0 if table.endswith("/train") else 1.0}
    forms = {spec.name: written_out(LAYER_FEATURES, spec.name) for spec in formula.used_features}
    forms = {
        name: substitute(form, {raw: Constant(value) for raw, value in fixed.items()})
        for name, form in forms.items()
    }
    expression = substitute(formula.expression, forms)
    facts = [name for name in variables(expression) if name == _PEAK or name in NUMBER_COLUMNS]
    expression = substitute(expression, {name: Variable(f"{name}[{_GPU}]") for name in facts})
    inputs = [name for name in variables(expression) if name in LAYER_FEATURES]
    cases = _cases(inputs, "/dense/" in table)
    return replace(
        formula,
        expression=expression,
        features=tuple(LAYER_FEATURES[name].spec for name in inputs),
        grouped=tuple(_of_gpus(name, facts) for name in facts),
        ranges={},
        provenance={**formula.provenance, "cases": cases},
    )


def _of_gpus(name: str, facts: list[str]) -> GroupedConstant:
    """A fact of all GPUs that have those a law needs; a clock that is not known counts as the boost clock."""
    table = gpu_table().set_index(_GPU)
    table["base_clock_hz"] = table["base_clock_hz"].fillna(table["boost_clock_hz"])
    columns = {fact: PRECISIONS["fp32"].peak_column if fact == _PEAK else fact for fact in facts}
    known = table[list(columns.values())].astype(float)
    values = known[np.isfinite(known).all(axis=1)][columns[name]]
    return GroupedConstant(f"{name}[{_GPU}]", _GPU, values.to_dict(), float(values.median()))


def _cases(inputs: list[str], dense: bool) -> list[dict[str, str | float]]:
    """One layer on some cards, as worked cases."""
    typical = {**_TYPICAL, **(_DENSE if dense else {})}
    layer = {name: typical.get(name, 0.0) for name in inputs}
    return [{**layer, _GPU: card} for card in _CARDS]
