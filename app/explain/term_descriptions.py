"""Describe the terms of a formula: the work behind each, and the factors that scale it."""

import re
from collections import Counter
from dataclasses import dataclass

from trainlaw.app.models.scopes import feature_expression, handling
from trainlaw.app.models.terms import parts_of
from trainlaw.app.text.files import toml_table
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas import SECOND, Expression, FeatureSpec, Formula, Variable, variables
from trainlaw.formulas.algebra.tidying import factors

# The rates of a time, base columns of GPU and links, determine its kind of work.
_RATES = (
    ("compute", re.compile(r"peak_\w*flop_per_s")),
    ("fp32-lane", re.compile(r"comparable_fp32_flop_per_s")),
    ("memory", re.compile(r"bandwidth_byte_per_s")),
    ("all-reduce", re.compile(r"(link|network)_\w+|peer_access")),
    ("single-GPU", re.compile(SINGLE_GPU_TIME)),
)
_COUNTS = re.compile(r"n_(layers|conv|depthwise|dense|\w+)")
_PLAIN = re.compile(r"_?(compute|memory|matrix|simt|cached|kernel)?_s$")


# The work behind the time of a feature, for readers who do not know the feature.
_TITLES = toml_table(__file__, "titles.toml")
_MANY = "further work on one GPU"  # instead of more titles than a line holds
_MOST_TITLES = 2


@dataclass(frozen=True)
class TermWords:
    """A term described: a short name, unique in its formula, a sentence that explains it, and a title.

    title : the work that takes the time, for any reader. Several terms of a formula may share one.
    """

    name: str
    sentence: str
    title: str = ""


def words_of_parts(formula: Formula) -> tuple[TermWords, ...]:
    """Return name and explanation of each of `parts_of(formula)`.

    The rates in a term give its name: compute, memory, all-reduce, launch or fixed time.
    """
    terms = [part.expression for part in parts_of(formula)]
    plain = [_name(term, formula) for term in terms]
    totals, seen = Counter(plain), Counter[str]()
    words = []
    for term, name in zip(terms, plain, strict=True):
        seen[name] += 1
        unique = f"{name} {seen[name]}" if totals[name] > 1 else name
        words.append(TermWords(unique, _sentence(term, formula), _title(term, formula) or name))
    return tuple(words)


def _title(term: Expression, formula: Formula) -> str:
    """Return the work behind the times of a term; empty where one of them has no title."""
    titles = dict.fromkeys(_TITLES.get(spec.name, "") for spec in _times(term, formula))
    if "" in titles:
        return ""
    return _MANY if len(titles) > _MOST_TITLES else " and ".join(titles)


def _name(term: Expression, formula: Formula) -> str:
    main = _times(term, formula)
    used = main or _used(term, formula)
    raw = {name for spec in used for name in _raw_columns(spec.name, formula)}
    kinds = [kind for kind, rate in _RATES if any(rate.fullmatch(name) for name in raw)]
    if kinds[:2] == ["compute", "fp32-lane"]:
        kinds.remove("fp32-lane")  # the peak rate of fp32 is stated for the same lanes
    quantity = "time" if formula.target.unit == SECOND else formula.target.name
    if not kinds:
        counted = main and any(_COUNTS.fullmatch(name) for name in raw)
        kinds = ["launch" if counted else "fixed"]
    subjects = [text for spec in main if (text := _PLAIN.sub("", spec.name).replace("_", " "))]
    of = f" ({', '.join(subjects)})" if subjects else ""
    return f"{' and '.join(kinds)} {quantity}{of}"


def _raw_columns(feature: str, formula: Formula) -> tuple[str, ...]:
    """The base columns that a feature is computed from; the name itself where it is a custom one."""
    known = feature in handling(formula).features
    return variables(feature_expression(feature, formula.scope)) if known else (feature,)


def _used(term: Expression, formula: Formula) -> list[FeatureSpec]:
    names = variables(term)
    return [spec for spec in formula.used_features if spec.name in names]


def _times(term: Expression, formula: Formula) -> list[FeatureSpec]:
    return [spec for spec in _used(term, formula) if spec.unit == formula.target.unit]


def _sentence(term: Expression, formula: Formula) -> str:
    coefficient, bases = factors(term)
    used, main = _used(term, formula), _times(term, formula)
    scales = [spec for spec in used if spec not in main]
    alone = [base for base in bases if isinstance(base, Variable) and base.name in {s.name for s in main}]
    if not main:
        first = f"{_amount(coefficient, formula)} in every iteration"
    elif len(alone) == len(main):
        times = " and ".join(_meaning(spec) for spec in main)
        first = times if coefficient == 1 else f"{show_number(coefficient)} times {times}"
    else:
        first = "made of " + " and ".join(_meaning(spec) for spec in main)
    if not scales:
        return f"{first}."
    return f"{first}; scaled by {' and '.join(spec.name for spec in scales)}."


def _amount(coefficient: float, formula: Formula) -> str:
    unit = formula.target.unit
    return show_seconds(coefficient) if unit == SECOND else f"{show_number(coefficient)} {unit}"


def _meaning(spec: FeatureSpec) -> str:
    return f"{spec.name} ({spec.meaning})" if spec.meaning else spec.name
