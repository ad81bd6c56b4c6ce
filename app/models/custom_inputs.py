"""Formulas of a user's own features, and the cases that they were worked out for."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from trainlaw.app.text.numbers import show_number
from trainlaw.app.text.tables import Table, fitted_lines, plain_text, wrapped_list
from trainlaw.formulas import Formula, to_text

PUBLISHED = "published_min"
#: Units that times are shown in, with their seconds: the first that is not longer than the shortest time.
_SHOWN_IN = (("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
Case = Mapping[str, str | float]


def group_keys(formula: Formula) -> dict[str, tuple[str, ...]]:
    """Return the labels that the grouped constants of a formula need, each with its known groups."""
    known: dict[str, dict[str, None]] = {}
    for constant in formula.grouped:
        known.setdefault(constant.key, {}).update(dict.fromkeys(map(str, constant.values)))
    return {key: tuple(groups) for key, groups in known.items()}


def cases_of(formula: Formula) -> tuple[Case, ...]:
    """Return the worked cases that a formula carries: inputs by name, a label per key, what was published.

    A formula without cases has one: the middle of the training ranges (1 where unknown), the first groups.
    """
    cases = formula.provenance.get("cases")
    if cases:
        return tuple(cases)
    inputs = {spec.name: _middle(formula.ranges.get(spec.name, (1.0, 1.0))) for spec in formula.used_features}
    return ({**inputs, **{key: groups[0] for key, groups in group_keys(formula).items()}},)


def _middle(ends: tuple[float, float]) -> float:
    low, high = ends
    return float(np.sqrt(low * high)) if low > 0 else (low + high) / 2


def shown_unit(formula: Formula) -> tuple[str, float]:
    """Return the unit that times of a formula are shown in, and how many seconds it has.

    >>> from trainlaw.app.models.builtin import formula_named
    >>> shown_unit(formula_named("xeon-phi-a"))
    ('min', 60.0)
    """
    cases = cases_of(formula)
    if all(PUBLISHED in case for case in cases):
        return _SHOWN_IN[0]
    shortest = np.nanmin(np.abs(case_seconds(formula, cases)), initial=np.inf)
    return next((unit for unit in _SHOWN_IN if shortest >= unit[1]), _SHOWN_IN[-1])


def case_seconds(formula: Formula, cases: Sequence[Case]) -> np.ndarray:
    """Return the target of each case, in its unit, float64, shape (n_cases,); nan where not defined."""
    columns = {spec.name: [case[spec.name] for case in cases] for spec in formula.used_features}
    return formula.predict(columns, {key: [case[key] for case in cases] for key in group_keys(formula)})


def describe_custom(formula: Formula, origin: str) -> str:
    """Return a formula of custom features as text: equation, symbols, groups, cases, where it is from."""
    ranges = {spec.name: formula.ranges.get(spec.name, (spec.low, spec.high)) for spec in formula.features}
    symbols = [
        [spec.name, str(spec.unit), *map(show_number, ranges[spec.name]), spec.meaning]
        for spec in formula.used_features
    ]
    parts = [
        origin,
        "",
        f"  {formula.target.name} [{formula.target.unit}] =",
        f"    {to_text(formula.expression, 4)}",
    ]
    parts += ["", Table.of(["symbol", "unit", "from", "to", "meaning"], symbols).text(indent="  ")]
    for key, groups in group_keys(formula).items():
        constants = [item for item in formula.grouped if item.key == key]
        rows = [
            [item.name, *(show_number(item.values.get(group, item.default)) for group in groups)]
            for item in constants
        ]
        parts += ["", f"constants by {key}", Table.of(["constant", *groups], rows).text(indent="  ")]
    parts += ["", cases_text(formula, cases_of(formula))]
    facts = {name: value for name, value in formula.provenance.items() if name != "cases"}
    parts += ["", *(f"{name}: {plain_text(value)}" for name, value in facts.items())]
    return fitted_lines("\n".join(parts))


def cases_text(formula: Formula, cases: Sequence[Case]) -> str:
    """Return a table of cases: inputs, time by the formula, what was published, the difference."""
    names = [*group_keys(formula), *(spec.name for spec in formula.used_features)]
    unit, scale = shown_unit(formula)
    table = pd.DataFrame(cases, dtype=object)[names]
    table[f"computed, {unit}"] = times = case_seconds(formula, cases) / scale
    if all(PUBLISHED in case for case in cases):
        published = np.array([float(case[PUBLISHED]) for case in cases])
        table = table.assign(**{"published, min": published, "difference, min": times - published})
    fixed = [name for name in table if len(table) > 1 and table[name].nunique(dropna=False) == 1]
    varying = table.drop(columns=fixed)
    text = Table.of(varying.columns, varying.map(_cell).to_numpy().tolist()).text(indent="  ")
    return "\n".join(
        [text, *([wrapped_list([f"{name} {_cell(table[name][0])}" for name in fixed])] if fixed else [])]
    )


def _cell(value: str | float) -> str:
    return value if isinstance(value, str) else show_number(value, 4)
