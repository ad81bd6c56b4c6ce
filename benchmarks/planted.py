"""Recovery of planted formulas: known forms on the real feature rows, with noise.

A formula counts as found if a form on the front, with its constants refitted to the values without noise,
reproduces them to one percent on every row: equivalent forms count, lucky fits do not. A second column shows
whether the chosen formula is such a form.

The noise is independent between rows, so nothing has to transfer between groups: individuals survive by their
loss on all rows, all rows weigh the same, and the shortest description is chosen.

Some planted terms are weaker than the noise, so that a shorter formula is as probable as the planted one. A
third column therefore compares the two on the noisy rows: whether the Bayesian information criterion (Schwarz
1978) prefers the planted formula by less than one nat, which is "not worth more than a bare mention" (Kass,
Raftery 1995).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from trainlaw.app.studies.clusters import Place
from trainlaw.datasets import TARGET, feature_specs, load
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.problem import Problem, make_problem
from trainlaw.evolve.search.trees import from_expression, to_expression
from trainlaw.formulas import (
    OPERATORS,
    SECOND,
    Expression,
    FeatureSpec,
    complexity,
    constants,
    evaluate,
    parse_text,
    variables,
)
from trainlaw.validate.workers import run_tasks

NOISE = 0.05
# Largest relative distance on any row of a form that is equivalent to the planted formula.
EQUIVALENT = 0.01
# Evidence for the planted formula below which the chosen one counts as equally probable, nats.
NEGLIGIBLE = 1.0
# Members of the front with a larger loss, in multiples of the least, are not examined.
WORST_LOSS = 1.3

SINGLE_GPU_FEATURES = (
    "conv_other_compute_s",
    "im2col_compute_s",
    "conv_weight_compute_s",
    "conv_output_memory_s",
    "batchnorm_memory_s",
    "depthwise_output_memory_s",
    "parameter_memory_s",
    "layer_launch_s",
    "total_compute_s",
    "activation_memory_s",
    "clock_ratio",
    "wide_sm",
)
SINGLE_GPU_FORMULAS = {
    # Hand-derived, nine terms: sums over two rates, corrected for the clock and for wide multiprocessors.
    "nine terms": (
        "(1.48 * conv_other_compute_s + 77.9 * im2col_compute_s + 1070 * conv_weight_compute_s)"
        " * clock_ratio^(-0.15) * exp(0.71 * wide_sm)"
        " + (26.8 * conv_output_memory_s + 14.2 * batchnorm_memory_s + 74.6 * depthwise_output_memory_s"
        " + 11.5 * parameter_memory_s) * exp(0.68 * wide_sm) + 8.0 * layer_launch_s + 0.0014"
    ),
    "roofline": "max(2.2 * total_compute_s, 21 * activation_memory_s) + 12 * layer_launch_s + 0.002",
}
SINGLE_GPU_TIME = FeatureSpec("single_gpu_time_s", "t_1", SECOND, "measured time on one GPU")
MULTI_GPU_FEATURES = (
    "single_gpu_time_s",
    "node_ring_s",
    "network_ring_s",
    "ring_s",
    "tree_s",
    "parameter_memory_s",
    "layer_launch_s",
)
MULTI_GPU_FORMULA = (
    "max(1.02 * single_gpu_time_s, 0.96 * single_gpu_time_s + 0.94 * node_ring_s + 3.2 * network_ring_s)"
    " + 0.0005"
)


@dataclass(frozen=True)
class Planted:
    """A planted formula: features and columns, (n_rows, n_features).

    text : the formula. truth : its values, seconds, (n_rows,).
    """

    name: str
    features: tuple[FeatureSpec, ...]
    columns: NDArray[np.float64]
    text: str
    truth: NDArray[np.float64]


def single_gpu_formula(name: str) -> Planted:
    """Return a formula of `SINGLE_GPU_FORMULAS` on the rows of the default table."""
    return _on_table("fp32-2026", name, SINGLE_GPU_FEATURES, SINGLE_GPU_FORMULAS[name])


def multi_gpu_formula() -> Planted:
    """Return a formula with overlapped communication on the rows of the table of several GPUs."""
    return _on_table("multi", "several GPUs", MULTI_GPU_FEATURES, MULTI_GPU_FORMULA)


def _on_table(table: str, name: str, features: tuple[str, ...], text: str) -> Planted:
    runs = load(table)
    frame = runs.features([feature for feature in features if feature != SINGLE_GPU_TIME.name])
    frame[SINGLE_GPU_TIME.name] = runs.frame.get(SINGLE_GPU_TIME.name)
    columns = frame[list(features)].to_numpy(np.float64)
    usable = np.all(np.isfinite(columns), axis=1)
    columns = columns[usable]
    values, _ = evaluate(parse_text(text), dict(zip(features, columns.T, strict=True)))
    specs = tuple(
        SINGLE_GPU_TIME if feature == SINGLE_GPU_TIME.name else feature_specs([feature])[0]
        for feature in features
    )
    return Planted(name, specs, columns, text, values)


def _fit_problem(planted: Planted, y: NDArray[np.float64]) -> Problem:
    """Return the problem in which forms are fitted to the logarithms of `y`."""
    settings = SearchSettings(typed=False, loss="log_ratio", operators=tuple(OPERATORS))
    return make_problem(planted.columns, y, planted.features, TARGET, settings)


def distances(planted: Planted, expressions: Sequence[Expression]) -> NDArray[np.float64]:
    """Return the largest relative distance of each form, (n_expressions,), refitted without noise."""
    rows = np.arange(planted.columns.shape[0])
    problem = _fit_problem(planted, planted.truth)
    trees = [from_expression(expression, problem.grammar) for expression in expressions]
    names = [spec.name for spec in planted.features]
    found = []
    for tree in problem.fit(trees, 2000, start=False):
        values, _ = evaluate(to_expression(tree), dict(zip(names, planted.columns.T, strict=True)))
        values = np.broadcast_to(values, rows.shape)
        found.append(float(np.max(np.abs(values / planted.truth - 1.0))))
    return np.array(found)


def evidence_against(planted: Planted, y: NDArray[np.float64], expression: Expression) -> float:
    """Return by how many nats the rows with values `y` prefer the planted formula, by the Bayesian criterion.

    Both are fitted to the logarithms of `y`; below 0 the rows prefer `expression`.
    """
    problem = _fit_problem(planted, y)
    pair = (expression, parse_text(planted.text))
    fitted = problem.fit([from_expression(form, problem.grammar) for form in pair], 2000, start=False)
    gain = 0.5 * y.size * np.log(fitted[0].loss / fitted[1].loss)
    # A written 1, as in 1 + 96 / depth_k, is no fitted constant.
    held = [sum(value != 1.0 for value in constants(form)) for form in pair]
    return float(gain + 0.5 * (held[0] - held[1]) * np.log(y.size))


def search_once(task: tuple[Planted, int, float, int]) -> dict[str, object]:
    """Run one search for a planted formula with the noise of a seed; task : with seconds and threads, too."""
    planted, seed, seconds, threads = task
    noise = np.random.default_rng([seed, 77]).standard_normal(planted.truth.size)
    settings = SearchSettings(
        evaluations=None,
        limit_seconds=seconds,
        random_seed=seed,
        threads=threads,
    )
    estimator = FormulaRegressor(planted.features, TARGET, settings)
    began = time.perf_counter()
    y = planted.truth * np.exp(NOISE * noise)
    estimator.fit(planted.columns, y)
    spent = time.perf_counter() - began
    members = [member for member in estimator.front_ if member.loss <= WORST_LOSS * estimator.front_[-1].loss]
    near = distances(planted, [member.formula.expression for member in members]) <= EQUIVALENT
    chosen = distances(planted, [estimator.formula_.expression])[0]
    predicted = estimator.predict(planted.columns)
    return {
        "planted": planted.name,
        "seed": seed,
        "found": bool(np.any(near)),
        "chosen": bool(chosen <= EQUIVALENT),
        "nats for the planted": evidence_against(planted, y, estimator.formula_.expression),
        "largest distance of the chosen form %": 100.0 * chosen,
        "mean error without noise %": 100.0 * float(np.mean(np.abs(predicted / planted.truth - 1.0))),
        "complexity": complexity(estimator.formula_.expression),
        "complexity of the planted": complexity(parse_text(planted.text)),
        "features": len(variables(estimator.formula_.expression)),
        "seconds": spent,
        "formula": estimator.formula_.text(3),
    }


#: How to make each planted formula, and the time limit of a search for it, seconds.
PLANTED: dict[str, tuple[Callable[[], Planted], float]] = {
    "roofline": (partial(single_gpu_formula, "roofline"), 60.0),
    "nine terms": (partial(single_gpu_formula, "nine terms"), 60.0),
    "several GPUs": (multi_gpu_formula, 60.0),
}


def planted_rows(
    seeds: int, threads: int, only: str = "", place: Place | None = None
) -> list[dict[str, object]]:
    """Return one row per planted formula and seed.

    place : where the searches run; None for this process.
    """
    wanted = [(make(), seconds) for name, (make, seconds) in PLANTED.items() if only in name]
    tasks = [(planted, seed, seconds, threads) for planted, seconds in wanted for seed in range(seeds)]
    rows, where = [], place or Place()
    for row in run_tasks(search_once, tasks, **where):
        rows.append(row)
        print(" ".join(str(value)[:220] for value in row.values()), flush=True)
    order = [planted.name for planted, _ in wanted]
    return sorted(rows, key=lambda row: (order.index(row["planted"]), row["seed"]))


def planted_summary(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return, by planted formula, how often it was found, the mean error without noise, and the seconds."""
    table = []
    for name in dict.fromkeys(str(row["planted"]) for row in rows):
        searches = [row for row in rows if row["planted"] == name]
        probable = sum(float(str(row["nats for the planted"])) < NEGLIGIBLE for row in searches)
        table.append(
            {
                "planted": name,
                "on the front": f"{sum(bool(row['found']) for row in searches)}/{len(searches)}",
                "chosen": f"{sum(bool(row['chosen']) for row in searches)}/{len(searches)}",
                "as probable as the planted": f"{probable}/{len(searches)}",
                "mean error without noise %": float(
                    np.mean([row["mean error without noise %"] for row in searches])
                ),
                "complexity": float(np.median([row["complexity"] for row in searches])),
                "complexity of the planted": searches[0]["complexity of the planted"],
                "seconds": float(np.mean([row["seconds"] for row in searches])),
            }
        )
    return table
