"""What the two symbolic regressions of others get: the same time terms and rates, and ln(seconds) as target.

They search without units and without groups, at budgets of some seconds a fold.
"""

import numpy as np
import pandas as pd
from trainlaw.validate.baselines.closed_form_21 import CF21_TERMS
from trainlaw.validate.baselines.inputs import columns

PEER_FEATURES = (
    *(term.feature for term in CF21_TERMS),
    "total_compute_s",
    "activation_memory_s",
    "clock_ratio",
    "wide_sm",
)


def peer_table(X: pd.DataFrame, who: str) -> np.ndarray:
    """Return the peers' columns, float64, (n_runs, 25): times in milliseconds, pure numbers as they are."""
    table = columns(X, PEER_FEATURES, who)
    scales = [1e3 if name.endswith("_s") else 1.0 for name in PEER_FEATURES]
    return table * scales
