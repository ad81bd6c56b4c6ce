"""Formulas as keys of caches."""

from trainlaw.formulas import Formula


class Held:
    """A formula as the key of a cache, equal to itself alone: formulas hold mappings, which have no hash."""

    __slots__ = ("formula",)

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.formula is other.formula

    def __hash__(self) -> int:
        return id(self.formula)
