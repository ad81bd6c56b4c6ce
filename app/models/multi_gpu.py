"""The time of an iteration on several GPUs from a formula of one: by an evolved law, or a textbook exchange.

A law of several GPUs, such as the built-in one, takes the time on one GPU (here that of the formula) and
says the time on several; it was evolved on measured runs and holds for the algorithms that occurred there.
For other algorithms, and where asked for, the textbook stands in: every GPU computes its own batch in the
time of a single one; then the gradients (4 bytes per learned element) are exchanged in the closed form of the
run's algorithm over its links' rates and latencies; nothing of that is hidden behind the backward pass,
unless a share is given. A formula evolved on runs of several GPUs from data sheets alone needs neither.
Decomposition as in Pei et al., "Iteration Time Prediction for CNN in Multi-GPU Platform", IEEE Access 7,
2019; which is better, measured: `docs/scaling.md`.
"""

from dataclasses import replace

import numpy as np
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.scopes import check_scope, formula_rows, handling
from trainlaw.datasets import RunTable
from trainlaw.datasets.features.scaling_features import SCALING_FEATURES, SINGLE_GPU_TIME
from trainlaw.formulas import Formula, load_formula, substitute
from trainlaw.formulas.scopes import MULTI_GPU, MULTI_GPU_RUN

EXCHANGE = "communication_s"  # the feature with the closed form of a run's own algorithm
ASSUMPTION = "several GPUs: one GPU's time + textbook exchange, not hidden"
BY_LAW = "several GPUs: one GPU's time by the formula, several by the evolved law"
OF_ONE = "the interval is of one GPU"
ALGORITHMS = "algorithms"  # entry of a law's provenance: ways of exchanging that its runs had


def check_scaling_formula(formula: Formula, origin: str) -> Formula:
    """Return the formula; InputError where it does not give the time on several GPUs from that on one."""
    check_scope(formula, MULTI_GPU, origin=origin, advice="`trainlaw study --of multi` finds one")
    return formula


def speaks_for(law: Formula | None, algorithm: str) -> bool:
    """Return whether a law of several GPUs, None for no law, speaks for a way of exchanging.

    A law that does not say which ways were in its training speaks for all.
    """
    return law is not None and algorithm in law.provenance.get(ALGORITHMS, (algorithm,))


def by_law(law: Formula | None, runs: RunTable) -> np.ndarray:
    """Return for which runs a law of several GPUs speaks: several, exchanging as in its training; (n_runs,).

    law : None for no law; see `speaks_for`.
    """
    frame = runs.frame
    known = [speaks_for(law, str(algorithm)) for algorithm in frame["algorithm"]]
    return (frame["n_gpus"].to_numpy() > 1) & np.array(known, dtype=bool)


def seconds_by_law(
    law: Formula, runs: RunTable, single_gpu_s: np.ndarray, without: tuple[str, ...] = ()
) -> np.ndarray:
    """Return the time of several GPUs by a law, in seconds, shape (n_runs,).

    single_gpu_s : time on one GPU, (n_runs,). without : features that are taken as 0, to tell their share.
    """
    names = [spec.name for spec in law.used_features if spec.name != SINGLE_GPU_TIME]
    columns = dict(zip(names, runs.matrix(names).T, strict=True)) | {SINGLE_GPU_TIME: single_gpu_s}
    columns |= {name: np.zeros(len(runs)) for name in without if name in columns}
    return np.broadcast_to(law.predict(columns, dict(runs.labels())), len(runs))


def exchange_seconds(
    formula: Formula, runs: RunTable, law: Formula | None = None, measured: np.ndarray | None = None
) -> np.ndarray:
    """Return what several GPUs add to the time on one, in seconds, shape (n_runs,); 0 on one GPU.

    law : of several GPUs, None for the textbook. measured : the time on one GPU, (n_runs,); None for that of
    the formula. It is 0 throughout for a formula that knows several GPUs.
    """
    if handling(formula).covers_multi_gpu:
        return np.zeros(len(runs))
    textbook, spoken = runs.matrix([EXCHANGE])[:, 0], by_law(law, runs)
    if law is None or not spoken.any():
        return textbook
    single = formula_rows(formula, runs).predict(formula) if measured is None else measured
    # A law may say less than the time on one GPU by its error; an exchange takes no negative time.
    return np.where(spoken, np.maximum(seconds_by_law(law, runs, single) - single, 0.0), textbook)


def multi_gpu_seconds(
    single_gpu_s: np.ndarray, exchange_s: np.ndarray, hidden_share: float = 0.0
) -> np.ndarray:
    """Return single-GPU time + (1 - hidden share) x exchange, in seconds, shape (n_runs,).

    single_gpu_s, exchange_s : seconds, shape (n_runs,). hidden_share : of the exchange, 0 to 1.

    >>> multi_gpu_seconds(np.array([0.2]), np.array([0.05])).tolist()
    [0.25]
    """
    return single_gpu_s + (1.0 - hidden_share) * exchange_s


def with_single_gpu_formula(law: Formula, single: Formula) -> Formula:
    """Return a law of several GPUs with a formula of one in place of the time on one GPU.

    Provenance stays that of `law`. The whole states no error: the one of `law` is for a measured time on one
    GPU. Ranges of exchanges reach down to one GPU's none, where the whole is the formula of one. A formula
    of another scope comes back as it is.
    """
    if law.scope != MULTI_GPU:
        return law
    kept = tuple(spec for spec in law.features if spec.name != SINGLE_GPU_TIME)
    features = {spec.name: spec for spec in (*single.features, *kept)}
    exchanges = {row.spec.name for row in SCALING_FEATURES}
    ranges = {
        name: (min(low, 0.0), high) if name in exchanges else (low, high)
        for name, (low, high) in law.ranges.items()
        if name != SINGLE_GPU_TIME
    }
    return replace(
        law,
        expression=substitute(law.expression, {SINGLE_GPU_TIME: single.expression}),
        features=tuple(features.values()),
        grouped=(*single.grouped, *law.grouped),
        ranges={**single.ranges, **ranges},
        errors={},
        scope=MULTI_GPU_RUN,
    )


def with_time_on_one_gpu(runs: RunTable, formula: Formula) -> RunTable:
    """Return runs with the time on one GPU that a formula of one predicts, as if it had been measured."""
    seconds = formula_rows(formula, runs).predict(formula)
    return RunTable(runs.name, runs.frame.assign(**{SINGLE_GPU_TIME: seconds}), runs.facts)


def with_built_in_single_gpu_formula(formula: Formula) -> Formula:
    """Return a formula that needs no measured time: where it does, the built-in formula's stands in."""
    return with_single_gpu_formula(formula, load_formula(BUILT_IN)) if formula.scope == MULTI_GPU else formula
