"""The parts of a function in any language: inputs, labels, steps, result, helpers."""

from typing import NamedTuple

from trainlaw.formulas.formula import Formula, GroupedConstant
from trainlaw.formulas.printers.language import Language
from trainlaw.formulas.printers.naming import identifiers
from trainlaw.formulas.printers.steps import named_steps


class Layout(NamedTuple):
    """The parts of one function.

    inputs, labels : identifier per feature and per label column. grouped : identifier and grouped constant.
    steps : identifier and text of each step, finite or the language's invalid value. result : text of the
    value. helpers : source of the helper functions that the texts call.
    """

    inputs: dict[str, str]
    labels: dict[str, str]
    grouped: list[tuple[str, GroupedConstant]]
    steps: list[tuple[str, str]]
    result: str
    helpers: list[str]


def lay_out(formula: Formula, language: Language, name: str) -> Layout:
    """Return the parts of the function `name` of a formula in a language."""
    steps = named_steps(language.known(formula.expression))
    features = [spec.name for spec in formula.used_features]
    constants = [constant.name for constant in formula.grouped]
    step_names = [step for step, _ in steps.assignments]
    labels = list(dict.fromkeys(constant.key for constant in formula.grouped))
    reserved = {*language.reserved, *language.helpers, name}
    names = identifiers([*features, *constants, *step_names], reserved)
    label_names = identifiers(labels, {*reserved, *names.values()})
    parts = [
        (names[step], language.finite.format(a=language.write(part, names)))
        for step, part in steps.assignments
    ]
    result = language.write(steps.result, names)
    return Layout(
        inputs={feature: names[feature] for feature in features},
        labels=label_names,
        grouped=[(names[constant.name], constant) for constant in formula.grouped],
        steps=parts,
        result=result,
        helpers=language.used_helpers("\n".join([result, *(text for _, text in parts)])),
    )
