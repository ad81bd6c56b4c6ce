"""The spaces of fronts: which amounts and factors the formulas of a kind of study may be made of."""

from collections.abc import Iterator
from functools import cache

from trainlaw.app.studies.skeleton import RUN_SKELETON, Skeleton, by_rules, factor_of
from trainlaw.datasets.features.amounts import wide_amounts
from trainlaw.datasets.features.work import resources, works
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.evolve import Factor
from trainlaw.evolve.front.genomes import Genome, Power, genome_of
from trainlaw.evolve.front.search import law_of
from trainlaw.evolve.front.space import Amount, Space
from trainlaw.formulas import parse_text

# What an amount costs that is no part of the law, as a share of the score. From 0 to 0.015 errors on the five
# folds of GPU groups differ by chance; with it formulas stay close to the law where the rows do not decide.
_COST = 0.005
# What each amount and each factor costs: of formulas alike in error the shorter one. Chosen from 0, 0.0015
# and 0.003 on the five folds of GPU groups: formulas of 6 constants have 16, 13 and 12 amounts; with 0.003
# errors of 12 constants and more are higher by half a point.
_PART_COST = 0.0015
# Under which the wide space has the factors of a resource of the law.
_WIDE_NAMES = {"depthwise": "lanes", "linear": "lanes", "kernels": "launch"}


def _amounts() -> Iterator[Amount]:
    for one in wide_amounts():
        yield Amount(one.name, one.resource, one.work, one.covers, one.expected, _COST)
    for one in (work for work in works() if work.resource != "copy"):
        resource = _WIDE_NAMES.get(one.resource, one.resource)
        yield Amount(one.name, resource, one.work, one.covers, one.expected)


@cache
def run_space() -> Space:
    """Return the wide space of whole iterations: only host, least time and copy are given."""
    factors, allowed = _factors()
    return Space(
        tuple({one.feature: one for one in _amounts()}.values()),
        factors,
        allowed,
        floor=parse_text(RUN_SKELETON.floor),
        after=parse_text(RUN_SKELETON.after),
        part_cost=_PART_COST,
    )


def _factors() -> tuple[tuple[Factor, ...], dict[str, frozenset[str]]]:
    """Return the factors of the wide space and those that the law alone has; by resource, their features."""
    found: dict[str, Factor] = {}
    allowed: dict[str, set[str]] = {}
    for row in read_data_rows("amount_factors.csv"):
        found[row["feature"]] = factor_of(row)
        for resource in row["resources"].split():
            allowed.setdefault(resource, set()).add(row["feature"])
    wide = frozenset(found)
    for name in resources():
        for factor in (one for one in by_rules(name).factors if one.feature not in wide):
            found[factor.feature] = factor
            allowed.setdefault(_WIDE_NAMES.get(name, name), set()).add(factor.feature)
    return tuple(found.values()), {name: frozenset(features) for name, features in allowed.items()}


@cache
def law_genome() -> Genome:
    """Return the law of `work.csv` and `factors.csv` as a genome of the wide space, all constants free."""
    device = [work for work in works() if work.resource != "copy"]
    inside = {name: [work.name for work in device if work.resource == name] for name in resources()}
    powers = [(row["feature"], inside[name]) for name, rows in resources().items() for row in rows]
    return law_of([work.name for work in device], powers, run_space())


def skeleton_space(skeleton: Skeleton, more: tuple[Amount, ...] = ()) -> tuple[Space, Genome]:
    """Return the space of the amounts and factors of a law, and the law in it, all constants free.

    more : amounts that the law has not. One factor of two alternatives has one exponent for both.
    """
    inside = {
        one.hole: [term for term in one.terms if term[0] not in skeleton.given] for one in skeleton.brackets
    }
    brackets = [one for one in skeleton.brackets if inside[one.hole]]
    amounts = [
        Amount(name, one.hole, name, weight=weight) for one in brackets for name, weight in inside[one.hole]
    ]
    base, floor, after = (
        parse_text(text) if text else None for text in (skeleton.base, skeleton.floor, skeleton.after)
    )
    factors = {factor.feature: factor for one in brackets for factor in one.factors}
    space = Space(
        (*amounts, *more),
        tuple(factors.values()),
        {one.hole: frozenset(factor.feature for factor in one.factors) for one in brackets},
        base=base,
        floor=floor,
        after=after,
        alternatives=skeleton.alternatives,
    )
    powers: dict[tuple[str, bool | str], set[int]] = {}
    for one in brackets:
        places = [place for place, amount in enumerate(amounts) if amount.resource == one.hole]
        shared = one.hole in skeleton.alternatives or one.hole
        for factor in one.factors:
            powers.setdefault((factor.feature, shared), set()).update(places)
    numbers = {feature: number for number, feature in enumerate(factors)}
    found = [Power(numbers[feature], True, frozenset(places)) for (feature, _), places in powers.items()]
    return space, genome_of({place: place + 1 for place in range(len(amounts))}, found, space)
