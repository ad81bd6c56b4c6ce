"""What one row of a feature table is, short ways to write one, and how a table's features are computed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.units import Unit

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Feature:
    """One feature: what it is, and its function from joined columns to float64.

    The function returns shape (n_rows,), or () where all rows have the same value.
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


class _FeatureColumns(Mapping[str, np.ndarray]):
    """Joined columns and features under one roof, so that a feature may be made of other features."""

    def __init__(self, joined: Columns, features: Mapping[str, Feature]) -> None:
        self.joined = joined
        self.features = features

    def __getitem__(self, name: str) -> np.ndarray:
        return self.joined[name] if name in self.joined else self.features[name].function(self)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.joined, *self.features)))

    def __len__(self) -> int:
        return len(tuple(iter(self)))


def chosen_features(features: Mapping[str, Feature], names: Iterable[str] | None) -> tuple[Feature, ...]:
    """Return the rows of these names (None: all), in their order; raises UnknownNameError."""
    chosen = tuple(features) if names is None else tuple(names)
    for name in chosen:
        if name not in features:
            raise unknown_name("feature", name, features)
    return tuple(features[name] for name in chosen)


def feature_block(
    features: Mapping[str, Feature], joined: Columns, index: pd.Index, names: Iterable[str] | None
) -> pd.DataFrame:
    """Return the features of these names (None: all) of the joined columns: float64, shape (n_rows, k).

    Raises UnknownNameError for an unknown feature.
    """
    chosen = chosen_features(features, names)
    columns = _FeatureColumns(joined, features)
    # One block, column by column: no second copy of a million rows when the frame is made.
    block = np.empty((len(index), len(chosen)), order="F")
    for position, feature in enumerate(chosen):
        block[:, position] = columns[feature.spec.name]
    return pd.DataFrame(block, columns=[feature.spec.name for feature in chosen], index=index, copy=False)
