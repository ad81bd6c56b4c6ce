"""Mean power of a GPU that trains: what it wants to draw, bent down towards its power limit.

    power = c L w / (1 + w^k)^(1/k),   w = P (a + b busy^e) / (c L)

P is the power limit of the data sheet, L the limit that is set, and `busy` the share of the iteration in
which the GPU works rather than waits for the host's launches. The constants were fitted to measurements of
five GPUs by `python -m benchmarks.power`, which also states the errors on each of them held out.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.app.models.scopes import formula_rows
from trainlaw.datasets import RunTable
from trainlaw.formulas import Formula

#: a, b, k, e and c.
CONSTANTS = (0.046, 1.053, 4.676, 0.496, 0.944)
#: Factor that the mean power of a new GPU is expected within: the largest of five that were held out.
POWER_FACTOR = 1.2
# Shortest launch time that a run may state, s.
_NO_LAUNCH_S = 2e-7


def mean_power_w(
    tdp_w: ArrayLike, busy: ArrayLike, limit_w: ArrayLike, constants: ArrayLike = CONSTANTS
) -> NDArray[np.float64]:
    """Return the mean power of GPUs in W, shape of the arguments.

    tdp_w : power limit of the data sheet, W. busy : as `busy_share`. limit_w : power limit that is set, W.
    constants : a, b, k, e and c of the law.

    >>> mean_power_w(300.0, 1.0, [300.0, 150.0]).round().tolist()
    [260.0, 141.0]
    """
    idle, work, bend, exponent, most = np.asarray(constants, dtype=float)
    top = most * np.asarray(limit_w, dtype=float)
    wanted = np.asarray(tdp_w, dtype=float) * (idle + work * np.asarray(busy, dtype=float) ** exponent) / top
    return np.asarray(top * wanted / (1 + wanted**bend) ** (1 / bend))


def busy_share(formula: Formula, runs: RunTable, seconds: np.ndarray) -> NDArray[np.float64]:
    """Return the share of iterations in which the GPU works: their time with a fast host over `seconds`.

    seconds : times by the formula, (n_runs,).
    """
    fast = RunTable(runs.name, runs.frame.assign(host_launch_s=_NO_LAUNCH_S), runs.facts)
    share: NDArray[np.float64] = np.minimum(formula_rows(formula, fast).predict(formula) / seconds, 1.0)
    return share
