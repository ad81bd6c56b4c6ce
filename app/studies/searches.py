"""The searches of a study: one per estimator and fold, and those on all rows."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.front import EVOLVED
from trainlaw.app.studies.front import THE_LAW, Deliverable, best_candidate
from trainlaw.app.studies.front_search import FRONT_SIZES, formulas_by_size, front_estimators
from trainlaw.app.studies.material import Material
from trainlaw.app.studies.search import (
    EvolvedEstimator,
    SearchedRows,
    Signals,
    TaskPool,
    search_all_rows,
    searched_on_all_rows,
)
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula
from trainlaw.validate import EstimatorFactory, StudyProgress, StudyResult, run_study
from trainlaw.validate.baselines import LASSO, NO_SEARCH, RANDOM_SEARCH, NonnegativePathBySize
from trainlaw.validate.journal import Journal
from trainlaw.validate.result import OURS, SEED

_PATIENCE_SECONDS = 1.5  # an interrupted search stops after the generation that it is in

OnStart = Callable[[Signals, int], None]
OnFit = Callable[[StudyProgress], None]


def estimator_of(material: Material, seed: int) -> Callable[[], EvolvedEstimator]:
    """Return what makes the estimator that evolves the formula; it can be sent to a worker."""
    return material.kind.search(material.rows, _settings(material, seed))


def _settings(material: Material, seed: int) -> SearchSettings:
    # Two populations that exchange their best differ less from seed to seed than one of the same size.
    definition = material.definition
    return SearchSettings(
        evaluations=definition.evaluations,
        random_seed=seed,
        islands=2,
        population=200,
        max_constants=definition.max_constants,
    )


def estimators_of(material: Material) -> dict[str, EstimatorFactory]:
    """Return all that a study fits in each fold but baselines.

    These are the formula, evolved or fitted; of an evolved one also those with other seeds, the law, and
    formulas drawn at random; and the formulas of few constants with their controls.
    """
    kind, rows, definition = material.kind, material.rows, material.definition
    found: dict[str, EstimatorFactory] = {OURS: estimator_of(material, definition.seed)}
    if not kind.is_fitted:
        further_seeds = range(definition.seed + 1, definition.seed + definition.seeds)
        found |= {f"{SEED}{seed}": estimator_of(material, seed) for seed in further_seeds}
        settings = _settings(material, definition.seed)
        law = kind.no_search(rows, settings) if kind.no_search else None
        found |= {} if law is None else {NO_SEARCH: law}
        # As many formulas of the same grammar, none a parent of another.
        drawn = replace(settings, islands=1, population=settings.evaluations or settings.population)
        found[RANDOM_SEARCH] = kind.search(rows, drawn)
    return found | _front_estimators(material)


def _front_estimators(material: Material) -> dict[str, EstimatorFactory]:
    """Return what makes the formulas of few constants; nothing where the kind has none."""
    kind, definition = material.kind, material.definition
    if kind.space is None:
        return {}
    sizes, seeds = front_sizes(definition), range(definition.seed, definition.seed + definition.seeds)
    found = front_estimators(kind.space(material.rows), sizes, definition.evaluations, seeds)
    return {**found, LASSO: partial(NonnegativePathBySize, sizes)} if kind.has_lasso else found


def front_sizes(definition: StudyDefinition) -> tuple[int, ...]:
    """Return the numbers of constants whose formulas a study states."""
    return tuple(size for size in FRONT_SIZES if size <= definition.max_constants) or (
        definition.max_constants,
    )


_WholeSearch = Future[dict[str, object]]


@dataclass(frozen=True)
class Searched:
    """What the searches found, as they found it.

    whole : of the law, or of the search, on all rows. few : of the formulas of few constants there; None
    without such. best : which of all has the least held-out error; delivered : its formula, None for that of
    `whole`.
    """

    whole: SearchedRows
    few: SearchedRows | None
    result: StudyResult
    cut_short: bool
    new_generations: StudyResult | None = None
    best: Deliverable = THE_LAW
    delivered: Formula | None = None


def search(
    material: Material, pool: TaskPool, on_start: OnStart, on_fit: OnFit, journal: Journal
) -> Searched:
    """Search in every fold and on all rows, or take what the journal has of an earlier run.

    on_start : called once with the pool's signals and the number of formulas to be tried. on_fit : called
    after each fit of a fold. KeyboardInterrupt where nothing was found before an interruption.
    """
    estimators, definition = estimators_of(material), material.definition
    # With several seeds figures are to be stated, also those of new generations.
    stated = (OURS, EVOLVED) if definition.seeds > 1 else (OURS,)
    of_generations = {name: estimators[name] for name in stated if name in estimators}
    watch = _Watch(pool, definition.evaluations, on_fit)
    on_start(pool.signals, definition.evaluations * _n_searches(material, estimators, of_generations))

    def on_all_rows(name: str) -> _WholeSearch:
        return _start_on_all_rows(name, estimators[name], material, pool, journal)

    running = {name: on_all_rows(name) for name in (OURS, EVOLVED) if name in estimators}
    rows = material.rows
    known = (rows.X, rows.seconds, rows.labels)
    both = {**estimators, **material.baselines}
    result = run_study(*known, material.splits, both, progress=watch, journal=journal, **pool.place)
    best, by_generation = THE_LAW, None
    if EVOLVED in estimators and not result.missing_splits:
        best = best_candidate(result, front_sizes(definition))
        if best.method not in running:
            running[best.method] = on_all_rows(best.method)
    if material.generations and not result.missing_splits:
        by_generation = run_study(
            *known,
            material.generations,
            of_generations,
            progress=replace(watch, on_fit=None),
            journal=journal,
            **pool.place,
        )
    interrupted = any(part is not None and part.missing_splits for part in (result, by_generation))
    found, cut_short = _all_found(running, pool.signals, interrupted)
    best = best if best.method in found else THE_LAW
    delivered = formulas_by_size(found[best.method].front, (best.size,))[best.size] if best.size else None
    return Searched(found[OURS], found.get(EVOLVED), result, cut_short, by_generation, best, delivered)


def _all_found(
    running: Mapping[str, _WholeSearch], signals: Signals, interrupted: bool
) -> tuple[dict[str, SearchedRows], bool]:
    """Wait for all searches on all rows, as `_finish`; return also whether one of them was cut short."""
    found: dict[str, SearchedRows] = {}
    is_cut_short = False
    for name, future in running.items():
        try:
            found[name], also = _finish(future, signals, interrupted)
            is_cut_short = is_cut_short or also
        except KeyboardInterrupt:
            # Without the formulas of few constants there is still the law.
            if name == OURS:
                raise
            is_cut_short = True
    return found, is_cut_short


def _n_searches(
    material: Material, estimators: Mapping[str, object], of_generations: Mapping[str, object]
) -> int:
    """The number of searches of a study, each of which tries as many formulas."""
    fits = {OURS} if material.kind.is_fitted else set()
    searched = [name for name in estimators if name not in {*fits, NO_SEARCH, LASSO}]
    folds = len(searched) * len(material.splits)
    new = len([name for name in of_generations if name in searched]) * len(material.generations)
    return max(folds + new + len([name for name in (OURS, EVOLVED) if name in searched]), 1)


@dataclass
class _Watch:
    """Called after each fit of a fold: count the formulas that remote workers tried, pass progress on.

    evaluations : formulas that each search tries.
    """

    pool: TaskPool
    evaluations: int
    on_fit: OnFit | None

    def __call__(self, progress: StudyProgress) -> None:
        # Workers elsewhere cannot count.
        if self.pool.remote and progress.estimator.startswith((OURS, EVOLVED, RANDOM_SEARCH)):
            self.pool.signals.tried.value += self.evaluations
        if self.on_fit is not None:
            self.on_fit(progress)


def _start_on_all_rows(
    name: str, factory: EstimatorFactory, material: Material, pool: TaskPool, journal: Journal
) -> _WholeSearch:
    """Start the search of an estimator on all rows, or take what an earlier run found."""
    task, rows = f"all rows, {name}", material.rows
    if task in journal:
        known = _WholeSearch()
        known.set_result(journal[task])
        return known

    def keep(future: _WholeSearch) -> None:
        ended = not pool.signals.stop.value and not future.cancelled() and future.exception() is None
        # A full disk is reported where the study itself writes next.
        with suppress(OSError):
            if ended:
                journal.keep(task, future.result())

    future = pool.executor.submit(
        search_all_rows, factory, rows.X, rows.seconds, rows.groups, rows.labels.astype(str)
    )
    future.add_done_callback(keep)
    return future


def _finish(on_all_rows: _WholeSearch, signals: Signals, interrupted: bool) -> tuple[SearchedRows, bool]:
    """Wait for the search on all rows, or end it early on an interrupt; return also whether it was.

    KeyboardInterrupt where it has nothing yet.
    """
    cut_short = interrupted and not on_all_rows.done()
    if not cut_short:
        try:
            return _result(on_all_rows), False
        except KeyboardInterrupt:
            cut_short = True
    signals.stop.value = True
    try:
        return _result(on_all_rows, _PATIENCE_SECONDS), True
    except TimeoutError:
        raise KeyboardInterrupt from None


def _result(on_all_rows: _WholeSearch, limit_seconds: float | None = None) -> SearchedRows:
    return searched_on_all_rows(on_all_rows.result(limit_seconds))
