"""One row of a feature table, and how features are computed from their definitions.

The rows are those of `datasets/data/features.csv`. A definition is one line of text over base columns and
other features. Python, workbook, page and exported code all compute from that line, so none of them can
differ from what `trainlaw features` prints.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import inf

import numpy as np
import pandas as pd
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import Expression, substitute, variables
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.algebra.units import Unit
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.features import FeatureSpec

#: Base columns by name, each computed when it is asked for; float64, shape (n_rows,).
Columns = Mapping[str, Callable[[], np.ndarray]]


@dataclass(frozen=True)
class Feature:
    """One feature: its specification and its definition as text; a base column is defined by its own name."""

    spec: FeatureSpec
    definition: str

    @property
    def is_base(self) -> bool:
        """Whether the feature is a base column: one that the tables of runs, GPUs, CNNs and links hold."""
        return self.definition == self.spec.name

    @cached_property
    def expression(self) -> Expression:
        """The definition as an expression."""
        return parse_text(self.definition)


def features_of(*kinds: str) -> dict[str, Feature]:
    """Return the features of some kinds by name, in the order of `features.csv`."""
    return {row["name"]: _feature(row) for row in _rows() if row["kind"] in kinds}


def _feature(row: Mapping[str, str]) -> Feature:
    name = row["name"]
    low, high = float(row.get("low", 0.0)), float(row.get("high", inf))
    spec = FeatureSpec(name, row["symbol"], _unit(row["unit"]), row["meaning"], low=low, high=high)
    return Feature(spec, row.get("definition", name))


@cache
def _rows() -> list[dict[str, str]]:
    return read_data_rows("features.csv")


# Three hundred features have thirty units.
_unit = cache(Unit.parse)


def written_out(features: Mapping[str, Feature], name: str) -> Expression:
    """Return the feature `name` as an expression over base columns only, in the unit of the feature.

    Raises UnknownNameError for an unknown feature.
    """
    (feature,) = chosen_features(features, [name])
    if feature.is_base:
        return feature.expression
    parts = variables(feature.expression)
    return substitute(feature.expression, {part: written_out(features, part) for part in parts})


def base_columns(features: Mapping[str, Feature], names: Iterable[str]) -> frozenset[str]:
    """Return the base columns that features of these names are made of."""
    pending, found = [*names], set()
    while pending:
        feature = features[pending.pop()]
        parts = [] if feature.is_base else variables(feature.expression)
        pending += [part for part in parts if part not in found]
        found |= {feature.spec.name, *parts}
    return frozenset(name for name in found if features[name].is_base)


# Rows up to which columns that several features share are kept: those of a million rows would take gigabytes.
_MOST_KEPT = 100_000


def _feature_values(
    features: Mapping[str, Feature], joined: Columns, name: str, kept: dict[str, np.ndarray]
) -> np.ndarray:
    """Return a base column, or a feature computed from those that its definition names; shape (n_rows,).

    kept : columns that are known already; short ones are added.
    """
    if name in kept:
        return kept[name]
    if name in joined:
        values = joined[name]()
    else:
        expression = features[name].expression
        parts = {part: _feature_values(features, joined, part, kept) for part in variables(expression)}
        values = evaluate(expression, parts)[0]
    if len(values) <= _MOST_KEPT:
        kept[name] = values
    return values


def chosen_features(features: Mapping[str, Feature], names: Iterable[str] | None) -> tuple[Feature, ...]:
    """Return the features of these names (None: all), in their order; raises UnknownNameError."""
    chosen = tuple(features) if names is None else tuple(names)
    for name in chosen:
        if name not in features:
            raise unknown_name("feature", name, features)
    return tuple(features[name] for name in chosen)


def feature_block(
    features: Mapping[str, Feature],
    joined: Columns,
    index: pd.Index,
    names: Iterable[str] | None,
    kept: dict[str, np.ndarray] | None = None,
) -> pd.DataFrame:
    """Return features (None: all) computed from joined columns: float64, shape (n_rows, k).

    kept : columns that are known already, to which short ones are added. Raises UnknownNameError for an
    unknown feature.
    """
    chosen = chosen_features(features, names)
    kept = {} if kept is None else kept
    # One block filled column by column: a frame made of separate columns would copy a million rows again.
    block = np.empty((len(index), len(chosen)), order="F")
    for position, feature in enumerate(chosen):
        block[:, position] = _feature_values(features, joined, feature.spec.name, kept)
    return pd.DataFrame(block, columns=[feature.spec.name for feature in chosen], index=index, copy=False)
