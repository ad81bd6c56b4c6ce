"""The main job: searches on folds that hold out GPUs, one search on all rows, rivals, the stated error."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version

import numpy as np
import pandas as pd
from trainlaw.app.error_tables import BY_GPU, OURS, errors_json
from trainlaw.app.interrupts import uninterrupted
from trainlaw.app.outcome import StudyOutcome
from trainlaw.app.search import Signals, evolved, search_all_rows, search_pool
from trainlaw.app.terms import mean_shares
from trainlaw.datasets import DATASETS, STUDY_FEATURES, RunTable
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import (
    Expression,
    Formula,
    InputError,
    MissingDependencyError,
    ParetoFront,
    ScoredFormula,
    TrainlawError,
    complexity,
    round_constants,
    simplify_all,
)
from trainlaw.validate import (
    BASELINES,
    EstimatorFactory,
    Split,
    StudyProgress,
    StudyResult,
    grouped_k_fold,
    run_study,
)

EVALUATIONS = 20_000  # per search; more did not lower the held-out error of the built-in table
RIVALS = ("null_compute", "roofline", "random_forest", "cf9")
# See docs/decisions/0008-what-was-tuned-on-what.md.
_TUNED = (
    "candidate features and search settings were chosen while watching this error on the built-in runs, "
    "so it flatters there by a point or two"
)
_SIMPLIFY_SECONDS = 30.0  # far more than it takes, so that a busy machine does not change the result

OnStart = Callable[[Signals, int], None]
OnFit = Callable[[StudyProgress], None]


@dataclass(frozen=True)
class StudyOptions:
    """What a person can choose: seed, number of folds, formulas tried per search, worker processes."""

    seed: int = 0
    folds: int = 5
    evaluations: int = EVALUATIONS
    workers: int = 2


@dataclass(frozen=True)
class _Material:
    """A table as features (n_runs, k), seconds (n_runs,), labels (n_runs, n_labels); and the folds."""

    X: pd.DataFrame
    seconds: np.ndarray
    labels: pd.DataFrame
    splits: tuple[Split, ...]


@dataclass(frozen=True)
class _Found:
    """What the searches found: formula and front from all rows, held-out predictions, whether cut short."""

    formula: Formula
    front: ParetoFront
    result: StudyResult
    cut_short: bool


def study_table(table: RunTable, options: StudyOptions, on_start: OnStart, on_fit: OnFit) -> StudyOutcome:
    """Run a study of measured runs and return what it found; see `docs/decisions/0005-the-stated-error.md`.

    table : measured runs. on_start : called once with the workers' signals and the number of formulas to be
    tried. on_fit : called after each fit of a fold.
    After an interruption the outcome is smaller and says what it lacks.
    Raises InputError where the table has fewer than two GPU groups.
    """
    material = _material(table, options)
    settings = SearchSettings(evaluations=options.evaluations, random_seed=options.seed)
    rivals, absent = _rivals()
    found = _search(material, settings, rivals, options, (on_start, on_fit))
    with uninterrupted():
        return _outcome(found, material, _facts(table, material, options), absent)


def _material(table: RunTable, options: StudyOptions) -> _Material:
    labels = table.labels()
    groups = labels[BY_GPU].nunique()
    if groups < 2:
        raise InputError(
            f"{table.name}: expected runs on at least two kinds of GPU, to hold one out; came {groups}"
        )
    splits = grouped_k_fold(labels[BY_GPU], min(options.folds, groups), options.seed)
    return _Material(table.features(), table.seconds, labels, splits)


def _rivals() -> tuple[dict[str, EstimatorFactory], dict[str, str]]:
    """The rivals that can run here, and for the others what is missing."""
    present: dict[str, EstimatorFactory] = {}
    absent: dict[str, str] = {}
    for name in RIVALS:
        try:
            BASELINES[name]()
            present[name] = BASELINES[name]
        except MissingDependencyError as error:
            absent[name] = str(error)
    return present, absent


def _search(
    material: _Material,
    settings: SearchSettings,
    rivals: Mapping[str, EstimatorFactory],
    options: StudyOptions,
    callbacks: tuple[OnStart, OnFit],
) -> _Found:
    on_start, on_fit = callbacks
    estimators = {OURS: partial(evolved, STUDY_FEATURES, settings), **rivals}
    with search_pool(options.workers) as (pool, signals):
        on_start(signals, options.evaluations * (len(material.splits) + 1))
        on_all_rows = pool.submit(
            search_all_rows,
            STUDY_FEATURES,
            settings,
            material.X[list(STUDY_FEATURES)],
            material.seconds,
            material.labels[BY_GPU].to_numpy(dtype=str),
        )
        result = run_study(
            material.X,
            material.seconds,
            material.labels,
            material.splits,
            estimators,
            workers=options.workers,
            executor=pool,
            progress=on_fit,
        )
        (formula, front), cut_short = _finish(on_all_rows, signals, bool(result.missing_splits))
    return _Found(formula, front, result, cut_short)


def _finish(
    on_all_rows: "Future[tuple[Formula, ParetoFront]]", signals: Signals, interrupted: bool
) -> tuple[tuple[Formula, ParetoFront], bool]:
    """Wait for the search on all rows, or end it early where the user wants no more; tell whether it was."""
    cut_short = interrupted and not on_all_rows.done()
    if not cut_short:
        try:
            return _result(on_all_rows), False
        except KeyboardInterrupt:
            cut_short = True
    signals.stop.set()
    return _result(on_all_rows), True


def _result(on_all_rows: "Future[tuple[Formula, ParetoFront]]") -> tuple[Formula, ParetoFront]:
    try:
        return on_all_rows.result()
    except BrokenProcessPool:
        raise TrainlawError(
            "a worker process died, perhaps for lack of memory; use fewer --workers"
        ) from None


def _facts(table: RunTable, material: _Material, options: StudyOptions) -> dict[str, object]:
    """What the result depends on, and nothing else: no time, no host, no number of workers."""
    return {
        "trainlaw_version": version("trainlaw"),
        "table": table.name,
        "table_sha256": table.sha256,
        "rows": len(table),
        "gpu_groups": int(material.labels[BY_GPU].nunique()),
        "seed": options.seed,
        "folds": len(material.splits),
        "evaluations_per_search": options.evaluations,
        "precisions": sorted(map(str, material.labels["precision"].unique())),
    }


def _outcome(
    found: _Found, material: _Material, facts: Mapping[str, object], absent: Mapping[str, str]
) -> StudyOutcome:
    missing = _missing(found, material.splits)
    columns = {name: material.X[name].to_numpy() for name in STUDY_FEATURES}
    formulas = [found.formula, *(member.formula for member in found.front)]
    chosen, *others = _simplified(formulas, columns)
    readable = _readable(chosen.expression, columns, material.seconds)
    delivered = replace(
        _only_used(replace(chosen, expression=readable)),
        provenance={**facts, **({"interrupted": list(missing)} if missing else {})},
        errors=errors_json(found.result, _protocol(found.result, material.splits, facts["table"])),
    )
    smaller = ParetoFront.of(
        ScoredFormula(_only_used(other), member.loss, complexity(other.expression), member.validation_loss)
        for member, other in zip(found.front, others, strict=True)
    )
    return StudyOutcome(
        formula=delivered,
        front=smaller,
        result=found.result,
        held_out={split.name: split.held_out for split in material.splits},
        shares=mean_shares(delivered, columns),
        training_loss=float(found.formula.provenance["training_loss"]),
        missing=missing,
        absent=absent,
        provenance=facts,
    )


def _simplified(formulas: Sequence[Formula], columns: Mapping[str, np.ndarray]) -> list[Formula]:
    expressions = simplify_all([formula.expression for formula in formulas], columns, _SIMPLIFY_SECONDS)
    return [
        replace(formula, expression=shorter) for formula, shorter in zip(formulas, expressions, strict=True)
    ]


def _readable(expression: Expression, columns: Mapping[str, np.ndarray], seconds: np.ndarray) -> Expression:
    """Short constants; once they are round, more of them merge, and those are made short in turn."""
    rounded = round_constants(expression, columns, seconds).expression
    merged = simplify_all([rounded], columns, _SIMPLIFY_SECONDS)[0]
    return round_constants(merged, columns, seconds).expression


def _only_used(formula: Formula) -> Formula:
    used = formula.used_features
    ranges = {spec.name: formula.ranges[spec.name] for spec in used}
    return replace(formula, features=used, ranges=ranges)


def _protocol(result: StudyResult, splits: Sequence[Split], table: object) -> str:
    finished = len(splits) - len(result.missing_splits)
    some = "" if finished == len(splits) else f"{finished} of "
    words = f"{some}{len(splits)} folds over GPU groups, each group held out once, a search for each fold"
    return f"{words}; {_TUNED}" if table in DATASETS else words


def _missing(found: _Found, splits: Sequence[Split]) -> tuple[str, ...]:
    sentences, names = [], found.result.missing_splits
    if names:
        groups = sorted(key for split in splits if split.name in names for key in split.held_out)
        sentences.append(
            f"{len(names)} of {len(splits)} folds are missing, so there is no error for {', '.join(groups)}."
        )
    if found.cut_short:
        sentences.append("The search on all rows was cut short, so a better formula may exist.")
    return tuple(sentences)


def seconds_text(seconds: float) -> str:
    """A duration in minutes and seconds.

    >>> seconds_text(200.4)
    '3 min 20 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def stopwatch() -> Callable[[], float]:
    """Return a function that tells the seconds since now."""
    began = time.monotonic()
    return lambda: time.monotonic() - began
