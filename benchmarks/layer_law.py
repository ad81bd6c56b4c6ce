"""The built-in law of one layer (app/builtin/layer.json): constants fitted once, with its held-out errors.

python -m benchmarks.layer_law [FILE]     fits, measures with each GPU held out, writes FILE

Single layers give the form and its constants: `layer_matrix_product`, a matrix product whose efficiency
saturates in its three sides, 2MNK/P (1 + K0/K)(1 + N0/N)(1 + M0/M), plus its bytes; own constants for
convolutions and dense layers, forward and in training. Timed alone, a layer also pays for the start of its
program (0.1 ms and more), and only these two kinds were timed. So whole networks give four more: a factor on
compute and one on bytes, the bytes of all other layers, and a launch per layer and pass.
"""

import json
import sys
from collections.abc import Mapping, Sequence

import numpy as np
from trainlaw.app.error_tables import BY_CNN, BY_GPU, MACRO, OURS
from trainlaw.datasets import (
    LAYER_FEATURES,
    LayerTable,
    RunTable,
    find_cnn_facts,
    find_gpu,
    layer_feature_specs,
    load,
    load_layers,
)
from trainlaw.datasets.cnn_layers import OTHER_MEMORY, layer_columns
from trainlaw.formulas import SECOND, FeatureSpec, Formula, TrainlawError, parse_text, save_formula, variables
from trainlaw.validate import leave_one_group_out
from trainlaw.validate.baselines.inputs import group_weights
from trainlaw.validate.baselines.layer_terms import LayerLaw, layer_matrix_product
from trainlaw.validate.least_squares import Prior, robust_least_squares

TABLE = "cde-layers"
# In the order of the law's blocks of constants.
_BLOCKS = (
    "(1 - is_conv) * (1 - trained)",
    "(1 - is_conv) * trained",
    "is_conv * (1 - trained)",
    "is_conv * trained",
)
_TRAINED = "(n_passes - 1) / 2"
_LEAST_SHARE = 1e-3  # a term that is less of every layer's time is left out


PARTS = ("compute", "memory", "other", "launch")


def part_texts(law: LayerLaw, shares: np.ndarray) -> dict[str, str]:
    """Return the parts of a fitted law as texts; shares : of each term in a layer's time, the largest."""
    clock, wide, wide_memory = law.parameters_[-3:]
    factors = {
        "compute": f"clock_ratio ^ {-clock:.4g} * exp({wide:.4g} * wide_sm)",
        "memory": f"exp({wide_memory:.4g} * wide_sm)",
    }
    sums: dict[str, list[str]] = {kind: [] for kind in factors}
    for index, constant in enumerate(np.exp(law.parameters_[:-3])):
        block, name = divmod(index, len(law.times))
        kind = law.times[name].split("_")[-2]
        if shares[index] >= _LEAST_SHARE and kind in sums:
            indicator = _BLOCKS[block].replace("trained", f"({_TRAINED})")
            sums[kind].append(f"{constant:.4g} * {indicator} * {law.times[name]}")
    products = {kind: f"{factors[kind]} * ({' + '.join(terms)})" for kind, terms in sums.items()}
    return products | {"other": f"{factors['memory']} * {OTHER_MEMORY.name}", "launch": "launch_s"}


def largest_shares(law: LayerLaw, table: LayerTable) -> np.ndarray:
    """Return the largest share of each term over the layers of a table, shape (n_terms,)."""
    parts = law._parts(law.parameters_, *law._tables(table.features()))
    return (parts / parts.sum(axis=1)[:, None]).max(axis=0)


def held_out_errors(table: LayerTable) -> dict[str, object]:
    """Return the errors of single layers with each GPU group held out, by kind and phase and by GPU."""
    features, labels, seconds = table.features(), table.labels(), table.seconds
    predicted = np.full(len(table), np.nan)
    for split in leave_one_group_out(labels["gpu_group"]):
        law = layer_matrix_product()
        law.fit(features.iloc[split.train], seconds[split.train], labels["gpu_group"].iloc[split.train])
        predicted[split.test] = law.predict(features.iloc[split.test])
    error = 100 * np.abs(predicted / seconds - 1)
    return {
        "protocol": "single layers, with their launch; each GPU group held out in turn",
        "by_kind": {
            f"{kind}, {phase}": figures(error[(labels["kind"] == kind) & (labels["phase"] == phase)])
            for kind in ("conv", "dense")
            for phase in sorted(set(labels["phase"]))
        },
        "by_gpu": _by(error, labels["gpu"]),
    }


def figures(error: np.ndarray) -> Mapping[str, float]:
    """Return mean and median of errors in percent, shape (n,), and their number."""
    return {
        "mape_percent": round(float(np.mean(error)), 1),
        "median_ape_percent": round(float(np.median(error)), 1),
        "rows": len(error),
    }


def _by(error: np.ndarray, labels: Sequence[str]) -> dict[str, Mapping[str, float]]:
    names = np.asarray(labels, dtype=str)
    return {name: figures(error[names == name]) for name in sorted(set(names))}


