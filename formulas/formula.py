"""A formula: an expression together with all that is needed to use and to trust it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.formulas.errors import InputError, shown, unknown_name
from trainlaw.formulas.evaluation import evaluate
from trainlaw.formulas.expression import Expression, additive_terms, check_size, variables
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.json_fields import JsonFields, finite_number, number_pair
from trainlaw.formulas.json_form import from_json, to_json
from trainlaw.formulas.row_sums import RowSums
from trainlaw.formulas.scopes import RUN, check_scope_name, inferred_scope
from trainlaw.formulas.text import parse_text, to_text

FORMAT = "trainlaw formula 1"
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GroupedConstant:
    """A constant with one value per group, such as one per harness; it occurs as a variable called `name`.

    key : the label column that tells the group of a run. values : the value of each known group.
    default : the value of every other group.
    """

    name: str
    key: str
    values: Mapping[str, float]
    default: float

    def column(self, labels: Mapping[str, ArrayLike] | None, length: int) -> NDArray[np.float64]:
        """Return the constant's value per run, shape (length,); the default without a label column."""
        if labels is None or self.key not in labels:
            return np.full(length, self.default)
        return np.array([self.values.get(str(label), self.default) for label in np.asarray(labels[self.key])])

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON."""
        values = {group: float(value) for group, value in self.values.items()}
        return {"name": self.name, "key": self.key, "values": values, "default": float(self.default)}

    @classmethod
    def from_json(cls, value: object) -> "GroupedConstant":
        """Return the constant of what `to_json` gave; raises InputError, naming the field."""
        fields = JsonFields(value, "grouped constant")
        constant = cls(
            name=fields.take("name", str),
            key=fields.take("key", str),
            values=fields.take_mapping("values", finite_number),
            default=fields.take_number("default"),
        )
        fields.finish()
        return constant


@dataclass(frozen=True, slots=True)
class Formula:
    """A closed form of `target` in `features`, in the units that they state.

    grouped : constants that differ by group. ranges : smallest and largest value of a feature in training,
    in its unit. provenance : data sha256, versions, seed, settings. errors : held-out errors. These
    two are plain JSON. scope : what the formula models, one of `SCOPES`, such as "run"; of scope "layer" the
    expression is of one layer, and features and labels have a row per layer.
    Raises UnknownNameError when a variable is neither a feature nor a grouped constant, or for an unknown
    scope, InputError for two features of one name.
    """

    expression: Expression
    features: tuple[FeatureSpec, ...]
    target: FeatureSpec
    grouped: tuple[GroupedConstant, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Any] = field(default_factory=dict)
    scope: str = RUN

    def __post_init__(self) -> None:
        """Check that every variable is explained once."""
        check_size(self.expression)
        check_scope_name(self.scope)
        known = [spec.name for spec in self.features] + [constant.name for constant in self.grouped]
        twice = {name for name in known if known.count(name) > 1}
        if twice:
            raise InputError(f"expected each name of a feature once, got twice: {', '.join(sorted(twice))}")
        for name in variables(self.expression):
            if name not in known:
                raise unknown_name("variable of the formula", name, known)
        for name in self.ranges:
            if name not in known:
                raise unknown_name("feature with a range", name, known)

    @property
    def used_features(self) -> tuple[FeatureSpec, ...]:
        """The features that occur in the expression, in the order of `features`."""
        used = variables(self.expression)
        return tuple(spec for spec in self.features if spec.name in used)

    def predict(
        self,
        columns: Mapping[str, ArrayLike],
        labels: Mapping[str, ArrayLike] | None = None,
        sums: RowSums | None = None,
    ) -> NDArray[np.float64]:
        """Return the target per run, float64, shape (n_runs,), in the target's unit; nan where invalid.

        columns : the used features by name (mapping or data frame), each of shape (n_rows,), in their units;
        a row is a run, or a layer where the formula is of scope "layer". labels : the label columns of
        the grouped constants, each of shape (n_rows,). sums : which rows make up each run; None gives the
        value per row. Raises UnknownNameError for a missing column.
        """
        needed = {spec.name: _column(columns, spec.name) for spec in self.used_features}
        length = len(next(iter(needed.values()))) if needed else _length(columns, labels)
        grouped = {constant.name: constant.column(labels, length) for constant in self.grouped}
        values, valid = evaluate(self.expression, needed | grouped)
        rows = np.broadcast_to(np.where(valid, values, np.nan), length)
        return rows.copy() if sums is None else sums.apply(rows)

    def out_of_range(self, columns: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.bool_]]:
        """Return, per used feature with a training range, where a run lies outside it: bool, shape (n_runs,).

        columns : as for `predict`.
        """
        found = {}
        for spec in self.used_features:
            if spec.name in self.ranges:
                low, high = self.ranges[spec.name]
                values = _column(columns, spec.name)
                found[spec.name] = ~((values >= low) & (values <= high))
        return found

    def text(self, digits: int | None = 3) -> str:
        """Return the expression as text, constants rounded to `digits` significant digits (None: exact)."""
        return to_text(self.expression, digits)

    def terms(self) -> list[Expression]:
        """Return the expressions whose sum the formula is."""
        return additive_terms(self.expression)

    def to_json(self) -> dict[str, Any]:
        """Return the formula as plain JSON; `text` repeats `expression` for people."""
        return {
            "format": FORMAT,
            "scope": self.scope,
            "text": to_text(self.expression),
            "expression": to_json(self.expression),
            "target": self.target.to_json(),
            "features": [spec.to_json() for spec in self.features],
            "grouped": [constant.to_json() for constant in self.grouped],
            "ranges": {name: [float(low), float(high)] for name, (low, high) in self.ranges.items()},
            "errors": dict(self.errors),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_json(cls, value: object) -> "Formula":
        """Return the formula of what `to_json` gave.

        Raises InputError for a missing, unknown or wrong field, and where text and expression differ.
        """
        fields = JsonFields(value, "formula")
        version = fields.take("format", str)
        if version != FORMAT:
            raise InputError(f"expected a formula of format {FORMAT!r}, got {shown(version)}")
        text, expression = fields.take("text", str), from_json(fields.take("expression", object))
        if parse_text(text) != expression:
            raise InputError("'text' and 'expression' disagree; correct or remove one")
        provenance = fields.take("provenance", dict)
        scope = fields.take_optional("scope", str, None)
        summed_over = fields.take_optional("summed_over", str, "")
        formula = cls(
            expression=expression,
            features=tuple(FeatureSpec.from_json(item) for item in fields.take("features", list)),
            target=FeatureSpec.from_json(fields.take("target", dict)),
            grouped=tuple(GroupedConstant.from_json(item) for item in fields.take("grouped", list)),
            ranges=fields.take_mapping("ranges", number_pair),
            errors=fields.take("errors", dict),
            provenance=provenance,
            scope=inferred_scope(variables(expression), summed_over, provenance) if scope is None else scope,
        )
        fields.finish()
        return formula


def _column(columns: Mapping[str, ArrayLike], name: str) -> NDArray[np.float64]:
    """Return the column `name` as float64, shape (n_runs,)."""
    if name not in columns:
        raise unknown_name("column", name, [str(key) for key in columns])
    return np.atleast_1d(np.asarray(columns[name], dtype=np.float64))


def _length(columns: Mapping[str, ArrayLike], labels: Mapping[str, ArrayLike] | None) -> int:
    """Return the number of runs where no feature tells it."""
    for mapping in (columns, labels or NOTHING):
        for name in mapping:
            return int(np.size(mapping[name]))
    return 1
