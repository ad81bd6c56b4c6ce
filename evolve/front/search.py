"""The search of a front as an estimator: the best formula of each number of constants."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from deap import algorithms, base, tools
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.front.archive import Archive
from trainlaw.evolve.front.genomes import Genome, Power, genome_of, to_expression
from trainlaw.evolve.front.greedy import forward, pruned
from trainlaw.evolve.front.moves import Moves
from trainlaw.evolve.front.problem import Columns, Fitted, FrontProblem, make_front_problem
from trainlaw.evolve.front.space import Amount, Space
from trainlaw.evolve.front.strategies import EvolutionarySearch, Strategy, Trial
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
METHODS = ("evolution", "random", "stepwise", "pruned")
# Additions that each step of the first formulas of evolution tries: 5 and all find the same of planted laws.
_PROMISING = 5
# Fits of the last constants.
_LAST_STEPS, _LAST_GAIN = 60, 1e-7


@dataclass(frozen=True)
class FrontSettings:
    """Settings of a search for a front.

    Parameters
    ----------
    evaluations : int
        Formulas that are fitted.
    most_constants : int
        Largest number of constants of a formula.
    random_seed : int
        Seed of all draws.
    method : str
        One of `METHODS`: "evolution", or a control in the same space.

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
    random_seed: int = 0
    method: str = "evolution"

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.method not in METHODS:
            raise unknown_name("method", self.method, METHODS)
        for name in ("evaluations", "most_constants"):
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
    pruned_ : FrontSearch or None
        The same search by "pruned", with which evolution begins; None without a law, and of another method.
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
        if self.toolbox is not None and self.settings.method != "evolution":
            raise InputError(f"expected no toolbox with the method {self.settings.method!r}, got one")
        weight = np.ones_like(seconds) if sample_weight is None else np.asarray(sample_weight, np.float64)
        columns = {name: np.asarray(X[name], dtype=np.float64) for name in self.space.features}
        whole = make_front_problem(self.space, columns, seconds, labels, weight)
        problem = whole
        if drawn is not None:
            some = {name: values[drawn] for name, values in columns.items()}
            problem = make_front_problem(self.space, some, seconds[drawn], labels[drawn], weight[drawn])
        self._began, self.evaluations_, self.logbook_ = time.monotonic(), 0, tools.Logbook()
        ranges = {name: (float(values.min()), float(values.max())) for name, values in columns.items()}
        self.pruned_: FrontSearch | None = None
        self._keep(self._found(problem), whole, ranges)
        if self.pruned_ is not None:
            self.pruned_._keep(self.pruned_.archive_, whole, ranges)
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
        strategy = Strategy(problem, moves)
        # A control that begins with what pruning leaves would be none.
        if settings.method in {"pruned", "evolution"}:
            begins = self._begins(problem, moves)
            if settings.method == "pruned":
                return Archive(settings.most_constants, begins)
            strategy = EvolutionarySearch(problem, moves, begins, self.toolbox)
        # What was found so far is a valid result.
        with suppress(KeyboardInterrupt):
            self._run(strategy)
        return strategy.archive

    def _begins(self, problem: FrontProblem, moves: Moves) -> list[Fitted]:
        """Return what evolution begins with: what is left of the law, or else a forward selection."""
        law, settings = self.law, self.settings
        if law is None and settings.method == "pruned":
            raise InputError("expected the law that is to be pruned, got none")
        if law is None:
            return forward(problem, moves, _PROMISING).members
        found = pruned(law, problem, moves).members
        if settings.method == "evolution":
            same = self.space, self.features, self.target, replace(settings, method="pruned")
            self.pruned_ = FrontSearch(*same, scope=self.scope, law=law)
            self.pruned_.archive_ = Archive(settings.most_constants, found)
        return found

    def _run(self, strategy: Strategy) -> None:
        """Advance a strategy by DEAP's loop until all formulas are fitted."""
        toolbox = base.Toolbox()
        toolbox.register("generate", strategy.generate)
        toolbox.register("update", strategy.update)
        toolbox.register("evaluate", partial(_evaluated, strategy=strategy))
        # All of a batch are fitted by one call.
        toolbox.register("map", lambda evaluate, individuals: evaluate(individuals))
        statistics = tools.Statistics(lambda one: one.fitness.values[0])
        # All genomes of a small space may be known.
        statistics.register("best", np.min, initial=np.inf)
        while self.evaluations_ < self.settings.evaluations:
            asked, log = algorithms.eaGenerateUpdate(toolbox, 1, stats=statistics, verbose=False)
            if not asked:
                break
            self.evaluations_ += len(asked)
            self.logbook_.record(**(log[0] | {"gen": len(self.logbook_)}))
            if self.progress is not None:
                self.progress(self._progress(strategy.archive))

    def _progress(self, archive: Archive) -> Progress:
        seconds = time.monotonic() - self._began
        left = seconds * (self.settings.evaluations / self.evaluations_ - 1.0)
        best = archive.best(self.settings.most_constants)
        score = np.inf if best is None else best.score
        return Progress(
            self.evaluations_, len(self.logbook_), seconds, max(left, 0.0), score, len(archive.sizes)
        )

    def _keep(self, archive: Archive, problem: FrontProblem, ranges: dict[str, tuple[float, float]]) -> None:
        """Fit the last constants of formulas, and their losses of held-out groups, on all rows."""
        members = archive.members
        if not members:
            raise KeyboardInterrupt
        starts = [one.constants for one in members]
        last = problem.fit([one.genome for one in members], starts, steps=_LAST_STEPS, gain=_LAST_GAIN)
        self.archive_ = Archive(max(one.genome.constants for one in members), last)
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
