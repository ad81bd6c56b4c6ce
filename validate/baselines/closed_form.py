"""Closed forms that are sums of times with positive constants, over rates that know clock and generation.

`time = compute sum / P_eff + memory sum / B_eff + the rest`, with P_eff = P rho^a exp(-k kappa), B_eff = B exp(-m kappa):
rho = base clock / boost clock, kappa = 1 where an SM has more than 128 cores (Kepler). All constants are fitted anew in
every fold. Their start is computed from the training rows, too: a start or a prior at figures fitted on a whole table
would tell a fold about the GPU that it holds out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd

from trainlaw.formulas.errors import InputError
from trainlaw.validate.baselines.columns import columns, group_weights
from trainlaw.validate.least_squares import Prior, robust_least_squares

_RATE_FEATURES = ("clock_ratio", "wide_sm")
_N_EXPONENTS = 3

# A factor of e^5 = 150 either way: nothing against hundreds of runs, enough to hold a term that none of them has.
_PRIOR_DEVIATION = 5.0
