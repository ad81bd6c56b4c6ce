"""The searches of a study: one per fold and seed, one per baseline and fold, and those on all rows."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from trainlaw.app.studies.evolution import evolution_curves
from trainlaw.app.studies.material import Material
from trainlaw.app.studies.search import (
    BracketSearch,
    Evolution,
    FormulaSearch,
    SearchedRows,
    Signals,
    TaskPool,
    first_only,
    fitted_only,
    search_all_rows,
    searched_on_all_rows,
)
from trainlaw.app.studies.terms_found import TermShares
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import (
    Formula,
    ParetoFront,
)
from trainlaw.validate import (
    EstimatorFactory,
    Split,
    StudyProgress,
    StudyResult,
    run_study,
)
from trainlaw.validate.baselines import NO_SEARCH, RANDOM_SEARCH
from trainlaw.validate.held_out_errors import OURS, SEED
from trainlaw.validate.journal import Journal
from trainlaw.validate.study import finished_folds

_PATIENCE_SECONDS = 1.5  # an interrupted search stops after the generation that it is in

OnStart = Callable[[Signals, int], None]
OnFit = Callable[[StudyProgress], None]
#: Called with the curves of an `Evolution` over the folds finished so far, and how many these are.
OnCurves = Callable[[Mapping[str, Sequence[tuple[int, float]]], int], None]


def estimator_of(material: Material, seed: int) -> Callable[[], Evolution]:
    """Return what makes the estimator that evolves the formula; it can be sent to a worker."""
    return material.kind.search(material.rows, _settings(material, seed))


def _settings(material: Material, seed: int) -> SearchSettings:
    # Two populations that exchange their best differ less from seed to seed than one of the same size.
    definition = material.definition
    return SearchSettings(
        evaluations=definition.evaluations, random_seed=seed, islands=2, population=200,
        max_constants=definition.max_constants,
    )  # fmt: skip


def controls_of(material: Material, seed: int) -> dict[str, EstimatorFactory]:
    """Return what the search has to beat: a form written by hand, fitted, and formulas drawn at random."""
    settings = _settings(material, seed)
    # As many formulas of the same grammar, none a parent of another.
    drawn = replace(settings, islands=1, population=settings.evaluations or settings.population)
    random = material.kind.search(material.rows, drawn)
    controls: dict[str, EstimatorFactory] = {}
    whole = getattr(random, "func", None)
    if isinstance(whole, type) and issubclass(whole, BracketSearch):
        controls[NO_SEARCH] = fitted_only(whole, settings)
    elif isinstance(whole, type) and issubclass(whole, FormulaSearch) and whole.begins_with_form:
        controls[NO_SEARCH] = partial(whole, first_only(settings))
    elif material.kind.no_search is not None:
        by_hand = material.kind.no_search(material.rows, settings)
        controls |= {NO_SEARCH: by_hand} if by_hand is not None else {}
    return {**controls, RANDOM_SEARCH: random}


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
    material: Material,
    pool: TaskPool,
    on_start: OnStart,
    on_fit: OnFit,
    journal: Journal,
    *,
    on_curves: OnCurves | None = None,
) -> Searched:
    """Search in every fold and on all rows, or take what the journal has of an earlier run.

    on_start : called once with the pool's signals and the number of formulas to be tried. on_fit : called
    after each fit of a fold. on_curves : called after each fold that the search and its controls finish.
    KeyboardInterrupt where nothing was found before an interruption.
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
    count = partial(_counted, pool, definition.evaluations)
    watching = (
        on_fit if on_curves is None else _watched(material, (OURS, *controls), journal, on_fit, on_curves)
    )
    result = _fitted(
        material, material.splits, estimators, pool, progress=partial(count, watching), journal=journal
    )
    by_generation = None
    if material.generations and not result.missing_splits:
        by_generation = _fitted(
            material, material.generations, {OURS: ours[OURS]}, pool, progress=partial(count, None),
            journal=journal,
        )  # fmt: skip
    interrupted = any(part is not None and part.missing_splits for part in (result, by_generation))
    found, cut_short = _finish(on_all_rows, signals, interrupted)
    repeats = () if interrupted or cut_short else tuple(map(_result, repeated))
    return Searched(*found[:2], repeats, found.terms, result, cut_short, by_generation)


def _fitted(
    material: Material,
    splits: Sequence[Split],
    estimators: Mapping[str, EstimatorFactory],
    pool: TaskPool,
    **options: Any,
) -> StudyResult:
    rows = material.rows
    return run_study(
        rows.X, rows.seconds, rows.labels, splits, estimators,
        workers=pool.workers, executor=pool.executor, **options,
    )  # fmt: skip


def _watched(
    material: Material, names: Sequence[str], journal: Journal, on_fit: OnFit, on_curves: OnCurves
) -> OnFit:
    """Return what passes progress on, and the curves of the folds that these estimators have finished."""
    rows, known = material.rows, 0

    def watching(progress: StudyProgress) -> None:
        nonlocal known
        on_fit(progress)
        if progress.estimator not in names:
            return
        result = finished_folds(rows.X, rows.seconds, rows.labels, material.splits, names, journal=journal)
        finished = len(material.splits) - len(result.missing_splits)
        if finished > known:
            known = finished
            on_curves(evolution_curves(result, rows), finished)

    return watching


def _counted(pool: TaskPool, evaluations: int, on_fit: OnFit | None, progress: StudyProgress) -> None:
    """Pass progress on; workers elsewhere cannot count what they try, so it is added after each search."""
    if pool.remote and progress.estimator.startswith((OURS, RANDOM_SEARCH)):
        pool.signals.tried.value += evaluations
    if on_fit is not None:
        on_fit(progress)


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
