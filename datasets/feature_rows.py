"""What one row of the feature table is, and short ways to write one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.units import Unit

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Feature:
    """One feature: what it is, and its function from joined columns to float64.

    The function returns shape (n_runs,), or () where all runs have the same value.
    """

    spec: FeatureSpec
    function: Callable[[Columns], np.ndarray]


def column_feature(
    name: str, symbol: str, unit: str, meaning: str, *, low: float = 0.0, high: float = inf
) -> Feature:
    """Return the feature that is the joined column of the same name; `unit` as `Unit.parse` reads it."""
    return derived_feature(name, symbol, unit, meaning, lambda columns: columns[name], low=low, high=high)


def derived_feature(
    name: str,
    symbol: str,
    unit: str,
    meaning: str,
    function: Callable[[Columns], np.ndarray],
    *,
    low: float = 0.0,
    high: float = inf,
) -> Feature:
    """Return the feature computed by `function`; values lie in [low, high], in `unit`."""
    return Feature(FeatureSpec(name, symbol, Unit.parse(unit), meaning, low=low, high=high), function)
