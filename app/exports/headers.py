"""The header of an exported file: features as closed forms, the stated error, the origin of the formula."""

from dataclasses import replace

from trainlaw.app.models.scopes import feature_expression
from trainlaw.app.models.stated_error import headline
from trainlaw.formulas import FeatureSpec, Formula, TrainlawError, to_text
from trainlaw.formulas.printers.naming import header


def described(formula: Formula) -> Formula:
    """Return the formula with closed forms in the meanings of its features and its errors as one sentence."""
    features = tuple(
        replace(spec, meaning=_with_closed_form(spec, formula.scope)) for spec in formula.features
    )
    stated = headline(formula).removeprefix("stated error: ")
    errors = {"stated": stated, "protocol": formula.errors.get("protocol", "")} if formula.errors else {}
    return replace(formula, features=features, errors=errors)


def header_lines(formula: Formula) -> list[str]:
    """Return the lines that every exported text carries: formula, features, units, ranges, error, origin."""
    return header(described(formula))


def _with_closed_form(spec: FeatureSpec, scope: str) -> str:
    try:
        form = to_text(feature_expression(spec.name, scope))
    except TrainlawError:
        return spec.meaning  # a user-defined feature, or one that no closed form defines
    return spec.meaning if form == spec.name else f"{spec.meaning}, {form}"
