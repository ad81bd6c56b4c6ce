"""The space of a front: which amounts and factors formulas may be made of, and what each must hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.settings import Factor
from trainlaw.formulas import Expression, InputError, variables
from trainlaw.formulas.errors import unknown_name


@dataclass(frozen=True)
class Amount:
    """A time at a data-sheet rate that a formula may contain.

    Parameters
    ----------
    feature : str
        Name of the feature, in the unit of the target.
    resource : str
        What does the work; factors are allowed by it.
    work : str
        What is counted; amounts of the same work differ in the resource.
    covers : frozenset of str
        Kinds of layers whose work it contains.
    weight : float
        The weight by rule, which costs a formula no constant.
    cost : float
        Share that it adds to a formula's score: the more amounts there are to choose from, the more of the
        choice is chance.
    """

    feature: str
    resource: str
    work: str
    covers: frozenset[str] = frozenset()
    weight: float = 1.0
    cost: float = 0.0


@dataclass(frozen=True)
class Space:
    """What formulas are made of: `max(base + scale * sum of terms, floor) + after`.

    Each term is a weight times an amount times powers or exponentials of pure numbers.

    Parameters
    ----------
    amounts : tuple of Amount
        Amounts that may be terms.
    factors : tuple of Factor
        Pure numbers, with the bounds of their exponents.
    allowed : mapping of str to frozenset of str
        Per resource, features of the factors that may multiply its amounts.
    base, floor, after : Expression, optional
        Plain times; None for zero.
    alternatives : pair of str, optional
        Two resources of which the faster one counts, such as two algorithms.
    scale : float
        By what all terms are multiplied, such as 1/3 for one of three passes.
    part_cost : float
        Share that each amount and each factor adds to a formula's score: of formulas alike in error the
        shorter one is to be read.

    Raises
    ------
    InputError
        If there is no amount.
    UnknownNameError
        If `allowed` names a factor that is none.

    Examples
    --------
    >>> Space((Amount("compute_s", "lanes", "products"),), ()).features
    ('compute_s',)
    """

    amounts: tuple[Amount, ...]
    factors: tuple[Factor, ...]
    allowed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    base: Expression | None = None
    floor: Expression | None = None
    after: Expression | None = None
    alternatives: tuple[str, str] | tuple[()] = ()
    scale: float = 1.0
    part_cost: float = 0.0

    def __post_init__(self) -> None:
        """Check that there is something to add, and that all factors are known."""
        if not self.amounts:
            raise InputError("expected at least one amount, got none")
        known = {factor.feature for factor in self.factors}
        for name in sorted(frozenset[str]().union(*self.allowed.values()) - known):
            raise unknown_name("factor", name, known)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The features of amounts, factors and plain times, each once."""
        plain = [name for part in (self.base, self.floor, self.after) if part for name in variables(part)]
        names = [amount.feature for amount in self.amounts]
        return tuple(dict.fromkeys((*names, *(factor.feature for factor in self.factors), *plain)))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Kinds of layers that every formula must cover: those that any amount covers."""
        return frozenset[str]().union(*(amount.covers for amount in self.amounts))

    @cached_property
    def sides(self) -> NDArray[np.int64]:
        """Per amount 1 or 2 for the alternative that it is part of, 0 for none, (n_amounts,)."""
        numbers = {resource: number for number, resource in enumerate(self.alternatives, 1)}
        return np.array([numbers.get(amount.resource, 0) for amount in self.amounts], dtype=np.int64)

    @cached_property
    def multiplied(self) -> tuple[frozenset[int], ...]:
        """Per factor the places of the amounts that it may multiply."""
        return tuple(
            frozenset(
                place
                for place, amount in enumerate(self.amounts)
                if factor.feature in self.allowed.get(amount.resource, frozenset())
            )
            for factor in self.factors
        )
