"""The search of a front as an estimator: the best formula of each number of constants."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from deap import algorithms, base, tools
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.front.archive import Archive
from trainlaw.evolve.front.genomes import Genome, Power, genome_of, to_expression
from trainlaw.evolve.front.greedy import forward, pruned
from trainlaw.evolve.front.moves import Moves
from trainlaw.evolve.front.problem import Columns, Fitted, FrontProblem, make_front_problem
from trainlaw.evolve.front.space import Amount, Space
from trainlaw.evolve.front.strategies import (
    EvolutionarySearch,
    Strategy,
    Trial,
    check_toolbox,
    strategy_of,
)
from trainlaw.evolve.machine.compiler_cache import compiling_seconds
from trainlaw.evolve.search.loop import Progress
from trainlaw.formulas import (
    SECOND,
    FeatureSpec,
    Formula,
    InputError,
    ParetoFront,
    ScoredFormula,
    variables,
)
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.scopes import RUN

#: What finds a front. The last two are controls that change one formula greedily.
METHODS = ("evolution", "cross-entropy", "random", "stepwise", "pruned")
# Additions that each step of the first formulas of evolution tries: 5 and all find the same of planted laws.
_PROMISING = 5
# Share of the formulas that islands try apart; the rest is tried by all together.
_APART = 0.8
# Fits of the last constants.
_LAST_STEPS, _LAST_GAIN = 60, 1e-7
# A search that may end early does where, over this share of its formulas, no size has improved by this share
# of the standard error of the difference over groups.
_LOOK_BACK, _LEAST_ERRORS = 0.1, 0.25


@dataclass(frozen=True)
class FrontSettings:
    """Settings of a search for a front.

    Parameters
    ----------
    evaluations : int
        Formulas that are fitted, on all islands together.
    most_constants : int
        Largest number of constants of a formula.
    islands : int
        Searches that begin apart and are merged for the last fifth of the formulas.
    random_seed : int
        Seed of all draws.
    method : str
        One of `METHODS`: "evolution", or a control in the same space.
    ends_early : bool
        Whether the merged search ends where no size improves beyond the noise between groups.

    Raises
    ------
    UnknownNameError
        For an unknown method.
    InputError
        For a number that is below 1.
    """

    # From the pruned law on, held-out errors fall up to 4,000 formulas; with 12,000 on four islands scores
    # fall on, and errors rise by up to a point (six constants, five folds, three seeds: 19.2 and 20.2 %).
    evaluations: int = 4_000
    most_constants: int = 20
    islands: int = 1
    random_seed: int = 0
    method: str = "evolution"
    ends_early: bool = False

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.method not in METHODS:
            raise unknown_name("method", self.method, METHODS)
        for name in ("evaluations", "most_constants", "islands"):
            if getattr(self, name) < 1:
                raise InputError(f"expected {name} of at least 1, got {getattr(self, name)}")


class FrontSearch:
    """Finds the best formula of each number of constants in a space of amounts and factors.

    Parameters
    ----------
    space : Space
        What formulas are made of.
    features : tuple of FeatureSpec
        Specifications of the features of the space.
    target : FeatureSpec
        What is measured, in the unit of the amounts.
    settings : FrontSettings
        Budget, seed and method.
    scope : str
        What the formulas model, one of `SCOPES`.
    law : Genome, optional
        What the method "pruned" begins with, and evolution too; `law_of` makes it. Without it evolution
        begins with a forward selection that tries the most promising additions alone.
    progress : callable, optional
        Called with a `Progress` after each batch; KeyboardInterrupt in it ends the search with what it has.
    toolbox : deap.base.Toolbox, optional
        Operators of evolution of the user: any of `mate`, `mutate`, `select` on genomes.

    Attributes
    ----------
    front_ : ParetoFront
        Of each number of constants that beats all smaller ones the best formula; its complexity is the number
        of constants, its loss the mean loss of groups held out within the training rows.
    formula_ : Formula
        That of `front_` with the lowest loss.
    archive_ : Archive
        All formulas kept, as genomes.
    evaluations_ : int
        Formulas fitted.
    logbook_ : deap.tools.Logbook
        A record per batch: `gen`, `nevals`, and the best score of the batch.
    """

    front_: ParetoFront
    formula_: Formula
    archive_: Archive

    def __init__(
        self,
        space: Space,
        features: tuple[FeatureSpec, ...],
        target: FeatureSpec,
        settings: FrontSettings | None = None,
        *,
        scope: str = RUN,
        law: Genome | None = None,
        progress: Callable[[Progress], None] | None = None,
        toolbox: base.Toolbox | None = None,
    ) -> None:
        """Keep the arguments."""
        self.space, self.features, self.target = space, features, target
        self.settings = settings or FrontSettings()
        self.scope, self.law, self.progress, self.toolbox = scope, law, progress, toolbox

    def fit(
        self,
        X: Columns,
        y: ArrayLike,
        groups: ArrayLike,
        sample_weight: ArrayLike | None = None,
        drawn: NDArray[np.int64] | None = None,
    ) -> Self:
        """Search.

        X : columns by name, such as a table, each (n_rows,). y : seconds, (n_rows,). groups : labels
        (n_rows,), held out one by one; each counts the same. sample_weight : (n_rows,), within a group.
        drawn : rows that the search uses; constants are fitted and formulas chosen on all. Raises InputError
        for a target that is not positive, or a single group.
        """
        seconds, labels = np.asarray(y, dtype=np.float64), np.asarray(groups, dtype=str)
        if not (seconds > 0.0).all():
            raise InputError(f"expected a positive target, got {seconds.min():g}")
        if len(np.unique(labels)) < 2:
            raise InputError("expected rows of at least two groups, which are held out in turn, got one")
        check_toolbox(self.toolbox, self.settings.method)
        weight = np.ones_like(seconds) if sample_weight is None else np.asarray(sample_weight, np.float64)
        columns = {name: np.asarray(X[name], dtype=np.float64) for name in self.space.features}
        whole = make_front_problem(self.space, columns, seconds, labels, weight)
        problem = whole
        if drawn is not None:
            some = {name: values[drawn] for name, values in columns.items()}
            problem = make_front_problem(self.space, some, seconds[drawn], labels[drawn], weight[drawn])
        self._began, self.evaluations_, self.logbook_ = time.monotonic(), 0, tools.Logbook()
        found = self._found(problem)
        self.archive_ = self._finished(found.members, whole)
        ranges = {name: (float(values.min()), float(values.max())) for name, values in columns.items()}
        self._keep(ranges)
        return self

    def of_size(self, constants: int) -> Formula:
        """Return the formula with the lowest held-out loss of at most that many constants.

        Raises InputError where none is that small.
        """
        fitting = [one.formula for one in self.front_ if one.complexity <= constants]
        if not fitting:
            least = min(one.complexity for one in self.front_)
            raise InputError(
                f"expected at least {least} constants, the smallest formula found, got {constants}"
            )
        return fitting[-1]

    def shares(self, constants: int, resamples: int = 200) -> dict[str, float]:
        """Return how often each amount, and each factor, is in the best formula of a size.

        The groups are resampled with replacement, as often as `resamples` (Efron, 1979); the best formula of
        at most that many constants is chosen by each resample among all that were kept. Keys are features.
        """
        members = [one for one in self.archive_.members if one.genome.constants <= constants]
        cases = np.array([one.cases for one in members])
        random, counts = np.random.default_rng(self.settings.random_seed), dict[str, float]()
        for _ in range(resamples):
            drawn = random.integers(cases.shape[1], size=cases.shape[1])
            genome = members[int(np.argmin(cases[:, drawn].mean(axis=1)))].genome
            names = {self.space.amounts[place].feature for place in genome.amounts}
            for name in names | {self.space.factors[power.factor].feature for power in genome.powers}:
                counts[name] = counts.get(name, 0.0) + 1.0 / resamples
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def _found(self, problem: FrontProblem) -> Archive:
        """Return what the method finds; an interrupt ends it with what it has."""
        settings = self.settings
        moves = Moves(problem, np.random.default_rng(settings.random_seed), settings.most_constants)
        if settings.method == "stepwise":
            return forward(problem, moves)
        if settings.method == "pruned" and self.law is None:
            raise InputError("expected the law that is to be pruned, got none")
        # A control that begins with what pruning leaves would be none.
        begins = self.law if settings.method in {"pruned", "evolution"} else None
        given = [] if begins is None else pruned(begins, problem, moves).members
        if settings.method == "pruned":
            return Archive(settings.most_constants, given)
        if settings.method == "evolution" and self.law is None:
            given = forward(problem, moves, _PROMISING).members
        kind: Any = strategy_of(settings.method)
        if kind is EvolutionarySearch:
            kind = partial(EvolutionarySearch, toolbox=self.toolbox)
        islands: list[Archive] = []
        # What was found so far is a valid result.
        with suppress(KeyboardInterrupt):
            apart = settings.evaluations if settings.islands == 1 else int(_APART * settings.evaluations)
            for number in range(1, settings.islands + 1):
                strategy = kind(problem, moves, given)
                islands.append(strategy.archive)
                self._run(strategy, apart * number // settings.islands)
            together = [one for archive in islands for one in archive.members]
            strategy = kind(problem, moves, together)
            islands.append(strategy.archive)
            self._run(strategy, settings.evaluations, ends_early=settings.ends_early)
        return Archive(settings.most_constants, [one for archive in islands for one in archive.members])

    def _run(self, strategy: Strategy, until: int, *, ends_early: bool = False) -> None:
        """Advance a strategy by DEAP's loop until that many formulas are fitted in all."""
        toolbox = base.Toolbox()
        toolbox.register("generate", strategy.generate)
        toolbox.register("update", strategy.update)
        toolbox.register("evaluate", partial(_evaluated, strategy=strategy))
        # All of a batch are fitted by one call.
        toolbox.register("map", lambda evaluate, individuals: evaluate(individuals))
        statistics = tools.Statistics(lambda one: one.fitness.values[0])
        # All genomes of a small space may be known.
        statistics.register("best", np.min, initial=np.inf)
        seen = [(self.evaluations_, strategy.archive.front())]
        while self.evaluations_ < until:
            asked, log = algorithms.eaGenerateUpdate(toolbox, 1, stats=statistics, verbose=False)
            if not asked:
                break
            self.evaluations_ += len(asked)
            self.logbook_.record(**(log[0] | {"gen": len(self.logbook_)}))
            if self.progress is not None:
                self.progress(self._progress(strategy.archive))
            seen.append((self.evaluations_, strategy.archive.front()))
            if ends_early and _is_settled(seen, _LOOK_BACK * self.settings.evaluations):
                break

    def _progress(self, archive: Archive) -> Progress:
        seconds = time.monotonic() - self._began
        left = seconds * (self.settings.evaluations / self.evaluations_ - 1.0)
        best = archive.best(self.settings.most_constants)
        score = np.inf if best is None else best.score
        return Progress(
            self.evaluations_, len(self.logbook_), seconds, max(left, 0.0), score, len(archive.sizes)
        )

    @staticmethod
    def _finished(members: Sequence[Fitted], problem: FrontProblem) -> Archive:
        """Return the formulas with their last constants, and losses of held-out groups, on all rows."""
        if not members:
            raise KeyboardInterrupt
        starts = [one.constants for one in members]
        last = problem.fit([one.genome for one in members], starts, steps=_LAST_STEPS, gain=_LAST_GAIN)
        return Archive(max(one.genome.constants for one in members), last)

    def _keep(self, ranges: dict[str, tuple[float, float]]) -> None:
        scored = [self._scored(one, ranges) for one in self.archive_.front()]
        self.front_ = ParetoFront(tuple(scored))
        self.formula_ = scored[-1].formula

    def _scored(self, one: Fitted, ranges: dict[str, tuple[float, float]]) -> ScoredFormula:
        """Return a genome as a formula with the features that it uses."""
        expression = to_expression(one.genome, one.constants, self.space)
        used = [spec for spec in self.features if spec.name in set(variables(expression))]
        formula = Formula(
            expression,
            tuple(used),
            self.target,
            ranges={spec.name: ranges[spec.name] for spec in used},
            provenance={"constants": one.genome.constants},
            scope=self.scope,
        )
        return ScoredFormula(formula, one.score, one.genome.constants, one.score)


