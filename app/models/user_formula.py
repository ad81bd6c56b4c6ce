"""A formula that a person writes, read strictly: our features, short names for the usual ones, no guesses."""

import re
from collections.abc import Mapping

from trainlaw.app.models.scopes import SCOPE_HANDLING, feature_specs_for
from trainlaw.datasets import FEATURES, TARGET
from trainlaw.datasets.features.feature import Feature
from trainlaw.formulas import (
    Expression,
    Formula,
    UnitError,
    UnknownNameError,
    Variable,
    load_formula,
    parse_text,
    substitute,
    variables,
)
from trainlaw.formulas.errors import shown, unknown_name
from trainlaw.formulas.scopes import RUN
from trainlaw.formulas.unit_inference import constant_units

#: Short names for the features that formulas are usually written in.
ALIASES: Mapping[str, str] = {
    "batch": "batch_per_gpu",
    "peak": "peak_flop_per_s",
    "bandwidth": "bandwidth_byte_per_s",
    "activations": "activation_elements",
    "conv_outputs": "conv_output_elements",
    "im2col": "im2col_elements",
    "parameters": "params",
    "weights": "params",
    "layers": "n_layers",
    "convs": "n_conv",
    "bytes": "bytes_per_element",
    "sms": "sm_count",
    "cores": "core_count",
}


def read_formula(text: str, scope: str = RUN) -> Formula:
    """Return the formula of a text such as "6 * macs * batch / peak + 0.01", or of a formula.json.

    scope : what the text models; its names are those of the features of that scope, such as
    `trainlaw features` lists, or of `ALIASES` for features of runs. The text is parsed, never executed.
    Raises InputError that points at the place, UnknownNameError with near names and the place.
    """
    if text.endswith(".json"):
        return load_formula(text)
    expression = _with_feature_names(parse_text(text), text, SCOPE_HANDLING[scope].features)
    specs = feature_specs_for(scope, variables(expression))
    return Formula(expression, specs, TARGET, provenance={"written": text}, scope=scope)


def _with_feature_names(expression: Expression, text: str, features: Mapping[str, Feature]) -> Expression:
    """The expression with aliases replaced by the names of features; `text` is for messages."""
    aliases = ALIASES if features is FEATURES else {}
    for name in variables(expression):
        if name not in features and name not in aliases:
            error = unknown_name("feature", name, [*aliases, *features])
            place = f"at character {_place(name, text)} of {shown(text)}"
            raise UnknownNameError(f"{error} ({place}; `trainlaw features` lists all)")
    return substitute(expression, {short: Variable(name) for short, name in aliases.items()})


def _place(name: str, text: str) -> int:
    """Where a name stands for the first time, counted from 1."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return found.start() + 1 if found else 1


def unit_fault(formula: Formula) -> str:
    """Return what is wrong with a formula's units, in one line; empty where they give seconds.

    A constant takes the unit that its place demands, so only sums and functions can be wrong.
    """
    units = {spec.name: spec.unit for spec in formula.features}
    units |= {constant.name: formula.target.unit for constant in formula.grouped}
    try:
        constant_units(formula.expression, units, formula.target.unit)
    except UnitError as error:
        return " ".join(str(error).split())
    return ""
