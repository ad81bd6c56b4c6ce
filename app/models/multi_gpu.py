"""The time of an iteration on several GPUs: by a scaling formula, or by the textbook all-reduce.

A scaling formula, such as the built-in one, takes the time on one GPU (here that of the formula) and gives
the time on several; it was evolved on measured runs and holds for the collective algorithms among them. For
other algorithms, and on request, the textbook is used: every GPU computes its own batch in the time of a
single one; then the gradients (4 bytes per learned element) are reduced in the closed form of the run's
algorithm over its links' rates and latencies; none of that overlaps with the backward pass, unless a share is
given. A formula evolved on runs of several GPUs from specifications alone needs neither.
Decomposition as in Pei et al., "Iteration Time Prediction for CNN in Multi-GPU Platform", IEEE Access 7,
2019; which is better, measured: `docs/several-gpus.md`.
"""

from dataclasses import replace
from functools import cache, reduce

import numpy as np
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, SCALING_FORMULA
from trainlaw.app.models.scopes import Inputs, feature_expression, formula_rows, handling
from trainlaw.datasets import RunTable
from trainlaw.datasets.features.run_features import SCALING_FEATURES, SINGLE_GPU_TIME
from trainlaw.datasets.hardware.collectives import FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.formulas import (
    SCOPES,
    Apply,
    Constant,
    Expression,
    Formula,
    InputError,
    Variable,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.tidying import fold_constants
from trainlaw.formulas.scopes import MULTI_GPU, MULTI_GPU_RUN

EXCHANGE = "communication_s"  # the feature with the closed form of a run's own algorithm
ASSUMPTION = "several GPUs: time on one + textbook all-reduce, not overlapped"
SCALED = "several GPUs: time on one by the formula, on several by the scaling formula"
SINGLE_GPU_INTERVAL = "the interval is for one GPU"
ALGORITHMS = "algorithms"  # entry of a scaling formula's provenance: collective algorithms of its runs


def covers_algorithm(scaling: Formula | None, algorithm: str) -> bool:
    """Return whether a scaling formula, None for none, covers a collective algorithm.

    One that does not list the algorithms of its training covers all.
    """
    return scaling is not None and bool(algorithm in scaling.provenance.get(ALGORITHMS, (algorithm,)))


def scaled_runs(scaling: Formula | None, runs: RunTable) -> np.ndarray:
    """Return which runs a scaling formula covers: several GPUs and an algorithm of its training; (n_runs,).

    scaling : None for none; see `covers_algorithm`.
    """
    algorithms, several = runs.column("algorithm"), runs.column("n_gpus").to_numpy() > 1
    if not several.any():
        return several
    known = [name for name in algorithms.unique() if covers_algorithm(scaling, str(name))]
    covered: np.ndarray = several & algorithms.isin(known).to_numpy()
    return covered


def covering(scaling: Formula | None, runs: RunTable) -> Formula:
    """Return the scaling formula; InputError where it does not cover the algorithm of every run."""
    if scaling is None:
        raise InputError(
            "a measured time on one GPU needs a scaling formula, got the textbook; leave one of them out"
        )
    if not scaled_runs(scaling, runs).all():
        known = ", ".join(scaling.provenance.get(ALGORITHMS, ()))
        raise InputError(
            "a measured time on one GPU needs a scaling formula that covers the algorithm; this one covers "
            f"{known}; leave the time out for the textbook"
        )
    return scaling


def scaling_columns(scaling: Formula, runs: RunTable) -> dict[str, np.ndarray]:
    """Return the features of a scaling formula but the time on one GPU, (n_runs,) by name."""
    names = [spec.name for spec in scaling.used_features if spec.name != SINGLE_GPU_TIME]
    return dict(zip(names, runs.matrix(names).T, strict=True))


def scaled_seconds(
    scaling: Formula, runs: RunTable, single_gpu_s: np.ndarray, without: tuple[str, ...] = ()
) -> np.ndarray:
    """Return the time on several GPUs by a scaling formula, in seconds, shape (n_runs,).

    single_gpu_s : time on one GPU, (n_runs,). without : features to set to 0, to compute their share.
    """
    columns = scaling_columns(scaling, runs) | {SINGLE_GPU_TIME: single_gpu_s}
    columns |= {name: np.zeros(len(runs)) for name in without if name in columns}
    return np.broadcast_to(scaling.predict(columns, dict(runs.labels())), len(runs))


def exchange_seconds(
    formula: Formula, runs: RunTable, scaling: Formula | None, single_gpu_s: np.ndarray
) -> np.ndarray:
    """Return what several GPUs add to the time on one, in seconds, shape (n_runs,); 0 on one GPU.

    scaling : None for the textbook. single_gpu_s : the time on one GPU, (n_runs,). It is 0 throughout for a
    formula that itself covers several GPUs.
    """
    if handling(formula).covers_multi_gpu or not (runs.column("n_gpus") > 1).any():
        return np.zeros(len(runs))
    textbook, covered = runs.matrix([EXCHANGE])[:, 0], scaled_runs(scaling, runs)
    if scaling is None or not covered.any():
        return textbook
    # A scaling formula may fall below the time on one GPU by its error; an all-reduce takes no negative time.
    added = np.maximum(scaled_seconds(scaling, runs, single_gpu_s) - single_gpu_s, 0.0)
    return np.where(covered, added, textbook)


@cache
def added_time() -> Expression:
    """Return what several GPUs add to the time on one, as an expression of base columns and that time.

    As `exchange_seconds` with the built-in scaling formula; `single_gpu_time_s` is the time on one GPU.
    """
    scaling = BUILT_IN_FORMULAS[SCALING_FORMULA]()
    whole = scaling.ungrouped
    written = substitute(whole, {name: feature_expression(name, MULTI_GPU) for name in variables(whole)})
    single = Variable(SINGLE_GPU_TIME)
    added = Apply("max", (Apply("sub", (written, single)), Constant(0.0)))
    covered = [
        algorithm_indicator(feature)
        for feature in dict.fromkeys(FEATURE_OF_ALGORITHM[name] for name in scaling.provenance[ALGORITHMS])
    ]
    indicators: list[Expression] = [Variable(name) for name in covered]
    is_covered = reduce(lambda one, other: Apply("add", (one, other)), indicators)
    others = substitute(feature_expression(EXCHANGE), dict.fromkeys(covered, Constant(0.0)))
    return Apply("add", (Apply("mul", (is_covered, added)), fold_constants(others)))


def with_single_gpu_formula(scaling: Formula, single: Formula) -> Formula:
    """Return a scaling formula with a formula of one GPU in place of the time on one GPU.

    Provenance stays that of `scaling`. The result states no error: the one of `scaling` is for a measured
    time on one GPU. Ranges of all-reduce features are extended to 0, their value on one GPU, where the result
    is the formula of one. A formula of another scope is returned unchanged.
    """
    if scaling.scope != MULTI_GPU:
        return scaling
    kept = tuple(spec for spec in scaling.features if spec.name != SINGLE_GPU_TIME)
    features = {spec.name: spec for spec in (*single.features, *kept)}
    exchanges = {row.spec.name for row in SCALING_FEATURES}
    ranges = {
        name: (min(low, 0.0), high) if name in exchanges else (low, high)
        for name, (low, high) in scaling.ranges.items()
        if name != SINGLE_GPU_TIME
    }
    return replace(
        scaling,
        expression=substitute(scaling.expression, {SINGLE_GPU_TIME: single.expression}),
        features=tuple(features.values()),
        grouped=(*single.grouped, *scaling.grouped),
        ranges={**single.ranges, **ranges},
        errors={},
        scope=MULTI_GPU_RUN,
    )


def with_time_on_one_gpu(runs: RunTable, formula: Formula) -> RunTable:
    """Return runs with the time on one GPU that a formula predicts, as if it had been measured."""
    seconds = formula_rows(formula, runs).predict(formula)
    return RunTable(runs.name, runs.frame.assign(**{SINGLE_GPU_TIME: seconds}), runs.facts)


def formula_of_choices(formula: Formula, output: str) -> Formula:
    """Return a formula as an output for readers computes it from their choices; `output` names that.

    One that needs the time on one GPU has the built-in formula in its place; grouped constants have their
    default. Raises InputError for a formula of single layers or of a user's own features.
    """
    row = handling(formula)
    if row.inputs is not Inputs.RUN:
        raise InputError(
            f"this formula models {SCOPES[formula.scope].title}, which has no {output}; {row.advice}"
        )
    whole = with_single_gpu_formula(formula, BUILT_IN_FORMULAS["law"]())
    return replace(whole, expression=whole.ungrouped, grouped=())
