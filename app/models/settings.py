"""How a formula handles run settings: which of them it uses, and the host's launches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from trainlaw.app.models.calibration import calibration_of
from trainlaw.app.models.scopes import feature_expression
from trainlaw.datasets.features.run_features import SCALING_FEATURES
from trainlaw.datasets.measurements.runs import PRECISION_OF_PASSES, Setup
from trainlaw.formulas import (
    Apply,
    Constant,
    Expression,
    FeatureSpec,
    Formula,
    Variable,
    parse_text,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.expression import sides_of
from trainlaw.formulas.files.toml_tables import toml_table
from trainlaw.formulas.scopes import FORWARD

HOST_LAUNCH = "host_launch_s"
#: Base column of a stated `HOST_LAUNCH`.
STATED_LAUNCH = "stated_launch_s"
#: Launch times of a layer, in s, of the fastest and slowest usual hosts, by the row with the time there.
HOST_RANGE_S = {"fast_host_s": 25e-6, "slow_host_s": 300e-6}
#: Share of that range, as logarithms of the time, that widens an interval where no launch time is stated.
HOST_SHARE = 0.1
#: Settings of a run that a formula may use, with the base columns by which it does.
SETTING_COLUMNS: Mapping[str, Sequence[str]] = toml_table(__file__, "settings.toml")


def setup_for(formula: Formula, setup: Setup) -> Setup:
    """Return a setup as a formula takes it: for one of forward passes that of a pass, by default in amp."""
    if formula.scope != FORWARD:
        return setup
    return replace(setup, timed_parts=FORWARD, precision=setup.precision or PRECISION_OF_PASSES)


def used_base_columns(formula: Formula) -> frozenset[str]:
    """Return the base columns behind the features that a formula uses."""
    forms = (feature_expression(spec.name, formula.scope) for spec in formula.used_features)
    return frozenset(name for form in forms for name in variables(form))


def host_rows(formula: Formula, expression: Expression | None = None) -> dict[str, Expression]:
    """Return the host's margin, and the times with a fast and a slow host, by the names of their rows.

    expression : as in `host_margin`; no rows where that is None. Of several GPUs the time changes in
    proportion to that of one.
    """
    margin = host_margin(formula, expression)
    if margin is None:
        return {}
    rows = {"host_margin": margin}
    for name, whole in zip(HOST_RANGE_S, _with_hosts(formula, expression), strict=True):
        alone = Apply("div", (whole, Variable("single_gpu_time_s")))
        rows[name] = Apply("mul", (Variable("time_s"), alone))
    return rows


def host_factor(formula: Formula, expression: Expression | None = None) -> Expression:
    """Return by which factor the host widens the interval of an iteration, over features and base columns.

    expression : as in `host_margin`; 1 where that is None, and for a calibrated formula.
    """
    if calibration_of(formula) or host_margin(formula, expression) is None:
        return Constant(1.0)
    fast, slow = _with_hosts(formula, expression)
    not_stated = parse_text(f"{HOST_SHARE} * (1 - min(1e7 * {STATED_LAUNCH}, 1))")
    launch = {"launch_s": feature_expression(HOST_LAUNCH, formula.scope)}
    return substitute(Apply("pow", (Apply("div", (slow, fast)), not_stated)), launch)


def _with_hosts(formula: Formula, expression: Expression | None) -> tuple[Expression, ...]:
    """Return a formula with the launch times of the fastest and the slowest host, over `launch_s`."""
    whole = formula.ungrouped if expression is None else expression
    shares = (Apply("div", (Constant(launch_s), Variable("launch_s"))) for launch_s in HOST_RANGE_S.values())
    of_host = [spec.name for spec in _of_host(formula)]
    return tuple(
        substitute(whole, {name: Apply("mul", (Variable(name), share)) for name in of_host})
        for share in shares
    )


def _of_host(formula: Formula) -> list[FeatureSpec]:
    """Return the features in proportion to the host's launch time that are compared with the GPU's work."""
    # What several GPUs add is not compared with the GPU's own work.
    added = {feature.spec.name for feature in SCALING_FEATURES}
    return [
        spec
        for spec in formula.used_features
        if spec.name not in added and STATED_LAUNCH in variables(feature_expression(spec.name, formula.scope))
    ]


def host_margin(formula: Formula, expression: Expression | None = None) -> Expression | None:
    """Return by how much the host's launches exceed what they are compared with in a formula, as a time.

    It is positive where the host decides: where the argument with the host's launch time is the largest of a
    maximum. expression : the formula's, perhaps with named constants; None for `formula.ungrouped`.
    None for a formula without such a maximum.

    >>> from trainlaw.formulas import parse_text, to_text
    >>> to_text(_margin(parse_text("max(3 * a, 2 * host_s) + b"), {"host_s"}, {"a"}))
    '2 * host_s - 3 * a'
    """
    host = {spec.name for spec in _of_host(formula)}
    whole = formula.ungrouped if expression is None else expression
    others = {spec.name for spec in formula.used_features} - host
    return _margin(whole, host, others) if host else None


def _margin(expression: Expression, host: set[str], others: set[str]) -> Expression | None:
    """Return the margin of the argument with features of the host and none of the others."""
    if not isinstance(expression, Apply):
        return None
    sides: dict[bool, list[Expression]] = {True: [], False: []}
    for part in sides_of(expression):
        names = set(variables(part))
        sides[bool(names & host) and not names & others].append(part)
    if expression.operator == "max" and sides[True] and sides[False]:
        return Apply("sub", (reduce(_larger, sides[True]), reduce(_larger, sides[False])))
    # On several GPUs the time on one may occur on both sides of a maximum: once is enough.
    found = dict.fromkeys(_margin(part, host, others) for part in expression.arguments)
    margins = [margin for margin in found if margin is not None]
    return reduce(_larger, margins) if margins else None


def _larger(one: Expression, other: Expression) -> Expression:
    return Apply("max", (one, other))