def _is_settled(seen: Sequence[tuple[int, Sequence[Fitted]]], formulas: float) -> bool:
    """Return whether no size has improved beyond noise over the last `formulas`.

    seen : evaluations and front, after each batch.
    """
    now, front = seen[-1]
    earlier = [known for evaluations, known in seen if evaluations <= now - formulas]
    if not earlier:
        return False
    before = {one.genome.constants: one for one in earlier[-1]}
    for one in front:
        old = before.get(one.genome.constants)
        if old is None:
            return False
        gain = old.cases - one.cases
        if gain.mean() > _LEAST_ERRORS * gain.std() / math.sqrt(gain.size):
            return False
    return True


def _evaluated(individuals: Sequence[Trial], strategy: Strategy) -> list[tuple[float]]:
    """Fit individuals in place, and return their scores as DEAP wants them."""
    if not individuals:
        return []
    limits = np.array([strategy.archive.limit(one.genome.constants) for one in individuals])
    found = strategy.problem.fit(
        [one.genome for one in individuals], [one.start for one in individuals], limits
    )
    for one, fitted in zip(individuals, found, strict=True):
        one.fitted = fitted
    return [(fitted.score,) for fitted in found]


def compile_front() -> float:
    """Compile the search of fronts, or load it from the disk; return seconds, 0 where the disk had it."""
    spec = FeatureSpec("work_s", "w", SECOND, "work")
    space = Space((Amount(spec.name, "lanes", "products"),), ())
    columns = {spec.name: np.arange(1.0, 9.0)}
    search = FrontSearch(space, (spec,), spec, FrontSettings(evaluations=1))
    return compiling_seconds(partial(search.fit, columns, columns[spec.name], np.arange(8) % 4))


def law_of(amounts: Iterable[str], powers: Iterable[tuple[str, Iterable[str]]], space: Space) -> Genome:
    """Return the genome of a law, each amount with a free weight, each power with a free exponent.

    powers : pairs of a factor's feature and the amounts that it multiplies, by name.
    """
    places = {one.feature: place for place, one in enumerate(space.amounts)}
    numbers = {one.feature: place for place, one in enumerate(space.factors)}
    terms = {places[name]: number for number, name in enumerate(amounts, 1)}
    found = [Power(numbers[name], True, frozenset(places[one] for one in inside)) for name, inside in powers]
    return genome_of(terms, found, space)
