"""Sensitivity of a prediction: the effect of ten per cent more of each quantity, and proved trends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from trainlaw.app.models.scopes import check_features, feature_expression, formula_rows, handling
from trainlaw.datasets import DATASETS, RunTable, load
from trainlaw.datasets.features.feature import Feature
from trainlaw.formulas import Expression, Formula, RowSums, TrainlawError, evaluate, substitute, variables
from trainlaw.formulas.proofs.elasticities import Elasticities

MORE = 0.1
_LEAST = 5e-4  # a change of a twentieth of a per cent affects no plan
# Quantities that a user chooses when planning.
_PLANNED = (
    "batch",
    "batch_per_gpu",
    "peak_flop_per_s",
    "bandwidth_byte_per_s",
    "params",
    "n_layers",
    "n_gpus",
)


# Counts of a CNN, and rates of a GPU, by the end of their names.
_TOGETHER = {
    "flop_per_s": ("peak_flop_per_s", "peak rates of the GPU, of all precisions"),
    "macs": ("macs", "multiply-accumulates of the CNN, of all kinds"),
    "elements": ("elements", "elements of the CNN's tensors, of all kinds"),
    "params": ("params", "learned elements of the CNN, of all kinds"),
}


@dataclass(frozen=True)
class Elasticity:
    """Effect of `MORE` of one quantity on `time` and samples per second, as shares (0.05 is 5 % more)."""

    name: str
    meaning: str
    time: float
    throughput: float


def in_raw_columns(formula: Formula) -> Expression:
    """Return the formula over raw columns of runs, GPUs, CNNs, layers and links, its features written out."""
    check_features(formula)
    known = handling(formula).features
    used = [spec.name for spec in formula.used_features if spec.name in known]
    forms = {name: feature_expression(name, formula.scope) for name in used}
    return substitute(formula.ungrouped, forms)


def elasticities(formula: Formula, run: RunTable) -> list[Elasticity]:
    """Return the effect of ten per cent more of each quantity in one configuration, the largest first.

    run : one configuration. The counts of a CNN grow together, all of one kind: a CNN with more 1 x 1
    convolutions alone is another CNN. So do the peak rates of a GPU. Indicators of 0 or 1
    and quantities without effect are omitted.
    """
    expression = in_raw_columns(formula)
    names = variables(expression)
    rows = formula_rows(formula, run, names)
    columns = {name: rows.columns[name] for name in names}
    now = _value(expression, columns, rows.sums)
    found = []
    # Different sizes make a different layer: only the hardware is varied.
    scope = handling(formula)
    changed = [name for name in names if name not in scope.row_counts]
    for (name, meaning), members in _quantities(changed, scope.features).items():
        more = {member: columns[member] * (1 + MORE) for member in members}
        change = _value(expression, {**columns, **more}, rows.sums) / now - 1
        if abs(change) >= _LEAST:
            samples = 1 + MORE if name in ("batch", "batch_per_gpu", "n_gpus") else 1.0
            found.append(Elasticity(name, meaning, change, samples / (1 + change) - 1))
    return sorted(found, key=lambda row: -abs(row.time))


def _quantities(names: Iterable[str], features: Mapping[str, Feature]) -> dict[tuple[str, str], list[str]]:
    """Raw columns by the name and meaning of the quantity that they are or belong to."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        spec = features[name].spec
        if spec.high == 1 or name == "n_passes":
            continue
        together = next((pair for ending, pair in _TOGETHER.items() if name.endswith(ending)), None)
        found.setdefault(together or (name, spec.meaning), []).append(name)
    return found


def _value(expression: Expression, columns: Mapping[str, np.ndarray], sums: RowSums | None) -> float:
    values, valid = evaluate(expression, columns)
    length = max((len(column) for column in columns.values()), default=1)
    rows = np.broadcast_to(np.where(valid, values, np.nan), length)
    return float(rows[0] if sums is None else sums.apply(rows)[0])


def proved_trends(formula: Formula) -> tuple[bool, dict[str, str]]:
    """Return whether the time is proved never negative, and every proved trend, over the training ranges."""
    expression = formula.ungrouped
    names = variables(expression)
    if not all(name in formula.ranges for name in names):
        return False, {}
    proofs = Elasticities(expression, formula.ranges)
    return proofs.nonnegative, _trends(proofs, names)


def proved_raw_trends(formula: Formula) -> dict[str, str]:
    """Return the proved trends of batch, rates and sizes over the ranges of the training rows.

    Empty where those rows are not available.
    """
    table = training_rows(formula)
    if table is None:
        return {}
    expression = in_raw_columns(formula)
    names = variables(expression)
    columns = formula_rows(formula, table, names).columns
    box = {name: (float(columns[name].min()), float(columns[name].max())) for name in names}
    return _trends(Elasticities(expression, box), [name for name in _PLANNED if name in box])


def _trends(proofs: Elasticities, names: Iterable[str]) -> dict[str, str]:
    """Return by quantity that the time "never falls" or "never rises" with it, where either is proved."""
    found = {}
    for name in names:
        rises, falls = (proofs.monotone(name, direction).proved for direction in (1, -1))
        if rises or falls:
            found[name] = "never falls" if rises else "never rises"
    return found


def training_rows(formula: Formula) -> RunTable | None:
    """Return the runs that a formula was evolved on, where they are built in and unchanged; else None."""
    name = formula.provenance.get("table")
    if name not in DATASETS:
        return None
    try:
        table = load(str(name), RunTable)
    except TrainlawError:
        return None
    return table if table.sha256 == formula.provenance.get("table_sha256") else None
