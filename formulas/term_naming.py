"""Names for the terms of a formula, read from the units and meanings of the features in them."""

from collections import Counter

from trainlaw.formulas.expression import Expression, variables
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.units import BASES, SECOND


def term_names(formula: Formula) -> tuple[str, ...]:
    """Return a name per term of `formula.terms()`, such as "compute time"; equal names are numbered.

    A term with FLOP or MAC is computing, one with bytes per second is memory or, over a link, communication;
    a single feature with the target's unit lends its meaning; what has no feature is fixed.

    >>> from trainlaw.formulas.text import parse_text
    >>> from trainlaw.formulas.units import Unit
    >>> work = FeatureSpec("macs", "M", Unit.parse("MAC"), "work")
    >>> time = FeatureSpec("time_s", "t", SECOND, "time of one iteration")
    >>> term_names(Formula(parse_text("2 * macs + 3"), (work,), time))
    ('compute time', 'fixed time')
    """
    features = {spec.name: spec for spec in formula.used_features}
    plain = [_name(term, features, formula.target) for term in formula.terms()]
    totals, seen = Counter(plain), Counter[str]()
    names = []
    for name in plain:
        seen[name] += 1
        names.append(f"{name} {seen[name]}" if totals[name] > 1 else name)
    return tuple(names)


def _name(term: Expression, features: dict[str, FeatureSpec], target: FeatureSpec) -> str:
    """Return the name of one term, not yet unique."""
    quantity = "time" if target.unit == SECOND else target.name
    used = [features[name] for name in variables(term) if name in features]
    own = [spec for spec in used if spec.unit == target.unit]
    kinds = list(dict.fromkeys(kind for spec in used if (kind := _kind(spec))))
    if kinds:
        return f"{' and '.join(kinds)} {quantity}"
    if len(own) == 1 and own[0].meaning:
        return own[0].meaning
    return f"{quantity} by {' and '.join(spec.name for spec in used)}" if used else f"fixed {quantity}"


def _kind(spec: FeatureSpec) -> str:
    """Return what a feature stands for by its unit, empty where that does not tell."""
    bases = {base for base, power in zip(BASES, spec.unit.exponents, strict=True) if power}
    if bases & {"FLOP", "MAC"}:
        return "compute"
    if "B" in bases and "s" in bases:
        return "communication" if "link" in spec.meaning.lower() else "memory"
    return ""
