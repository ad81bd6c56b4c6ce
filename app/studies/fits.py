"""All fits of a study: one per estimator and fold, and those on all rows, which give the formulas."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.front import EVOLVED
from trainlaw.app.studies.front import THE_LAW, Deliverable, best_candidate
from trainlaw.app.studies.front_search import FRONT_SIZES, front_estimators
from trainlaw.app.studies.material import Material
from trainlaw.app.studies.processes import Place
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula, ParetoFront, ScoredFormula
from trainlaw.validate import EstimatorFactory, StudyProgress, StudyResult, run_study
from trainlaw.validate.baselines import LASSO, NO_SEARCH, PRUNED_LAW, RANDOM_SEARCH, STEPWISE
from trainlaw.validate.baselines.sparse import NonnegativePathBySize
from trainlaw.validate.journal import Journal
from trainlaw.validate.result import OURS, SEED
from trainlaw.validate.study import asked_divisions
from trainlaw.validate.support import Support

OnFit = Callable[[StudyProgress], None]


def estimator_of(material: Material, seed: int) -> EstimatorFactory:
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
    if kind.space is not None:
        sizes, seeds = front_sizes(definition), range(definition.seed, definition.seed + definition.seeds)
        found |= front_estimators(kind.space(rows), sizes, definition.evaluations, seeds)
        found |= {LASSO: partial(NonnegativePathBySize, sizes)} if kind.has_lasso else {}
    return found


def front_sizes(definition: StudyDefinition) -> tuple[int, ...]:
    """Return the numbers of constants whose formulas a study states."""
    return tuple(size for size in FRONT_SIZES if size <= definition.max_constants) or (
        definition.max_constants,
    )


class WholeFit(NamedTuple):
    """What a fit to all rows found; support : the shares of a `FrontSearch`, empty for other searches."""

    formula: Formula
    front: ParetoFront
    support: tuple[Support, ...]


def fit_all_rows(
    make: EstimatorFactory, X: pd.DataFrame, seconds: np.ndarray, groups: np.ndarray, labels: pd.DataFrame
) -> dict[str, object]:
    """Fit to all rows; for use in a worker process.

    make : makes the estimator. X : its features at least, shape (n_runs, k). seconds, groups : (n_runs,).
    labels : text, (n_runs, n_labels). Returns the chosen formula, the front that it was chosen from, and what
    the data support, as JSON for `whole_fit`.
    """
    estimator: Any = make()
    estimator.fit(X, seconds, groups, **asked_divisions(estimator, labels))
    front = [
        {
            "formula": member.formula.to_json(),
            "loss": member.loss,
            "complexity": member.complexity,
            "validation_loss": member.validation_loss,
        }
        for member in estimator.front_
    ]
    support = [list(share) for share in getattr(estimator, "support", tuple)()]
    return {"formula": estimator.formula_.to_json(), "front": front, "support": support}


def whole_fit(value: Mapping[str, Any]) -> WholeFit:
    """Return what `fit_all_rows` found."""
    front = (
        ScoredFormula(**{**member, "formula": Formula.from_json(member["formula"])})
        for member in value["front"]
    )
    support = tuple(Support(str(name), float(share)) for name, share in value["support"])
    return WholeFit(Formula.from_json(value["formula"]), ParetoFront(tuple(front)), support)


@dataclass(frozen=True)
class Fits:
    """What the fits found, as they found it.

    result : of the folds. generations : of whole generations held out; None where there are none. on_all_rows
    : by estimator, that of the law or of the search among them. best : which candidate has the least held-out
    error. cut_short : whether a fit to all rows is missing.
    """

    result: StudyResult
    generations: StudyResult | None
    on_all_rows: Mapping[str, WholeFit]
    best: Deliverable = THE_LAW
    cut_short: bool = False

    @property
    def hurries(self) -> bool:
        """Whether the study was interrupted, so that only what is quick follows."""
        return self.cut_short or bool(self.result.missing_splits)


def fit_all(material: Material, place: Place, on_fit: OnFit | None, journal: Journal) -> Fits:
    """Fit all that a study needs; what the journal has is taken from there, and kept there as it comes.

    on_fit : called after each fit of a fold. KeyboardInterrupt where neither law nor search is done with all
    rows when the study is interrupted.
    """
    estimators, definition, rows = estimators_of(material), material.definition, material.rows
    fit_whole = partial(_fit_on_all_rows, estimators, material, place["executor"], journal)
    running = {name: fit_whole(name) for name in (OURS, EVOLVED) if name in estimators}
    run_splits = partial(run_study, rows.X, rows.seconds, rows.labels, journal=journal, **place)
    everything = {**estimators, **material.baselines}
    # Evolution begins with the pruned law, and finds it on the way. Long fits come first, so that no worker
    # waits long for the last one.
    names = sorted(everything, key=lambda name: name != STEPWISE)
    fitted = {name: everything[name] for name in names if name != PRUNED_LAW}
    fitted_result = run_splits(material.splits, fitted, progress=on_fit)

    def place_of(model: str) -> int:
        return max(at for at, name in enumerate(everything) if f"{model} ".startswith(f"{name} "))

    # The models keep the order of their estimators.
    result = fitted_result.chosen({name: name for name in sorted(fitted_result.estimators, key=place_of)})
    interrupted, best, generations = bool(result.missing_splits), THE_LAW, None
    if EVOLVED in estimators and not interrupted:
        best = best_candidate(result, front_sizes(definition))
        if best.method not in running:
            running[best.method] = fit_whole(best.method)
    if material.generations and not interrupted:
        # With several seeds figures are to be stated, also those of new generations.
        stated = (OURS, EVOLVED) if definition.seeds > 1 else (OURS,)
        generations = run_splits(
            material.generations, {name: estimators[name] for name in stated if name in estimators}
        )
        interrupted = bool(generations.missing_splits)
    found = _finished(running, interrupted)
    best = best if best.method in found else THE_LAW
    return Fits(result, generations, found, best, len(found) < len(running))


_Whole = Future[dict[str, object]]


def _fit_on_all_rows(
    estimators: Mapping[str, EstimatorFactory],
    material: Material,
    executor: Executor,
    journal: Journal,
    name: str,
) -> _Whole:
    """Start the fit of an estimator to all rows, or take what an earlier run found."""
    task, rows = f"all rows, {name}", material.rows
    if task in journal:
        known = _Whole()
        known.set_result(journal[task])
        return known

    def keep(future: _Whole) -> None:
        # A full disk is reported where the study itself writes next.
        with suppress(OSError):
            if not future.cancelled() and future.exception() is None:
                journal.keep(task, future.result())

    future = executor.submit(
        fit_all_rows, estimators[name], rows.X, rows.seconds, rows.groups, rows.labels.astype(str)
    )
    future.add_done_callback(keep)
    return future


def _finished(running: Mapping[str, _Whole], interrupted: bool) -> dict[str, WholeFit]:
    """Wait for the fits to all rows, after an interruption only for those that are done.

    Without the formulas of few constants there is still the law; KeyboardInterrupt where that is missing.
    """
    found: dict[str, WholeFit] = {}
    for name, future in running.items():
        with suppress(KeyboardInterrupt):
            if not interrupted or future.done():
                found[name] = whole_fit(future.result())
        interrupted = interrupted or name not in found
    if OURS not in found:
        raise KeyboardInterrupt
    return found
