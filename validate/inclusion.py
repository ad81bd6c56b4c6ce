"""Which amounts and factors the data support: how often they are chosen on resampled groups."""

from typing import NamedTuple

from trainlaw.formulas import Formula

#: Key of these shares in the `errors` of a formula.
SUPPORT = "support"


class Support(NamedTuple):
    """In which share of the choices on resampled groups an amount or a factor, by its feature, is kept."""

    name: str
    share: float


def support_of(formula: Formula) -> tuple[Support, ...]:
    """Return the shares of inclusion that a formula carries, the largest first; empty where it has none."""
    return tuple(Support(name, float(share)) for name, share in formula.errors.get(SUPPORT, ()))
