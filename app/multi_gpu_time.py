"""The time of an iteration on several GPUs from a formula of one: plus the textbook exchange of gradients.

Assumptions, stated wherever the result is shown: every GPU computes its own batch in the time of a single
one; then the gradients (4 bytes per learned element) are exchanged in the closed form of the run's algorithm
over its links' rates and latencies; nothing of the exchange is hidden behind the backward pass, unless a
share is given. A formula evolved on runs of several GPUs has features of its own: nothing is added to it.
Decomposition as in Pei et al., "Iteration Time Prediction for CNN in Multi-GPU Platform", IEEE Access 7,
2019.
"""

import numpy as np
from trainlaw.app.formula_rows import FormulaRows
from trainlaw.datasets import RunTable
from trainlaw.datasets.communication_features import COMMUNICATION_FEATURES
from trainlaw.datasets.fact_features import LINK_FEATURES
from trainlaw.formulas import Formula

EXCHANGE = "communication_s"  # the feature with the closed form of a run's own algorithm
ASSUMPTION = "several GPUs: one GPU's time + textbook exchange, not hidden"
OF_SEVERAL_GPUS = frozenset(
    {"n_gpus", "n_nodes", *(row.spec.name for row in (*LINK_FEATURES, *COMMUNICATION_FEATURES))}
) - {"gradient_bytes"}


def knows_several_gpus(formula: Formula) -> bool:
    """Return whether a formula has features of several GPUs, so that its time needs no addition."""
    return any(spec.name in OF_SEVERAL_GPUS for spec in formula.used_features)


def exchange_seconds(formula: Formula, runs: RunTable) -> np.ndarray:
    """Return what the exchange adds to a formula's time, in seconds, shape (n_runs,); 0 on one GPU.

    It is 0 throughout for a formula that knows several GPUs.
    """
    if knows_several_gpus(formula):
        return np.zeros(len(runs))
    return runs.matrix([EXCHANGE])[:, 0]


def multi_gpu_seconds(
    single_gpu_s: np.ndarray, exchange_s: np.ndarray, hidden_share: float = 0.0
) -> np.ndarray:
    """Return single-GPU time + (1 - hidden share) x exchange, in seconds, shape (n_runs,).

    single_gpu_s, exchange_s : seconds, shape (n_runs,). hidden_share : of the exchange, 0 to 1.

    >>> multi_gpu_seconds(np.array([0.2]), np.array([0.05])).tolist()
    [0.25]
    """
    return single_gpu_s + (1.0 - hidden_share) * exchange_s


def iteration_seconds(formula: Formula, runs: RunTable, hidden_share: float = 0.0) -> np.ndarray:
    """Return the time of one iteration of each run, in seconds, shape (n_runs,); nan where not defined."""
    single = FormulaRows.of(formula, runs).predict(formula)
    return multi_gpu_seconds(single, exchange_seconds(formula, runs), hidden_share)
