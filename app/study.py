"""The main job: searches on folds that hold out GPUs, one search on all rows, rivals, and the stated error."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version

import numpy as np
import pandas as pd

from trainlaw.app.error_tables import BY_GPU, OURS, errors_json
from trainlaw.app.outcome import StudyOutcome
from trainlaw.app.search import Signals, evolved, search_all_rows, search_pool
from trainlaw.app.terms import median_shares
from trainlaw.datasets import STUDY_FEATURES, RunTable
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula, InputError, MissingDependencyError, ParetoFront, ScoredFormula, complexity
from trainlaw.formulas.simplify import simplify_all
from trainlaw.validate import BASELINES, EstimatorFactory, Split, StudyProgress, StudyResult, grouped_k_fold, run_study

EVALUATIONS = 40_000  # per search; chosen so that the whole study takes about three minutes on two cores
RIVALS = ("null_compute", "roofline", "random_forest", "cf9")
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
    """A table as arrays: all features (n_runs, k), seconds (n_runs,), labels (n_runs, n_labels), and the folds."""

    X: pd.DataFrame
    seconds: np.ndarray
    labels: pd.DataFrame
    splits: tuple[Split, ...]


def study_table(table: RunTable, options: StudyOptions, on_start: OnStart, on_fit: OnFit) -> StudyOutcome:
    """Run a study of measured runs and return what it found; see `docs/decisions/0005-the-stated-error.md`.

    table : measured runs. on_start : called once with the workers' signals and the number of formulas to be tried.
    on_fit : called after each fit of a fold.
    After an interruption the outcome is smaller and says what it lacks.
    Raises InputError where the table has fewer than two GPU groups; KeyboardInterrupt where nothing was found yet.
    """
    material = _material(table, options)
    settings = SearchSettings(evaluations=options.evaluations, random_seed=options.seed)
    rivals, absent = _rivals()
    estimators = {OURS: partial(evolved, STUDY_FEATURES, settings), **rivals}
    with search_pool(options.workers) as (pool, signals):
        on_start(signals, options.evaluations * (len(material.splits) + 1))
        groups = material.labels[BY_GPU].to_numpy(dtype=str)
        on_all_rows = pool.submit(
            search_all_rows, STUDY_FEATURES, settings, material.X[list(STUDY_FEATURES)], material.seconds, groups
        )
        result = run_study(
            material.X, material.seconds, material.labels, material.splits, estimators,
            workers=options.workers, executor=pool, progress=on_fit,
        )  # fmt: skip
        (formula, front), cut_short = _finish(on_all_rows, signals, bool(result.missing_splits))
    facts = _facts(table, material, options, settings)
    return _outcome(formula, front, result, material, facts, absent, cut_short)


def _material(table: RunTable, options: StudyOptions) -> _Material:
    labels = table.labels()
    groups = labels[BY_GPU].nunique()
    if groups < 2:
        raise InputError(f"{table.name}: expected runs on at least two kinds of GPU, so that one can be held out; came {groups}")
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


def _finish(
    on_all_rows: "Future[tuple[Formula, ParetoFront]]", signals: Signals, interrupted: bool
) -> tuple[tuple[Formula, ParetoFront], bool]:
    """Wait for the search on all rows, or end it early where the user wants no more; whether it was cut short."""
    cut_short = interrupted and not on_all_rows.done()
    if not cut_short:
        try:
            return on_all_rows.result(), False
        except KeyboardInterrupt:
            cut_short = True
    signals.stop.set()
    return on_all_rows.result(), True


def _facts(table: RunTable, material: _Material, options: StudyOptions, settings: SearchSettings) -> dict[str, object]:
    """What the result depends on, and nothing else: no time, no host, no number of workers."""
    return {
        "trainlaw_version": version("trainlaw"),
        "table": table.name,
        "table_sha256": table.sha256,
        "rows": len(table),
        "gpu_groups": int(material.labels[BY_GPU].nunique()),
        "seed": options.seed,
        "folds": len(material.splits),
        "evaluations_per_search": settings.evaluations,
        "precisions": sorted(map(str, material.labels["precision"].unique())),
    }


def _outcome(
    formula: Formula,
    front: ParetoFront,
    result: StudyResult,
    material: _Material,
    facts: Mapping[str, object],
    absent: Mapping[str, str],
    cut_short: bool,
) -> StudyOutcome:
    missing = _missing(result, material.splits, cut_short)
    columns = {name: material.X[name].to_numpy() for name in STUDY_FEATURES}
    chosen, *others = _simplified([formula, *(member.formula for member in front)], columns)
    delivered = replace(
        _only_used(chosen),
        provenance={**facts, **({"interrupted": list(missing)} if missing else {})},
        errors=errors_json(result, _protocol(result, material.splits)),
    )
    smaller = ParetoFront.of(
        ScoredFormula(_only_used(other), member.loss, complexity(other.expression), member.validation_loss)
        for member, other in zip(front, others, strict=True)
    )
    held_out = {split.name: split.held_out for split in material.splits}
    shares = median_shares(delivered, columns)
    loss = float(formula.provenance["training_loss"])
    return StudyOutcome(delivered, smaller, result, held_out, shares, loss, missing, absent, facts)


def _simplified(formulas: Sequence[Formula], columns: Mapping[str, np.ndarray]) -> list[Formula]:
    expressions = simplify_all([formula.expression for formula in formulas], columns, _SIMPLIFY_SECONDS)
    return [replace(formula, expression=shorter) for formula, shorter in zip(formulas, expressions, strict=True)]


def _only_used(formula: Formula) -> Formula:
    used = formula.used_features
    ranges = {spec.name: formula.ranges[spec.name] for spec in used}
    return replace(formula, features=used, ranges=ranges)


def _protocol(result: StudyResult, splits: Sequence[Split]) -> str:
    finished = len(splits) - len(result.missing_splits)
    some = "" if finished == len(splits) else f"{finished} of "
    return f"{some}{len(splits)} folds over GPU groups, each group held out once, a search for each fold"


def _missing(result: StudyResult, splits: Sequence[Split], cut_short: bool) -> tuple[str, ...]:
    sentences = []
    if result.missing_splits:
        absent = sorted(key for split in splits if split.name in result.missing_splits for key in split.held_out)
        sentences.append(
            f"{len(result.missing_splits)} of {len(splits)} folds are missing, so there is no error for {', '.join(absent)}."
        )
    if cut_short:
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
