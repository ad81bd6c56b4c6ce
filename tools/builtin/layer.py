"""The formula of a layer of a CNN: evolved from single layers, weighed by times of whole CNNs.

Measured single layers determine the formulas of convolutions and of dense layers, forward and in training:
one search each, as in `trainlaw study --of layer-times`. The time of a layer measured alone includes the
start of its program, and only these two kinds were measured. Therefore whole CNNs determine the rest: T = pre
+ sum of layers + post, with a factor on each of the two kinds, the bytes of all other layers, a launch per
layer and pass, and what occurs once per iteration: the copy of its images, the update of its parameters, a
fixed time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from trainlaw.app.studies.kinds.layer_times import LayerTimeSearch, read_layer_times
from trainlaw.datasets import CNN_LAYER_FEATURES, LAYER_FEATURES, RunTable, feature_specs, load
from trainlaw.datasets.measurements.formula_rows import FormulaRows, run_layers
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import (
    SECOND,
    Apply,
    Constant,
    Expression,
    FeatureSpec,
    Formula,
    parse_text,
    tidy,
    to_text,
    variables,
)
from trainlaw.validate import leave_one_group_out
from trainlaw.validate.baselines.inputs import group_weights
from trainlaw.validate.error_table import BY_CNN, BY_GPU, MACRO
from trainlaw.validate.least_squares import Prior, robust_least_squares
from trainlaw.validate.result import OURS

TABLE = "cde-layers"
# As in `trainlaw study --of layer-times`.
SETTINGS = SearchSettings(evaluations=2_000, random_seed=0, islands=2, population=200)
# Where each formula applies: 1 or 0, in features of a layer and its passes.
_TRAINED = "((n_passes - 1) / 2)"
_INDICATORS = {
    f"{TABLE}/conv/forward": f"is_conv * (1 - {_TRAINED})",
    f"{TABLE}/conv/train": f"is_conv * {_TRAINED}",
    f"{TABLE}/dense/forward": f"is_dense * (1 - {_TRAINED})",
    f"{TABLE}/dense/train": f"is_dense * {_TRAINED}",
}
# Parts of the time whose factors whole CNNs determine: expected factor, standard deviation of its logarithm.
# The bytes of other layers are nearly proportional to those of convolutions: without a narrow prior their
# factor would vanish.
PARTS: Mapping[str, tuple[float, float]] = {
    "convolutions": (0.5, 1.0),
    "dense layers": (0.5, 1.0),
    "depthwise_memory_s": (1.0, 1.0),
    "batchnorm_memory_s": (1.0, 0.5),
    "other_memory_s": (1.0, 0.2),
    "launch_s": (3.0, 1.0),
    "input_copy_s": (1.0, 0.3),
    "optimizer_memory_s": (1.0, 0.5),
    "iteration_overhead_s": (1.0, 1.0),
}
# Terms of these alone are not work of the layer, but the start of its program when it is measured alone.
_START = frozenset({"launch_s", "clock_drop", "wide_sm"})
# Zero or fixed in a CNN: its layers have no separate bias or activation, and images are not updated.
_ABSENT = frozenset({"epilogue_memory_s", "update_memory_s", "is_dense", "n_passes", "is_conv", "wide_sm"})
_LAYER_TIME = FeatureSpec("time_s", "t", SECOND, "time of one layer inside a CNN", low=0.0)


@cache
def single_layer_formula(text: str, group: str) -> Expression:
    """Return the formula of a layer kind and pass, from the rows of all GPU groups except one ("": all)."""
    table = read_layer_times(text, None, ())
    groups = table.labels()[BY_GPU].to_numpy(dtype=str)
    table = table.where(groups != group)
    found = LayerTimeSearch(SETTINGS).fit(table.features(), table.seconds, groups[groups != group])
    return tidy(found.formula_.expression)


def without(
    expression: Expression, names: frozenset[str], inside: Sequence[str] = ("add", "mul")
) -> Expression:
    """Return the expression without addends of these variables alone; `inside` : operators to descend into.

    By default a choice between two algorithms (min, max) stays whole, because every addend affects it.
    """
    if not isinstance(expression, Apply) or expression.operator not in inside:
        return expression
    if expression.operator != "add":
        arguments = tuple(without(part, names, inside) for part in expression.arguments)
        return Apply(expression.operator, arguments)
    kept = [part for part in expression.arguments if set(variables(part)) - names] or expression.arguments[:1]
    parts = tuple(without(part, names, inside) for part in kept)
    return parts[0] if len(parts) == 1 else Apply("add", parts)


def part_expressions(group: str) -> dict[str, Expression]:
    """Return each part as an expression of a layer; `group` as for `single_layer_formula`."""
    parts: dict[str, list[str]] = {"convolutions": [], "dense layers": []}
    for text, indicator in _INDICATORS.items():
        kind = "convolutions" if "/conv/" in text else "dense layers"
        parts[kind].append(
            f"{indicator} * ({to_text(without(single_layer_formula(text, group), _START), 4)})"
        )
    wide = f"exp({wide_slowdown(group):.4g} * wide_sm)"
    return {
        name: parse_text(" + ".join(parts[name]) if name in parts else _plain(name, wide)) for name in PARTS
    }


def _plain(name: str, wide: str) -> str:
    return f"{wide} * {name}" if "memory" in name else name


def wide_slowdown(group: str) -> float:
    """Return ln of the slowdown of convolutions on a GPU with wide multiprocessors, for other layers."""
    table = read_layer_times(f"{TABLE}/conv/train", None, ())
    columns = table.features()
    expression = single_layer_formula(f"{TABLE}/conv/train", group)
    formula = Formula(expression, feature_specs(variables(expression), LAYER_FEATURES), _LAYER_TIME)
    ends = [
        formula.predict({**dict(columns.items()), "wide_sm": np.full(len(columns), wide)})
        for wide in (0.0, 1.0)
    ]
    return float(np.median(np.log(ends[1] / ends[0])))


def summed_parts(parts: Mapping[str, Expression], rows: FormulaRows) -> np.ndarray:
    """Return the parts summed over the layers of each run's CNN, seconds, shape (n_runs, n_parts)."""
    names = sorted({name for part in parts.values() for name in variables(part)})
    specs = feature_specs(names, CNN_LAYER_FEATURES)
    return np.column_stack(
        [Formula(part, specs, _LAYER_TIME).predict(rows.columns, sums=rows.sums) for part in parts.values()]
    )


