"""A formula as a function of a programming language: one renderer, and a table of texts per language."""

from dataclasses import dataclass

from trainlaw.formulas.formula import Formula, GroupedConstant
from trainlaw.formulas.printers.language import Language
from trainlaw.formulas.printers.naming import header, identifiers
from trainlaw.formulas.printers.steps import named_steps


@dataclass(frozen=True, slots=True)
class FunctionForm:
    """How a language writes a function; texts have {name}, {key} (a text literal) or {value} in places.

    language : of the expressions. comment : begins a line. indent : before each line of the body. parameter,
    label : of a feature, and of the label of a group. check : whether an input is finite; all of them are
    joined by `also` into {checks} of `guard`. input, label_input : a line per feature and label. lookup : of
    a grouped constant, with {label}, {default}, {count}, {keys}, {values} and {pairs}, each a `pair`, with
    `between`.
    before_steps : a line. step : a line with {name} and {value}. result : the last lines, with {value}.
    whole : with {comments}, {if_labels}, {helpers}, {name}, {parameters} and {body}. if_labels : only where
    there are labels. before_helper : before each helper. no_parameters : in place of none. usual_name : of
    the function.
    """

    language: Language
    lookup: str
    step: str
    result: str
    whole: str
    comment: str = "# "
    indent: str = "    "
    parameter: str = "{name}"
    label: str = '{name}=""'
    check: str = ""
    also: str = " && "
    guard: str = ""
    input: str = ""
    label_input: str = ""
    pair: str = ""
    between: str = ", "
    before_steps: str = ""
    if_labels: str = ""
    before_helper: str = ""
    no_parameters: str = ""
    usual_name: str = "predict"

    def write(self, formula: Formula, name: str = "") -> str:
        """Return the source of the function of a formula, with the helpers that it calls."""
        language, name = self.language, name or self.usual_name
        steps = named_steps(language.known(formula.expression))
        features = [spec.name for spec in formula.used_features]
        step_names = [step for step, _ in steps.assignments]
        reserved = {*language.reserved, *language.helpers, name}
        names = identifiers([*features, *(item.name for item in formula.grouped), *step_names], reserved)
        keys = dict.fromkeys(constant.key for constant in formula.grouped)
        labels = identifiers(keys, {*reserved, *names.values()})
        inputs = {feature: names[feature] for feature in features}
        lines = self._inputs(inputs, labels)
        for constant in formula.grouped:
            lines.append(self._lookup(names[constant.name], labels[constant.key], constant))
        lines += [self.before_steps] if self.before_steps else []
        for step, part in steps.assignments:
            value = language.finite.format(a=language.write(part, names))
            lines.append(self.step.format(name=names[step], value=value))
        lines += self.result.format(value=language.write(steps.result, names)).split("\n")
        parameters = [self.parameter.format(name=place) for place in inputs.values()]
        parameters += [self.label.format(name=place) for place in labels.values()]
        return self.whole.format(
            comments="".join(f"{self.comment}{line}\n" for line in header(formula)),
            if_labels=self.if_labels if labels else "",
            helpers="".join(
                self.before_helper + source for source in language.used_helpers("\n".join(lines))
            ),
            name=name,
            parameters=", ".join(parameters) or self.no_parameters,
            body="".join(f"{self.indent}{line}\n" for line in lines),
        )

    def _inputs(self, inputs: dict[str, str], labels: dict[str, str]) -> list[str]:
        lines = []
        if self.guard and inputs:
            checks = self.also.join(self.check.format(name=place) for place in inputs.values())
            lines += self.guard.format(checks=checks).split("\n")
        for form, places in ((self.input, inputs), (self.label_input, labels)):
            for key, place in places.items() if form else ():
                lines.append(form.format(name=place, key=self.language.text_literal(key)))
        return lines

    def _lookup(self, place: str, label: str, constant: GroupedConstant) -> str:
        groups = {
            self.language.text_literal(str(group)): repr(float(value))
            for group, value in constant.values.items()
        }
        pairs = [self.pair.format(key=key, value=value, label=label) for key, value in groups.items()]
        return self.lookup.format(
            name=place,
            label=label,
            default=repr(float(constant.default)),
            count=len(groups) + 1,
            keys=", ".join(groups),
            values=", ".join(groups.values()),
            pairs=self.between.join(pairs),
        )