def network_parts(parts: Mapping[str, str], runs: RunTable) -> np.ndarray:
    """Return the four parts summed over the layers of each run's network, seconds, shape (n_runs, 4).

    A run of a network whose layers are not known has nan.
    """
    formulas = [
        Formula(parse_text(parts[name]), (*layer_feature_specs(), OTHER_MEMORY), _TARGET) for name in PARTS
    ]
    rows = np.full((len(runs), len(PARTS)), np.nan)
    keys = ["cnn", "input_size_px", "n_classes", "gpu", "batch_per_gpu"]
    for _, group in runs.frame.groupby(keys):
        first = group.iloc[0]
        try:
            cnn = find_cnn_facts(first["cnn"], int(first["input_size_px"]), int(first["n_classes"])).network
        except TrainlawError:
            continue
        columns = layer_columns(cnn, find_gpu(first["gpu"]), int(first["batch_per_gpu"]), 3)
        rows[group.index] = [formula.predict(columns).sum() for formula in formulas]
    return rows


def fitted_factors(parts: np.ndarray, seconds: np.ndarray, groups: Sequence[str]) -> np.ndarray:
    """Return the four factors, shape (4,), fitted to log seconds with soft L1."""
    weights, log_seconds = group_weights(groups), np.log(seconds)
    # The bytes of other layers look like those of convolutions: without a prior they would count for nothing.
    start, deviations = np.array([0.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.2, 3.0])

    def residuals(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        each = parts * np.exp(logs)
        total = each.sum(axis=1)
        return weights * (np.log(total) - log_seconds), weights[:, None] * each / total[:, None]

    prior = Prior(start, deviations)
    fitted = robust_least_squares(
        residuals, start, soft_l1_scale=0.25, prior=prior, max_steps=60, tolerance=1e-6
    )
    return np.exp(fitted.parameters)


def fitted_parts(table: LayerTable) -> dict[str, str]:
    """Return the parts of the law fitted to single layers, as texts."""
    law = layer_matrix_product()
    law.fit(table.features(), table.seconds, table.labels()["gpu_group"])
    return part_texts(law, largest_shares(law, table))


def network_errors(table: LayerTable, parts: np.ndarray, runs: RunTable) -> dict[str, object]:
    """Return the errors of whole iterations as sums of layers, with each GPU group held out of everything.

    parts : of the law fitted to all layers, which serves where no layer was measured on the group.
    """
    seconds, labels = runs.seconds, runs.labels()
    groups = np.asarray(labels["gpu_group"], dtype=str)
    of_layers = np.asarray(table.labels()["gpu_group"], dtype=str)
    predicted = np.full(len(runs), np.nan)
    for split in leave_one_group_out(groups):
        blind = parts
        if np.isin(split.held_out, of_layers).any():
            texts = fitted_parts(table.where(~np.isin(of_layers, split.held_out)))
            blind = network_parts(texts, runs)
        factors = fitted_factors(blind[split.train], seconds[split.train], groups[split.train])
        predicted[split.test] = blind[split.test] @ factors
    error = 100 * np.abs(predicted / seconds - 1)
    lines = {
        level: [
            {"name": name, "rows": line["rows"], "errors": {OURS: line["mape_percent"]}, "members": []}
            for name, line in _by(error, labels[level]).items()
        ]
        for level in (BY_GPU, BY_CNN)
    }
    macro = np.mean([error[groups == group].mean() for group in sorted(set(groups))])
    summary = {name: value for name, value in figures(error).items() if name != "rows"}
    return {
        "protocol": "sum of layers against whole iterations of one GPU in fp32; each GPU group held out of "
        "the layers and of the networks",
        "missing": [],
        "estimators": [OURS],
        "summary": {OURS: {MACRO: round(float(macro), 1), **summary}},
        **lines,
    }


def fitted_formula(table: LayerTable, runs: RunTable) -> Formula:
    """Return the law of a layer inside a network, with its held-out errors."""
    texts = fitted_parts(table)
    parts = network_parts(texts, runs)
    known = np.isfinite(parts).all(axis=1)
    runs, parts = runs.where(known), parts[known]
    factors = fitted_factors(parts, runs.seconds, runs.labels()["gpu_group"])
    expression = parse_text(
        " + ".join(f"{factor:.4g} * ({texts[name]})" for name, factor in zip(PARTS, factors, strict=True))
    )
    used = variables(expression)
    specs = (*layer_feature_specs([name for name in LAYER_FEATURES if name in used]), OTHER_MEMORY)
    single = table.features([spec.name for spec in specs[:-1]])
    return Formula(
        expression,
        specs,
        _TARGET,
        ranges={name: (float(column.min()), float(column.max())) for name, column in single.items()},
        provenance={
            "method": "python -m benchmarks.layer_law",
            "form": "2MNK/P (1 + K0/K)(1 + N0/N)(1 + M0/M) + bytes/B + launch, by kind and phase",
            "table": TABLE, "table_sha256": table.sha256, "rows": len(table),
            "networks": {"table": runs.name, "rows": len(runs), "sha256": runs.sha256},
            "factors_of_networks": dict(zip(PARTS, (round(x, 4) for x in factors.tolist()), strict=True)),
            "precisions": ["fp32"],
        },
        errors={**network_errors(table, parts, runs), "single_layers": held_out_errors(table)},
        summed_over="layer",
    )  # fmt: skip


_TARGET = FeatureSpec("time_s", "t", SECOND, "time of one layer inside a network", low=0.0)


def main() -> None:
    """Fit, measure, write."""
    formula = fitted_formula(load_layers(TABLE), load("default"))
    print(formula.text())
    print(json.dumps({**formula.provenance, **formula.errors}, indent=1))
    if len(sys.argv) > 1:
        save_formula(formula, sys.argv[1])


if __name__ == "__main__":
    main()
