"""The main job: searches on folds that hold out GPUs, one search on all rows, rivals, the stated error."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.models.errors import BY_GPU, OURS, errors_json
from trainlaw.app.models.terms import mean_shares
from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.finalize import readable_formulas
from trainlaw.app.studies.interrupts import uninterrupted
from trainlaw.app.studies.kinds import CNN_FOLDS, GPU_FOLDS, STUDY_KINDS, Evolution, StudyKind, StudyRows
from trainlaw.app.studies.platforms import platform_matrices
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.runs import own_files_json
from trainlaw.app.studies.search import Signals, search_all_rows, search_pool
from trainlaw.app.studies.splits import defined_splits, evaluated_splits, platforms_of, unit_of_exchange
from trainlaw.app.studies.stability import term_returns
from trainlaw.datasets import DATASETS
from trainlaw.datasets.measurements.formula_rows import feature_rows
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula, ParetoFront, TrainlawError
from trainlaw.validate import (
    EstimatorFactory,
    JointRange,
    LevelError,
    MeasuredRates,
    Split,
    StudyProgress,
    StudyResult,
    calibration_levels,
    read_rates,
    run_study,
)
from trainlaw.validate.applicability import KEY

# See docs/decisions/0008-what-was-tuned-on-what.md.
_TUNED = "features and settings were chosen on these runs (decision 0008)"

OnStart = Callable[[Signals, int], None]
OnFit = Callable[[StudyProgress], None]


@dataclass(frozen=True)
class _Material:
    """The kind of study, its rows, what is held out, achieved rates."""

    kind: StudyKind
    rows: StudyRows
    splits: tuple[Split, ...]
    rates: tuple[MeasuredRates, ...]


@dataclass(frozen=True)
class _Found:
    """What the searches found: formula and front from all rows, formulas of other seeds, held-out
    predictions, whether cut short.
    """

    formula: Formula
    front: ParetoFront
    repeats: tuple[Formula, ...]
    result: StudyResult
    cut_short: bool


def study_table(
    table: MeasuredTable, definition: StudyDefinition, workers: int, on_start: OnStart, on_fit: OnFit
) -> StudyOutcome:
    """Run a study of measured runs and return what it found; see `docs/decisions/0005-the-stated-error.md`.

    table : measured runs, those of `definition.table`, or what else the kind `definition.of` takes.
    workers : processes at the same time. on_start : called once with the workers' signals and the number of
    formulas to be tried. on_fit : called after each fit of a fold.
    After an interruption the outcome is smaller and says what it lacks.
    Raises InputError where the table has fewer than two GPU groups, or cannot be split as defined.
    """
    material = _material(table, definition)
    rivals, absent = material.kind.present_rivals(definition.against)
    found = _search(material, rivals, definition, workers, (on_start, on_fit))
    with uninterrupted():
        return _outcome(found, material, definition, _facts(table, material, definition), absent)


def _material(table: MeasuredTable, definition: StudyDefinition) -> _Material:
    kind = STUDY_KINDS[definition.of]
    rows = kind.rows(table)
    splits = evaluated_splits(
        defined_splits(definition, rows.labels, table.name), rows.evaluated, rows.labels
    )
    for label in definition.by:
        platforms_of(rows.labels, label)
    rates = read_rates(Path(definition.rates)) if definition.rates else ()
    return _Material(kind, rows, splits, rates)


def _settings(definition: StudyDefinition, seed: int) -> SearchSettings:
    # Two populations that exchange their best differ less from seed to seed than one of the same size.
    return SearchSettings(evaluations=definition.evaluations, random_seed=seed, islands=2, population=200)


def _law(material: _Material, definition: StudyDefinition, seed: int) -> Callable[[], Evolution]:
    """Return what makes the estimator that evolves the law; workers can have it."""
    return material.kind.search(material.rows, _settings(definition, seed))


def _search(
    material: _Material,
    rivals: Mapping[str, EstimatorFactory],
    definition: StudyDefinition,
    workers: int,
    callbacks: tuple[OnStart, OnFit],
) -> _Found:
    on_start, on_fit = callbacks
    estimators = {OURS: _law(material, definition, definition.seed), **rivals}
    rows = material.rows
    with search_pool(workers) as (pool, signals):
        on_start(signals, definition.evaluations * (len(material.splits) + 1 + definition.repeats))
        on_all_rows, *repeated = (
            pool.submit(
                search_all_rows,
                _law(material, definition, definition.seed + step),
                rows.X,
                rows.seconds,
                rows.groups,
            )
            for step in range(definition.repeats + 1)
        )
        result = run_study(
            rows.X,
            rows.seconds,
            rows.labels,
            material.splits,
            estimators,
            workers=workers,
            executor=pool,
            progress=on_fit,
        )
        (formula, front), cut_short = _finish(on_all_rows, signals, bool(result.missing_splits))
        repeats = () if cut_short else tuple(_result(future)[0] for future in repeated)
    return _Found(formula, front, repeats, result, cut_short)


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


def _facts(table: MeasuredTable, material: _Material, definition: StudyDefinition) -> dict[str, object]:
    """What the result depends on, and nothing else: no time, no host, no number of workers."""
    labels = material.rows.labels
    precisions = sorted(map(str, labels["precision"].unique())) if "precision" in labels else []
    return {
        "trainlaw_version": version("trainlaw"),
        "table": table.name,
        "table_sha256": table.sha256,
        "rows": len(table),
        "gpu_groups": int(labels[BY_GPU].nunique()),
        "seed": definition.seed,
        "split": definition.split,
        "folds": len(material.splits),
        "evaluations_per_search": definition.evaluations,
        **({"precisions": precisions} if precisions else {}),
        **({"algorithms": sorted(set(labels["algorithm"]) - {"none"})} if "algorithm" in labels else {}),
        **own_files_json(definition),
    }


def _outcome(
    found: _Found,
    material: _Material,
    definition: StudyDefinition,
    facts: Mapping[str, object],
    absent: Mapping[str, str],
) -> StudyOutcome:
    missing, kind, measured = _missing(found, material.splits), material.kind, material.rows
    rows = feature_rows(measured.X, kind.features, measured.cnn_layers)
    chosen, front = readable_formulas(found.formula, found.front, rows.columns, measured.seconds, rows.sums)
    used = {spec.name: rows.columns[spec.name] for spec in chosen.used_features}
    levels = _levels(found.result, material, definition)
    protocol = _protocol(found.result, material.splits, definition, facts["table"])
    errors = errors_json(found.result, protocol, unit_of_exchange(definition), levels)
    delivered = replace(
        chosen,
        provenance={**facts, **({"interrupted": list(missing)} if missing else {})},
        errors={**errors, **_joint_range(used, material)},
    )
    return StudyOutcome(
        formula=delivered,
        front=front,
        result=found.result,
        held_out={split.name: split.held_out for split in material.splits},
        shares=mean_shares(delivered, used, rows.sums),
        training_loss=float(found.formula.provenance["training_loss"]),
        columns=rows.run_features(delivered),
        levels=levels,
        returns=term_returns(delivered, _of_folds(found.result), found.repeats),
        repeats=found.repeats,
        matrices=_matrices(delivered, material, definition),
        definition=definition,
        missing=missing,
        absent=absent,
        provenance=facts,
    )


def _joint_range(used: Mapping[str, np.ndarray], material: _Material) -> dict[str, object]:
    """Where the used features, each (n_rows,), are far together, as an entry of the errors, where told."""
    if not material.kind.has_joint_range:
        return {}
    return {KEY: JointRange.fit(used, material.rows.groups).to_json()}


def _of_folds(result: StudyResult) -> list[Formula]:
    return [formula for (_, name), formula in result.formulas.items() if name == OURS]


def _levels(result: StudyResult, material: _Material, definition: StudyDefinition) -> tuple[LevelError, ...]:
    """The error by what is known of the target GPU; empty without one that was held out."""
    of_gpus = unit_of_exchange(definition) == BY_GPU
    if not len(result.predictions) or not material.kind.has_levels or not of_gpus:
        return ()
    return calibration_levels(result, OURS, material.rows.X, rates=material.rates)


def _matrices(formula: Formula, material: _Material, definition: StudyDefinition) -> dict[str, pd.DataFrame]:
    anew = _law(material, definition, definition.seed) if definition.search_by_platform else None
    return platform_matrices(formula, material.kind, material.rows, definition.by, anew)


_HELD_OUT = {
    GPU_FOLDS: "folds over GPU groups, each group held out once",
    CNN_FOLDS: "folds over architectures, each held out once; the GPUs are known",
    "gpu": "GPU groups, each held out once",
    "cnn": "architectures, each held out once; the GPUs are known",
    "cnn-family": "families of architectures, each held out once; the GPUs are known",
    "both": "pairs of GPU group and architecture, both new",
    "source": "sources, each held out once",
    "harness": "harnesses, each held out once",
    "generation": "generations of GPUs, each held out once",
    "threads": "numbers of threads of the CPUs, each held out once",
    "newest": "split, the newest GPUs held out and older ones in training",
    "list": "splits of the own list",
}


def _protocol(
    result: StudyResult, splits: Sequence[Split], definition: StudyDefinition, table: object
) -> str:
    finished = len(splits) - len(result.missing_splits)
    some = "" if finished == len(splits) else f"{finished} of "
    words = f"{some}{len(splits)} {_HELD_OUT[definition.split]}, a search for each"
    tuned = _TUNED if table in DATASETS else ""
    return "; ".join(filter(None, (words, STUDY_KINDS[definition.of].given, tuned)))


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
