"""The archive of a front: the best formulas of each number of constants."""

import bisect
import math
from collections.abc import Iterable, Sequence

from trainlaw.evolve.front.problem import Fitted

#: Formulas kept per number of constants, chosen from 8 to 20: parents of all sizes.
MOST_KEPT = 14
# Scores closer than this are of one formula written in two ways.
_SAME_SCORE = 1e-7


class Archive:
    """The formulas with the lowest scores of each number of constants, up to `most`."""

    def __init__(self, most: int, members: Iterable[Fitted] = ()) -> None:
        """Begin with some members."""
        self.cells: dict[int, list[Fitted]] = {size: [] for size in range(1, most + 1)}
        for member in members:
            self.add(member)

    def add(self, one: Fitted) -> None:
        """Keep a formula if it is among the best of its size."""
        score, cell = one.score, self.cells.get(one.genome.constants, [])
        if not math.isfinite(score) or any(abs(score - known.score) < _SAME_SCORE for known in cell):
            return
        bisect.insort(cell, one, key=lambda known: known.score)
        del cell[MOST_KEPT:]

    def limit(self, size: int) -> float:
        """Return the score from which on a formula of that many constants is behind: that of the last kept.

        One that is also behind all kept formulas with fewer constants is no parent of anything.
        """
        full = [
            cell[-1].score for number, cell in self.cells.items() if number <= size and len(cell) >= MOST_KEPT
        ]
        return min(full, default=math.inf)

    @property
    def sizes(self) -> list[int]:
        """Numbers of constants with a formula, rising."""
        return [size for size, cell in self.cells.items() if cell]

    @property
    def members(self) -> list[Fitted]:
        """All formulas, by size and then by score."""
        return [one for cell in self.cells.values() for one in cell]

    def best(self, size: int) -> Fitted | None:
        """Return the formula with the lowest score of at most that many constants; None without any."""
        firsts = [cell[0] for number, cell in self.cells.items() if number <= size and cell]
        return min(firsts, key=lambda one: one.score, default=None)

    def front(self) -> Sequence[Fitted]:
        """Return the formulas that beat all with fewer constants, from few to many."""
        found: list[Fitted] = []
        for size in self.sizes:
            one = self.cells[size][0]
            if not found or one.score < found[-1].score:
                found.append(one)
        return found