def fitted_factors(parts: np.ndarray, seconds: np.ndarray, groups: Sequence[str]) -> np.ndarray:
    """Return the factor of each part, shape (n_parts,), fitted to log seconds with soft L1."""
    weights, log_seconds = group_weights(groups), np.log(seconds)
    expected, deviations = np.array(list(PARTS.values())).T

    def residuals(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        each = parts * np.exp(logs)
        total = each.sum(axis=1)
        return weights * (np.log(total) - log_seconds), weights[:, None] * each / total[:, None]

    start = np.log(expected)
    # The prior is weak: a deviation of one costs as much as one run with an error of a factor e.
    fitted = robust_least_squares(
        residuals, start, soft_l1_scale=0.25, prior=Prior(start, deviations), max_steps=100, tolerance=1e-6
    )
    return np.exp(fitted.parameters)


def figures(error: np.ndarray) -> Mapping[str, float]:
    """Return mean, median and number of errors, percent, shape (n_rows,)."""
    return {
        "mape_percent": round(float(np.mean(error)), 1),
        "median_ape_percent": round(float(np.median(error)), 1),
        "rows": len(error),
    }


def _by(error: np.ndarray, labels: Sequence[str]) -> dict[str, Mapping[str, float]]:
    names = np.asarray(labels, dtype=str)
    return {name: figures(error[names == name]) for name in sorted(set(names))}


def single_errors() -> dict[str, object]:
    """Return the errors of single layers with each GPU group held out, by kind and pass."""
    by_kind = {}
    for text in _INDICATORS:
        table = read_layer_times(text, None, ())
        groups = table.labels()[BY_GPU].to_numpy(dtype=str)
        columns, error = dict(table.features().items()), np.full(len(table), np.nan)
        for group in np.unique(groups):
            expression = single_layer_formula(text, str(group))
            formula = Formula(expression, feature_specs(variables(expression), LAYER_FEATURES), _LAYER_TIME)
            errors = 100 * np.abs(formula.predict(columns) / table.seconds - 1)
            error[groups == group] = errors[groups == group]
        by_kind[text] = figures(error)
    return {
        "protocol": "single layers, with their launch; each GPU group held out in turn",
        "by_kind": by_kind,
    }


def held_out_seconds(runs: RunTable, rows: FormulaRows) -> np.ndarray:
    """Return predicted seconds of whole iterations, (n_runs,), with each GPU group held out of all fits."""
    groups = runs.labels()[BY_GPU].to_numpy(dtype=str)
    measured = set(read_layer_times(next(iter(_INDICATORS)), None, ()).labels()[BY_GPU])
    predicted = np.full(len(runs), np.nan)
    for split in leave_one_group_out(groups):
        (group,) = split.held_out
        # If no layer was measured on the group, the formulas of all GPUs apply.
        parts = summed_parts(part_expressions(group if group in measured else ""), rows)
        factors = fitted_factors(parts[split.train], runs.seconds[split.train], groups[split.train])
        predicted[split.test] = parts[split.test] @ factors
        print(
            f"  {group}: {np.abs(predicted[split.test] / runs.seconds[split.test] - 1).mean():.1%}",
            flush=True,
        )
    return predicted


def iteration_errors(predicted: np.ndarray, runs: RunTable) -> dict[str, object]:
    """Return the errors of predicted seconds, (n_runs,), as a formula stores them."""
    labels = runs.labels()
    error = 100 * np.abs(predicted / runs.seconds - 1)
    lines = {
        level: [
            {"name": name, "rows": line["rows"], "errors": {OURS: line["mape_percent"]}, "members": []}
            for name, line in _by(error, labels[level]).items()
        ]
        for level in (BY_GPU, BY_CNN)
    }
    macro = np.mean([line["errors"][OURS] for line in lines[BY_GPU]])
    summary = {name: value for name, value in figures(error).items() if name != "rows"}
    return {
        "protocol": "sum of layers compared with whole iterations of one GPU, fp32; each GPU group held out "
        "of the layers and of the CNNs",
        "missing": [],
        "estimators": [OURS],
        "summary": {OURS: {MACRO: round(float(macro), 1), **summary}},
        **lines,
    }


def whole_cnns() -> tuple[RunTable, FormulaRows]:
    """Return the runs whose CNN is known by its layers, and those layers."""
    runs = load("fp32-2026")
    rows = run_layers(runs, leave_out=True)
    return runs.where(rows.known), rows


def layer_formula() -> Formula:
    """Return the formula of a layer inside a CNN, with its held-out errors."""
    runs, rows = whole_cnns()
    errors = {**iteration_errors(held_out_seconds(runs, rows), runs), "single_layers": single_errors()}
    return replace(found_formula(), errors=errors)


def found_formula() -> Formula:
    """Return the formula of a layer inside a CNN, from all rows, without errors."""
    runs, rows = whole_cnns()
    expressions = part_expressions("")
    factors = fitted_factors(summed_parts(expressions, rows), runs.seconds, runs.labels()[BY_GPU])
    total: Expression | None = None
    for factor, part in zip(factors.tolist(), expressions.values(), strict=True):
        term = Apply("mul", (Constant(float(f"{factor:.4g}")), part))
        total = term if total is None else Apply("add", (total, term))
    total = without(total, _ABSENT, ("add", "mul", "min", "max"))
    specs = feature_specs(variables(total), CNN_LAYER_FEATURES)
    columns = {spec.name: rows.columns[spec.name] for spec in specs}
    return Formula(
        total,
        specs,
        _LAYER_TIME,
        ranges={name: (float(column.min()), float(column.max())) for name, column in columns.items()},
        provenance={
            "method": "python -m tools.builtin layer",
            "form": "formulas of convolutions and dense layers, evolved from single layers; bytes of all "
            "others, launches and what occurs once per iteration, with factors from whole iterations",
            "tables": {text: read_layer_times(text, None, ()).sha256 for text in _INDICATORS},
            "networks": {"table": runs.name, "rows": len(runs), "sha256": runs.sha256},
            "factors_of_networks": dict(zip(PARTS, (float(f"{x:.4g}") for x in factors), strict=True)),
            "precisions": ["fp32"],
        },
        scope="layer",
    )
