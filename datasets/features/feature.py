"""What one row of a feature table is, and how a table's features are computed from their definitions.

A definition is a line of text over raw columns and other features. Python, workbook, page and exported code
all compute from that one line, so none of them can differ from what `trainlaw features` prints.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.evaluation import evaluate
from trainlaw.formulas.expression import Expression, substitute, variables
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.text import parse_text
from trainlaw.formulas.units import Unit

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Feature:
    """One feature: what it is, and its definition as text; a raw column is defined by its own name."""

    spec: FeatureSpec
    definition: str

    @property
    def is_base(self) -> bool:
        """Whether the feature is a column that the tables of runs and facts hold."""
        return self.definition == self.spec.name

    @cached_property
    def expression(self) -> Expression:
        """The definition as an expression."""
        return parse_text(self.definition)


def column_feature(
    name: str, symbol: str, unit: str, meaning: str, *, low: float = 0.0, high: float = inf
) -> Feature:
    """Return the feature that is the joined column of the same name; `unit` as `Unit.parse` reads it."""
    return derived_feature(name, symbol, unit, meaning, name, low=low, high=high)


def derived_feature(
    name: str,
    symbol: str,
    unit: str,
    meaning: str,
    definition: str,
    *,
    low: float = 0.0,
    high: float = inf,
) -> Feature:
    """Return the feature of that `definition`; values lie in [low, high], in `unit`."""
    return Feature(FeatureSpec(name, symbol, Unit.parse(unit), meaning, low=low, high=high), definition)


def written_out(features: Mapping[str, Feature], name: str) -> Expression:
    """Return the feature `name` as an expression over raw columns only, in the feature's unit.

    Raises UnknownNameError for an unknown feature.
    """
    (feature,) = chosen_features(features, [name])
    if feature.is_base:
        return feature.expression
    parts = variables(feature.expression)
    return substitute(feature.expression, {part: written_out(features, part) for part in parts})


def _feature_values(features: Mapping[str, Feature], joined: Columns, name: str) -> np.ndarray:
    """Return a base column, or a feature computed from those that its definition names; shape (n_rows,)."""
    if name in joined:
        return joined[name]
    expression = features[name].expression
    parts = {part: _feature_values(features, joined, part) for part in variables(expression)}
    return evaluate(expression, parts)[0]


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
    # One block, column by column: no second copy of a million rows when the frame is made.
    block = np.empty((len(index), len(chosen)), order="F")
    for position, feature in enumerate(chosen):
        block[:, position] = _feature_values(features, joined, feature.spec.name)
    return pd.DataFrame(block, columns=[feature.spec.name for feature in chosen], index=index, copy=False)
