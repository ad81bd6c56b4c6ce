"""Strategies: which genomes a search asks for, and how it learns from their fits.

Each has `generate`, which returns genomes that no search of the problem has fitted, and `update`, which takes
them fitted: the two tools that `deap.algorithms.eaGenerateUpdate` asks for.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from deap import base
from trainlaw.evolve.front.aimed import Addition, ranked
from trainlaw.evolve.front.archive import Archive
from trainlaw.evolve.front.genomes import Genome, genome_of
from trainlaw.evolve.front.moves import Moves
from trainlaw.evolve.front.problem import Fitted, Floats, FrontProblem, HeldOutLoss

#: Genomes that are fitted together.
BATCH = 60
# Random genomes before the first parents.
_FIRST = 200
# Shares of crossovers and of aimed parents; each of these has up to six children, half of them changed again.
_CROSSED, _AIMED, _AIMED_CHILDREN = 0.12, 0.25, 6
# Share of aimed parents of which an amount goes, so that what is added may take its place.
_REPLACED = 0.5
# A mutation is followed by another one with this chance.
_AGAIN = 0.3
# Parents of a size are drawn by the power of a uniform number: the best ones more often.
_RANK_POWER = 1.5
# A batch that draws only known genomes this often is all that there is.
_MOST_TRIES = 50


class Trial:
    """A genome on its way: where its fit starts, and when it is fitted, its constants and losses."""

    def __init__(self, genome: Genome, start: Floats) -> None:
        """Begin without a fit."""
        self.genome, self.start, self.fitness = genome, start, HeldOutLoss()
        self.fitted: Fitted | None = None


class Strategy:
    """Draws genomes at random: as wide as evolution, with the same fits and the same choice.

    problem : what is searched. moves : draws genomes.
    """

    def __init__(self, problem: FrontProblem, moves: Moves, members: Iterable[Fitted] = ()) -> None:
        """Begin with the members of other archives, if any."""
        self.problem, self.moves, self.random = problem, moves, moves.random
        self.archive = Archive(moves.most, members)
        self.known = {one.genome for one in self.archive.members}

    def generate(self) -> list[Trial]:
        """Return genomes that are new, with the constants to start from; none where all are known."""
        found: list[Trial] = []
        tries = 0
        while len(found) < BATCH and tries < _MOST_TRIES * BATCH:
            for genome, parent in self.proposed():
                tries += 1
                if genome not in self.known and self.moves.is_possible(genome):
                    self.known.add(genome)
                    found.append(Trial(genome, self.problem.start(genome, parent)))
        return found

    def proposed(self) -> Iterator[tuple[Genome, Fitted | None]]:
        """Yield genomes and their parents, here random ones, which is the control."""
        yield self.moves.drawn(), None

    def update(self, individuals: Sequence[Trial]) -> None:
        """Archive what was fitted."""
        for one in individuals:
            if one.fitted is not None:
                self.archive.add(one.fitted)


class EvolutionarySearch(Strategy):
    """Changes, crosses and extends the formulas of the archive, parents of all sizes alike.

    toolbox : operators of the user, with DEAP's signatures on genomes: `mate(a, b)`, `mutate(a)` and
    `select(members, k)`, which chooses k of all archived formulas.
    """

    def __init__(
        self,
        problem: FrontProblem,
        moves: Moves,
        members: Iterable[Fitted] = (),
        toolbox: base.Toolbox | None = None,
    ) -> None:
        """Take operators from the toolbox."""
        super().__init__(problem, moves, members)
        self._select = getattr(toolbox, "select", None)
        self._mate = getattr(toolbox, "mate", moves.crossed)
        self._mutate = getattr(toolbox, "mutate", moves.mutated)
        self._rankings: dict[tuple[Genome, int | None], list[Addition]] = {}

    def proposed(self) -> Iterator[tuple[Genome, Fitted | None]]:
        """Yield children of archived formulas; first random genomes."""
        if len(self.known) < _FIRST or not self.archive.sizes:
            yield self.moves.drawn(), None
            return
        parent, chance = self._parent(), self.random.random()
        if chance < _CROSSED:
            yield self._mate(parent.genome, self._parent().genome), parent
        elif chance < _CROSSED + _AIMED:
            for child in self._aimed(parent):
                yield child, parent
                if self.random.random() < 0.5:
                    yield self._mutate(child), parent
        else:
            child = self._mutate(parent.genome)
            while self.random.random() < _AGAIN:
                child = self._mutate(child)
            yield child, parent

    def _parent(self) -> Fitted:
        if self._select is not None:
            chosen: Fitted = self._select(self.archive.members, 1)[0]
            return chosen
        sizes = self.archive.sizes
        cell = self.archive.cells[sizes[self.random.integers(len(sizes))]]
        return cell[int(len(cell) * self.random.random() ** _RANK_POWER)]

    def _aimed(self, parent: Fitted) -> list[Genome]:
        """Return the parent with some of the additions that promise most."""
        genome, amounts, without = parent.genome, parent.genome.amounts, None
        if len(amounts) > 1 and self.random.random() < _REPLACED:
            without = amounts[self.random.integers(len(amounts))]
            rest = {place: weight for place, weight in genome.terms if place != without}
            genome = genome_of(rest, genome.powers, self.problem.space)
        key = parent.genome, without
        if key not in self._rankings:
            self._rankings[key] = ranked(parent, self.problem, without)
        additions = self._rankings[key]
        if not additions:
            return []
        chance = 1.0 / np.arange(2.0, len(additions) + 2.0)
        count = min(_AIMED_CHILDREN, len(additions))
        places = self.random.choice(len(additions), count, replace=False, p=chance / chance.sum())
        return [self.moves.extended(genome, additions[place]) for place in places]
