"""How a formula handles run settings: those that it does not know, and the host's kernel launches."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from trainlaw.app.models.scopes import feature_expression
from trainlaw.app.models.terms import plain_expression
from trainlaw.datasets import RunTable, configuration
from trainlaw.datasets.features.scaling_features import SCALING_FEATURES
from trainlaw.formulas import Apply, Expression, Formula, evaluate, variables

HOST_LAUNCH = "host_launch_s"
#: Base column of a stated `HOST_LAUNCH`.
STATED_LAUNCH = "stated_launch_s"
#: Columns of a run with the setting that holds if nothing is said, and the base column that features use.
_DEFAULTS: Mapping[str, tuple[object, str]] = {
    "layout": ("nchw", "is_channels_last"),
    "compilation": ("eager", "usual_launch_s"),
    "tuned": (0, "is_tuned"),
    HOST_LAUNCH: (None, STATED_LAUNCH),
}


def used_base_columns(formula: Formula) -> frozenset[str]:
    """Return the base columns behind the features that a formula uses."""
    forms = (feature_expression(spec.name, formula.scope) for spec in formula.used_features)
    return frozenset(name for form in forms for name in variables(form))


def unknown_settings(formula: Formula, runs: RunTable) -> list[list[str]]:
    """Return one list of warnings per run: settings other than the default that no term depends on."""
    used = used_base_columns(formula)
    found = [list[str]() for _ in range(len(runs))]
    for column, (default, base) in _DEFAULTS.items():
        values = runs.frame[column]
        stated = values.notna() if default is None else ~values.isin([default, "unknown"])
        for row in np.flatnonzero(stated.to_numpy() & (base not in used)).tolist():
            found[row].append(
                f"{_WORDS[column].format(values.iloc[row])}: no term of the formula depends on it"
            )
    return found


def ignored_settings(formula: Formula) -> dict[str, str]:
    """Return by column of a run the warning that no term depends on it, for settings other than default."""
    settings: Mapping[str, object] = {"layout": "channels_last", "tuned": True, HOST_LAUNCH: 1e-4}
    found = {}
    for name, value in settings.items():
        options: dict[str, Any] = {"cnn": "resnet50", "gpu": "T4", "batch_per_gpu": 1, name: value}
        found[name] = unknown_settings(formula, configuration(**options))[0]
    return {name: texts[0] for name, texts in found.items() if texts}


_WORDS: Mapping[str, str] = {
    "layout": "layout {}",
    "compilation": "compilation {}",
    "tuned": "a vendor's tuned container",
    HOST_LAUNCH: "host launch time",
}


def host_margin(formula: Formula, expression: Expression | None = None) -> Expression | None:
    """Return by how much the host's launches exceed what they are compared with in a formula, as a time.

    It is positive where the host decides: where the argument with the host's launch time is the largest of a
    maximum. expression : the formula's, perhaps with named constants; None for `plain_expression(formula)`.
    None for a formula without such a maximum.

    >>> from trainlaw.formulas import parse_text, to_text
    >>> to_text(_margin(parse_text("max(3 * a, 2 * host_s) + b"), {"host_s"}))
    '2 * host_s - 3 * a'
    """
    # What several GPUs add is not compared with the GPU's own work.
    added = {feature.spec.name for feature in SCALING_FEATURES}
    host = {
        spec.name
        for spec in formula.used_features
        if spec.name not in added and STATED_LAUNCH in variables(feature_expression(spec.name, formula.scope))
    }
    whole = plain_expression(formula) if expression is None else expression
    return _margin(whole, host) if host else None


def _margin(expression: Expression, host: set[str]) -> Expression | None:
    if not isinstance(expression, Apply):
        return None
    sides: dict[bool, list[Expression]] = {True: [], False: []}
    for part in _arguments(expression):
        sides[bool(host.intersection(variables(part)))].append(part)
    if expression.operator == "max" and sides[True] and sides[False]:
        return Apply("sub", (_largest(sides[True]), _largest(sides[False])))
    # On several GPUs the time on one may occur on both sides of a maximum: once is enough.
    found = dict.fromkeys(_margin(part, host) for part in expression.arguments)
    margins = [margin for margin in found if margin is not None]
    return _largest(margins) if margins else None


def _arguments(expression: Expression) -> list[Expression]:
    """Return the arguments of nested maxima as those of one."""
    if isinstance(expression, Apply) and expression.operator == "max":
        return [part for argument in expression.arguments for part in _arguments(argument)]
    return [expression]


def _largest(parts: list[Expression]) -> Expression:
    first, *others = parts
    for other in others:
        first = Apply("max", (first, other))
    return first


def host_decides(formula: Formula, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return for which rows the host's launches decide the time, bool, shape (n_rows,).

    columns : the used features by name, each of shape (n_rows,).
    """
    margin = host_margin(formula)
    if margin is None:
        return np.zeros(len(next(iter(columns.values()), ())), dtype=bool)
    values, valid = evaluate(margin, {name: columns[name] for name in variables(margin)})
    decides: np.ndarray = valid & (values > 0)
    return decides
