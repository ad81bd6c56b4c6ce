"""Describe the terms of a formula: the work behind each, and the factors that scale it."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainlaw.app.models.scopes import handling
from trainlaw.app.models.terms import Part, parts_of
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.datasets.features.feature import Feature, base_columns
from trainlaw.formulas import SECOND, Expression, FeatureSpec, Formula, Unit, Variable
from trainlaw.formulas.algebra.tidying import factors
from trainlaw.formulas.files.toml_tables import toml_table

_TABLE = toml_table(__file__, "titles.toml")
# The work behind the time of a feature, for readers who do not know the feature.
_TITLES = _TABLE["titles"]
_RATES = {kind: re.compile(rate) for kind, (rate, _) in _TABLE["rates"].items() if rate}
_RESOURCES = {kind: words for kind, (_, words) in _TABLE["rates"].items()}
# Times that stand for themselves: their title is their resource.
_ALONE = ("host_s", "least_time_s", "input_copy_s")
_COUNTS = re.compile(r"n_(layers|conv|depthwise|dense|\w+)")
_PLAIN = re.compile(r"_?(compute|memory|matrix|simt|cached|kernel)?_s$")
_MANY = "further work on one GPU"  # instead of more titles than a line holds
_MOST_TITLES = 2


@dataclass(frozen=True)
class DescribedTerm:
    """A term of a formula with a short name, unique in its formula, a sentence that explains it, and a title.

    title : the work that takes the time, for any reader. resource : what limits it, as text. Several terms
    of a formula may share one of both.
    """

    part: Part
    name: str
    sentence: str
    title: str
    resource: str


def title_of(spec: FeatureSpec) -> str:
    """Return what a feature is in a few words, for readers who do not know it.

    >>> from trainlaw.datasets import FEATURES
    >>> title_of(FEATURES["clock_ratio"].spec), title_of(FEATURES["host_s"].spec)
    ('base clock over boost clock', 'waiting for the host, which launches kernels')
    """
    return _TITLES.get(spec.name) or re.split("[;:,]", spec.meaning or spec.name, maxsplit=1)[0]


def described_terms(formula: Formula) -> tuple[DescribedTerm, ...]:
    """Return each of `parts_of(formula)` with its description.

    The rates in a term give its name: compute, memory, all-reduce, launch or fixed time.
    """
    parts = parts_of(formula)
    quantities = [_quantities(part, formula) for part in parts]
    plain = [_name(times, others, formula) for times, others in quantities]
    totals, seen = Counter(plain), Counter[str]()
    found = []
    for part, (times, scales), name in zip(parts, quantities, plain, strict=True):
        seen[name] += 1
        unique = f"{name} {seen[name]}" if totals[name] > 1 else name
        sentence = _sentence(part.expression, times, scales, formula.target)
        resource = resource_of(times or scales, handling(formula).features)
        found.append(DescribedTerm(part, unique, sentence, _title(times) or name, resource))
    return tuple(found)


def _quantities(part: Part, formula: Formula) -> tuple[list[FeatureSpec], list[FeatureSpec]]:
    """Return the features of a term in the unit of the target, and the others, which scale it."""
    used = [spec for spec in formula.used_features if spec.name in part.features]
    times = [spec for spec in used if spec.unit == formula.target.unit]
    return times, [spec for spec in used if spec not in times]


def _title(times: Sequence[FeatureSpec]) -> str:
    """Return the work behind the times of a term; empty where one of them has no title."""
    titles = dict.fromkeys(_TITLES.get(spec.name, "") for spec in times)
    if "" in titles:
        return ""
    return _MANY if len(titles) > _MOST_TITLES else " and ".join(titles)


def resource_of(specs: Sequence[FeatureSpec], features: Mapping[str, Feature]) -> str:
    """Return as text what limits the time of a term; specs : its times, of `features`.

    >>> from trainlaw.datasets import FEATURES
    >>> resource_of([FEATURES["moved_own_s"].spec], FEATURES)
    'memory and cache'
    """
    if len(specs) == 1 and specs[0].name in _ALONE:
        return str(_TITLES[specs[0].name])
    return str(_RESOURCES[_kinds(specs, features)[0]])


def _kinds(specs: Sequence[FeatureSpec], features: Mapping[str, Feature]) -> list[str]:
    """Return the kinds of work of features, by the rates that they are made of."""
    names = [spec.name for spec in specs]
    # A feature that is not known is a custom one.
    raw = {*names} - {*features} | base_columns(features, [name for name in names if name in features])
    kinds = [kind for kind, rate in _RATES.items() if any(rate.fullmatch(name) for name in raw)]
    if kinds[:2] == ["compute", "fp32-lane"]:
        kinds.remove("fp32-lane")  # the peak rate of fp32 is stated for the same lanes
    is_counted = any(map(_COUNTS.fullmatch, raw))
    return kinds or ["launch" if is_counted else "fixed"]


def _name(times: Sequence[FeatureSpec], scales: Sequence[FeatureSpec], formula: Formula) -> str:
    kinds = _kinds(times or scales, handling(formula).features)
    quantity = "time" if formula.target.unit == SECOND else formula.target.name
    if kinds == ["launch"] and not times:
        kinds = ["fixed"]
    subjects = [text for spec in times if (text := _PLAIN.sub("", spec.name).replace("_", " "))]
    of = f" ({', '.join(subjects)})" if subjects else ""
    return f"{' and '.join(kinds)} {quantity}{of}"


def _sentence(
    term: Expression, times: Sequence[FeatureSpec], scales: Sequence[FeatureSpec], target: FeatureSpec
) -> str:
    coefficient, bases = factors(term)
    names = {spec.name for spec in times}
    alone = [base for base in bases if isinstance(base, Variable) and base.name in names]
    if not times:
        first = f"{_amount(coefficient, target.unit)} in every iteration"
    elif len(alone) == len(times):
        meanings = " and ".join(map(_meaning, times))
        first = meanings if coefficient == 1 else f"{show_number(coefficient)} times {meanings}"
    else:
        first = "made of " + " and ".join(map(_meaning, times))
    if not scales:
        return f"{first}."
    return f"{first}; scaled by {' and '.join(spec.name for spec in scales)}."


def _amount(coefficient: float, unit: Unit) -> str:
    return show_seconds(coefficient) if unit == SECOND else f"{show_number(coefficient)} {unit}"


def _meaning(spec: FeatureSpec) -> str:
    return f"{spec.name} ({spec.meaning})" if spec.meaning else spec.name
