"""Pareto fronts: the formulas that no simpler one beats."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Any

from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula


@dataclass(frozen=True, slots=True)
class ScoredFormula:
    """A formula with its scores.

    Parameters
    ----------
    formula : Formula
        The formula.
    loss : float
        Training loss.
    complexity : int
        Complexity of the expression.
    validation_loss : float, optional
        Mean loss on held-out groups, where it was measured.
    """

    formula: Formula
    loss: float
    complexity: int
    validation_loss: float | None = None


@dataclass(frozen=True, slots=True)
class ParetoFront:
    """Scored formulas from simple to complex: complexity rises and loss strictly falls.

    Parameters
    ----------
    members : tuple of ScoredFormula
        The formulas in this order.

    Raises
    ------
    InputError
        If the order is violated.
    """

    members: tuple[ScoredFormula, ...]

    def __post_init__(self) -> None:
        for simple, complex_ in zip(self.members, self.members[1:], strict=False):
            if not (simple.complexity < complex_.complexity and simple.loss > complex_.loss):
                raise InputError(
                    "expected rising complexity and falling loss in a Pareto front, got "
                    f"({simple.complexity}, {simple.loss}) before ({complex_.complexity}, {complex_.loss})"
                )

    @classmethod
    def of(cls, candidates: Iterable[ScoredFormula]) -> "ParetoFront":
        """Return the candidates of finite loss that no simpler or equally complex one matches in loss."""
        members: list[ScoredFormula] = []
        finite = (candidate for candidate in candidates if isfinite(candidate.loss))
        for candidate in sorted(finite, key=lambda item: (item.complexity, item.loss)):
            # Sorted by loss within a complexity, so that the first of each complexity is its best.
            if not members or candidate.loss < members[-1].loss:
                members.append(candidate)
        return cls(tuple(members))

    def __repr__(self) -> str:
        """Return the front in short: its size, and the range of complexity and loss."""
        if not self.members:
            return "<ParetoFront of no formulas>"
        first, last = self.members[0], self.members[-1]
        spans = f"{first.complexity} to {last.complexity}, loss {first.loss:.3g} to {last.loss:.3g}"
        return f"<ParetoFront of {len(self)} formulas: complexity {spans}>"

    def _repr_latex_(self) -> str:
        """Return the formulas from simple to complex as notebooks show them."""
        lines = [member.formula._repr_latex_().strip("$") for member in self.members]
        return "$$\\begin{gathered}\n" + " \\\\\n".join(lines) + "\n\\end{gathered}$$"

    def _repr_html_(self) -> str:
        """Return the front as a table as notebooks show it."""
        rows = "".join(
            f"<tr><td>{row.complexity}</td><td>{row.loss:.3g}</td>"
            f"<td>{'' if row.validation_loss is None else f'{row.validation_loss:.3g}'}</td>"
            f"<td><code>{escape(row.formula.text())}</code></td></tr>"
            for row in self.members
        )
        head = "<tr><th>complexity</th><th>loss</th><th>held-out loss</th><th>formula</th></tr>"
        return f"<table>{head}{rows}</table>"

    def __iter__(self) -> Iterator[ScoredFormula]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, position: int) -> ScoredFormula:
        return self.members[position]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row per member: complexity, loss, validation_loss (None if unknown), formula (exact)."""
        return [
            {
                "complexity": member.complexity,
                "loss": member.loss,
                "validation_loss": member.validation_loss,
                "formula": member.formula.text(digits=None),
            }
            for member in self.members
        ]
