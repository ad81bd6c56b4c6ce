"""Formulas: expressions with features, units, provenance and errors."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import (
    Constant,
    Expression,
    additive_terms,
    check_size,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.json_form import from_json, to_json
from trainlaw.formulas.algebra.row_sums import RowSums
from trainlaw.formulas.algebra.text import parse_text, to_text
from trainlaw.formulas.errors import InputError, check_name, given_twice, shown, unknown_name
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.files.codec import every, finite_number, listed, record, text
from trainlaw.formulas.files.stored_facts import ERRORS, PROVENANCE, check_cases
from trainlaw.formulas.files.text_files import json_of, read_text, write_text_atomically
from trainlaw.formulas.scopes import RUN, SCOPES

# Raised only where older readers would misread a file.
FORMAT = "trainlaw formula 1"
_SHORT = 70  # characters of a formula in its repr


@dataclass(frozen=True, slots=True)
class GroupedConstant:
    """A constant with one value per group, such as one per harness; it occurs as a variable.

    Parameters
    ----------
    name : str
        Name of the variable.
    key : str
        Label column that contains the group of a run.
    values : mapping of str to float
        Value of each known group.
    default : float
        Value of every other group.
    """

    name: str
    key: str
    values: Mapping[str, float]
    default: float

    def column(self, labels: Mapping[str, ArrayLike] | None, length: int) -> NDArray[np.float64]:
        """Return the constant's value per run, shape (length,).

        labels : label columns of this length; without the constant's own, every run gets the default.
        """
        if labels is None or self.key not in labels:
            return np.full(length, self.default)
        return np.array([self.values.get(str(label), self.default) for label in np.asarray(labels[self.key])])

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON."""
        values = {group: float(value) for group, value in self.values.items()}
        return {"name": self.name, "key": self.key, "values": values, "default": float(self.default)}

    @classmethod
    def from_json(cls, value: object, place: str = "a grouped constant") -> "GroupedConstant":
        """Return the constant that `to_json` wrote; InputError, which names the field, for anything else."""
        return cls(**_GROUPED(value, place))


_GROUPED = record(
    {"name": text, "key": text, "values": every(finite_number), "default": finite_number}, closed=True
)


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression together with all that is needed to use and to trust it.

    Parameters
    ----------
    expression : Expression
        The closed form.
    features : tuple of FeatureSpec
        Features that may occur in it.
    target : FeatureSpec
        What it computes.
    grouped : tuple of GroupedConstant
        Constants that differ by group.
    ranges : mapping of str to (float, float)
        Smallest and largest value of a feature in training, in its unit.
    provenance : mapping of str to object
        Data sha256, versions, seed and settings, as plain JSON.
    errors : mapping of str to object
        Held-out errors, as plain JSON.
    scope : str
        What the formula models, one of `SCOPES`. With scope "layer" the expression is of one layer, and
        features and labels have a row per layer.

    Raises
    ------
    UnknownNameError
        If a variable is neither a feature nor a grouped constant, or the scope is unknown.
    InputError
        If two features have the same name.
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
        check_size(self.expression)
        check_name("scope of a formula", self.scope, SCOPES)
        names = [spec.name for spec in self.features] + [constant.name for constant in self.grouped]
        twice = given_twice(names)
        if twice:
            raise InputError(f"expected each name of a feature once, got twice: {', '.join(twice)}")
        known = dict.fromkeys(names)
        for name in variables(self.expression):
            check_name("variable of the formula", name, known)
        for name in self.ranges:
            check_name("feature with a range", name, known)

    def __repr__(self) -> str:
        """Return the formula in short: its target with unit, its scope and the beginning of its text."""
        text = shorten(to_text(self.expression, 3), _SHORT, placeholder=" ...")
        return f"<Formula of scope {self.scope}: {self.target.name} [{self.target.unit}] = {text}>"

    def _repr_latex_(self) -> str:
        """Return the formula as notebooks show it."""
        # Printers are made of formulas: the one import upwards, an exception in .importlinter.
        from trainlaw.formulas.printers.latex import latex_equation  # noqa: PLC0415

        return f"$\\displaystyle {latex_equation(self)}$"

    def _repr_html_(self) -> str:
        """Return the formula with the meaning and the unit of each symbol, as notebooks show it."""
        rows = "".join(
            f"<tr><td>{escape(spec.name)}</td><td>{escape(str(spec.unit))}</td>"
            f"<td>{escape(spec.meaning)}</td></tr>"
            for spec in (self.target, *self.used_features)
        )
        equation = escape(f"{self.target.name} = {to_text(self.expression, 3)}")
        head = "<tr><th>symbol</th><th>unit</th><th>meaning</th></tr>"
        return f"<p><code>{equation}</code></p><table>{head}{rows}</table>"

    @property
    def used_features(self) -> tuple[FeatureSpec, ...]:
        """The features that occur in the expression, in the order of `features`."""
        used = variables(self.expression)
        return tuple(spec for spec in self.features if spec.name in used)

    @property
    def ungrouped(self) -> Expression:
        """The expression with each grouped constant at its default, the value for a group without data."""
        return substitute(self.expression, {item.name: Constant(item.default) for item in self.grouped})

    def predict(
        self,
        columns: Mapping[str, ArrayLike],
        labels: Mapping[str, ArrayLike] | None = None,
        sums: RowSums | None = None,
    ) -> NDArray[np.float64]:
        """Return the target in its unit, nan where the formula is not valid, shape (n_runs,).

        columns : the used features by name (mapping or data frame), in their units, each of shape
        (n_rows,). A row is a run, or a layer for a formula of scope "layer". labels : label columns of
        the grouped constants, (n_rows,). sums : which rows add up to each run; by default the value of
        each row is returned. Raises UnknownNameError for a missing column.
        """
        needed = {spec.name: _column(columns, spec.name) for spec in self.used_features}
        # Without a feature, any column says how many rows there are.
        tables = [columns] if labels is None else [columns, labels]
        others = (np.size(table[name]) for table in tables for name in table)
        length = len(next(iter(needed.values()))) if needed else next(others, 1)
        grouped = {constant.name: constant.column(labels, length) for constant in self.grouped}
        values, valid = evaluate(self.expression, needed | grouped)
        rows = np.broadcast_to(np.where(valid, values, np.nan), length)
        return rows.copy() if sums is None else sums.apply(rows)

    def out_of_range(self, columns: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.bool_]]:
        """Return where each used feature with a known range lies outside it in training, shape (n_rows,).

        columns : as for `predict`; nan counts as outside.
        """
        found = {}
        for spec in self.used_features:
            if spec.name in self.ranges:
                low, high = self.ranges[spec.name]
                values = _column(columns, spec.name)
                found[spec.name] = ~((values >= low) & (values <= high))
        return found

    def text(self, digits: int | None = 3) -> str:
        """Return the expression as one line; digits : significant ones of the constants, None for all."""
        return to_text(self.expression, digits)

    def terms(self) -> list[Expression]:
        """Return the additive terms: expressions whose sum is the formula."""
        return additive_terms(self.expression)

    def to_json(self) -> dict[str, Any]:
        """Return the formula as plain JSON; `text` repeats `expression` for human readers."""
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
        """Return the formula that `to_json` wrote.

        Raises InputError for a field that is missing, unknown or wrong, or where `text` and `expression`
        differ.
        """
        found = _FORMULA(value, "a formula")
        del found["format"]
        if parse_text(found.pop("text")) != found["expression"]:
            raise InputError("'text' and 'expression' disagree; correct or remove one")
        formula = cls(**found)
        if formula.provenance.get("cases"):
            used = (spec.name for spec in formula.used_features)
            check_cases(formula.provenance["cases"], used, {constant.key for constant in formula.grouped})
        return formula


