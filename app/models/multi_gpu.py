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
from trainlaw.app.models.rows import FormulaRows
from trainlaw.datasets import FEATURES, RunTable
from trainlaw.datasets.features.base_features import LINK_FEATURES
from trainlaw.datasets.features.communication_features import COMMUNICATION_FEATURES
from trainlaw.datasets.features.scaling_features import SCALING_FEATURES, SINGLE_GPU_TIME
from trainlaw.formulas import Formula, InputError, load_formula, substitute

EXCHANGE = "communication_s"  # the feature with the closed form of a run's own algorithm
ASSUMPTION = "several GPUs: one GPU's time + textbook exchange, not hidden"
BY_LAW = "several GPUs: one GPU's time by the formula, several by the evolved law"
OF_ONE = "the interval is of one GPU"
OF_SEVERAL_GPUS = frozenset(
    {
        "n_gpus",
        "n_nodes",
        *(row.spec.name for row in (*LINK_FEATURES, *COMMUNICATION_FEATURES, *SCALING_FEATURES)),
    }
) - {"gradient_bytes", "exchange_bytes"}
ALGORITHMS = "algorithms"  # entry of a law's provenance: ways of exchanging that its runs had


def knows_several_gpus(formula: Formula) -> bool:
    """Return whether a formula has features of several GPUs, so that its time needs no addition."""
    return any(spec.name in OF_SEVERAL_GPUS for spec in formula.used_features)


def needs_single_gpu_time(formula: Formula) -> bool:
    """Return whether a formula is a law of several GPUs that takes the time on one as a feature."""
    return any(spec.name == SINGLE_GPU_TIME for spec in formula.used_features)


def check_needs_no_time(formula: Formula) -> None:
    """Raise InputError for a law of several GPUs that takes the time on one as a feature."""
    if needs_single_gpu_time(formula):
        raise InputError(
            "this formula says how much longer several GPUs take than one: give it as --law, beside a "
            "--formula of one GPU"
        )


def check_law_of_several(law: Formula, origin: str) -> Formula:
    """Return the law; InputError where it is no law of several GPUs that takes the time on one."""
    unknown = [spec.name for spec in law.used_features if spec.name not in FEATURES]
    if unknown or law.summed_over or not needs_single_gpu_time(law):
        raise InputError(
            f"{origin}: expected a law of several GPUs, with the feature {SINGLE_GPU_TIME}, as "
            "`trainlaw study --of multi` finds; got another"
        )
    return law


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
    if knows_several_gpus(formula):
        return np.zeros(len(runs))
    textbook, spoken = runs.matrix([EXCHANGE])[:, 0], by_law(law, runs)
    if law is None or not spoken.any():
        return textbook
    single = FormulaRows.of(formula, runs).predict(formula) if measured is None else measured
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


def iteration_seconds(
    formula: Formula, runs: RunTable, hidden_share: float = 0.0, law: Formula | None = None
) -> np.ndarray:
    """Return the time of one iteration of each run, in seconds, shape (n_runs,); nan where not defined.

    hidden_share : of the textbook exchange. law : of several GPUs, None for the textbook.
    """
    single = FormulaRows.of(formula, runs).predict(formula)
    return multi_gpu_seconds(single, exchange_seconds(formula, runs, law), hidden_share)


def with_single_gpu_law(law: Formula, single: Formula) -> Formula:
    """Return a law of several GPUs with a formula of one in place of the time on one GPU.

    Provenance stays that of `law`. The whole states no error: the one of `law` is for a measured time on one
    GPU. Ranges of exchanges reach down to one GPU's none, where the whole is the formula of one. A law
    without that feature comes back as it is.
    """
    if not needs_single_gpu_time(law):
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
    )


def with_time_on_one_gpu(runs: RunTable, formula: Formula) -> RunTable:
    """Return runs with the time on one GPU that a formula of one predicts, as if it had been measured."""
    seconds = FormulaRows.of(formula, runs).predict(formula)
    return RunTable(runs.name, runs.frame.assign(**{SINGLE_GPU_TIME: seconds}), runs.facts)


def with_built_in_single_gpu_law(formula: Formula) -> Formula:
    """Return a formula that needs no measured time: where it does, the built-in formula's stands in."""
    return with_single_gpu_law(formula, load_formula(BUILT_IN)) if needs_single_gpu_time(formula) else formula
