"""The searches of a study: one per fold and seed, one per baseline and fold, and those on all rows."""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace

from trainlaw.app.studies.material import Material
from trainlaw.app.studies.search import (
    EvolvedEstimator,
    SearchedRows,
    Signals,
    TaskPool,
    search_all_rows,
    searched_on_all_rows,
)
from trainlaw.app.studies.terms_found import TermShares
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula, ParetoFront
from trainlaw.validate import EstimatorFactory, StudyProgress, StudyResult, run_study
from trainlaw.validate.baselines import NO_SEARCH, RANDOM_SEARCH
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


def controls_of(material: Material, seed: int) -> dict[str, EstimatorFactory]:
    """Return what the search has to beat: a form written by hand, fitted, and formulas drawn at random."""
    kind, rows, settings = material.kind, material.rows, _settings(material, seed)
    # As many formulas of the same grammar, none a parent of another.
    drawn = replace(settings, islands=1, population=settings.evaluations or settings.population)
    by_hand = kind.no_search(rows, settings) if kind.no_search else None
    controls: dict[str, EstimatorFactory] = {} if by_hand is None else {NO_SEARCH: by_hand}
    return {**controls, RANDOM_SEARCH: kind.search(rows, drawn)}


_WholeSearch = Future[dict[str, object]]


@dataclass(frozen=True)
class Searched:
    """What the searches found, as they found it."""

    formula: Formula
    front: ParetoFront
    repeats: tuple[SearchedRows, ...]
    terms: TermShares
    result: StudyResult
    cut_short: bool
    new_generations: StudyResult | None = None


def search(
    material: Material, pool: TaskPool, on_start: OnStart, on_fit: OnFit, journal: Journal
) -> Searched:
    """Search in every fold and on all rows, or take what the journal has of an earlier run.

    on_start : called once with the pool's signals and the number of formulas to be tried. on_fit : called
    after each fit of a fold. KeyboardInterrupt where nothing was found before an interruption.
    """
    definition, signals = material.definition, pool.signals
    further_seeds = range(definition.seed + 1, definition.seed + definition.seeds)
    others = {f"{SEED}{seed}": estimator_of(material, seed) for seed in further_seeds}
    controls = controls_of(material, definition.seed)
    ours = {OURS: estimator_of(material, definition.seed), **others}
    estimators = {**ours, **controls, **material.baselines}
    searches = len(material.splits) * (definition.seeds + 1) + len(material.generations)
    searches += 1 + definition.repeats
    on_start(signals, definition.evaluations * searches)
    on_all_rows, *repeated = (
        _on_all_rows(material, definition.seed + step, pool, journal)
        for step in range(definition.repeats + 1)
    )
    watch = _Watch(pool, definition.evaluations, on_fit)
    rows, place = material.rows, pool.place
    known = (rows.X, rows.seconds, rows.labels)
    result = run_study(*known, material.splits, estimators, progress=watch, journal=journal, **place)
    by_generation = None
    if material.generations and not result.missing_splits:
        by_generation = run_study(
            *known,
            material.generations,
            {OURS: ours[OURS]},
            progress=replace(watch, on_fit=None),
            journal=journal,
            **place,
        )
    interrupted = any(part is not None and part.missing_splits for part in (result, by_generation))
    found, cut_short = _finish(on_all_rows, signals, interrupted)
    repeats = () if interrupted or cut_short else tuple(map(_result, repeated))
    return Searched(*found[:2], repeats, found.terms, result, cut_short, by_generation)


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
        if self.pool.remote and progress.estimator.startswith((OURS, RANDOM_SEARCH)):
            self.pool.signals.tried.value += self.evaluations
        if self.on_fit is not None:
            self.on_fit(progress)


def _on_all_rows(material: Material, seed: int, pool: TaskPool, journal: Journal) -> _WholeSearch:
    """Start the search on all rows with this random seed, or take what an earlier run found."""
    task, rows = f"all rows, seed {seed}", material.rows
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
        search_all_rows,
        estimator_of(material, seed),
        rows.X,
        rows.seconds,
        rows.groups,
        rows.labels.astype(str),
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