def _format(value: object, place: str) -> object:
    if value != FORMAT:
        raise InputError(f"expected a formula of format {FORMAT!r}, got {shown(value)}")
    return value


def _pair(value: object, place: str) -> tuple[float, float]:
    low, high = listed(finite_number, 2)(value, place)
    if low > high:
        raise InputError(f"expected [low, high] as {place}, got {shown(value)}")
    return low, high


_FORMULA = record(
    {
        "format": _format,
        "scope": text,
        "text": text,
        "expression": lambda value, place: from_json(value),
        "target": FeatureSpec.from_json,
        "features": lambda value, place: tuple(listed(FeatureSpec.from_json)(value, place)),
        "grouped": lambda value, place: tuple(listed(GroupedConstant.from_json)(value, place)),
        "ranges": every(_pair),
        "errors": ERRORS,
        "provenance": PROVENANCE,
    },
    closed=True,
)


def _column(columns: Mapping[str, ArrayLike], name: str) -> NDArray[np.float64]:
    """Return the column `name` as float64, shape (n_runs,)."""
    if name not in columns:
        raise unknown_name("column", name, [str(key) for key in columns])
    return np.atleast_1d(np.asarray(columns[name], dtype=np.float64))


def save_formula(formula: Formula, path: str | os.PathLike[str]) -> None:
    """Write a formula as a JSON file, whole or not at all; the same formula gives the same bytes.

    Parameters
    ----------
    formula : Formula
        The formula.
    path : str or path-like
        File to write; an existing one is replaced.

    Raises
    ------
    InputError
        If a field is not plain, finite JSON, or the file cannot be written.
    """
    try:
        text = json.dumps(formula.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"expected plain, finite JSON in the formula's fields: {error}") from None
    write_text_atomically(path, text + "\n")


def load_formula(path: str | os.PathLike[str]) -> Formula:
    """Return the formula in a file that `save_formula` wrote.

    Parameters
    ----------
    path : str or path-like
        File to read; it may come from anyone.

    Returns
    -------
    Formula
        The formula.

    Raises
    ------
    InputError
        If the file is too large, no JSON, or has a wrong field; the message names the file.
    UnknownNameError
        If an operator is unknown.
    """
    value = json_of(read_text(path), path)
    try:
        return Formula.from_json(value)
    except (InputError, LookupError, ValueError) as error:
        raise type(error)(f"{error} (in {path})") from None
