"""A study from table to outcome: an evolved formula or a given one, on the same splits as the baselines."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Self

import numpy as np
import pandas as pd
from trainlaw.app.models.deployment import proved_properties
from trainlaw.app.models.scopes import check_features
from trainlaw.app.models.terms import mean_shares
from trainlaw.app.studies.clusters import Place, task_place, task_pool
from trainlaw.app.studies.definition import StudyDefinition, user_files_json
from trainlaw.app.studies.evolution import EVOLUTION, Evolution, study_evolution
from trainlaw.app.studies.interrupts import uninterrupted
from trainlaw.app.studies.kinds import BOTH_FOLDS, CNN_FOLDS, GPU_FOLDS, STUDY_KINDS, StudyKind
from trainlaw.app.studies.material import Material, material_of, searchable
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.searches import OnCurves, OnFit, OnStart, Searched, estimator_of, search
from trainlaw.app.studies.story import calibration_advice, verdict_lines
from trainlaw.app.studies.terms_found import TermShares, chosen_again_json, term_returns
from trainlaw.datasets import DATASETS
from trainlaw.datasets.measurements.formula_rows import CnnLayers, FormulaRows, feature_rows
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import (
    Formula,
    InputError,
    ParetoFront,
    RowSums,
    ScoredFormula,
    complexity,
    round_constants,
)
from trainlaw.formulas.algebra.simplification import CALLS_PER_EXPRESSION, simplify_all
from trainlaw.validate import (
    EstimatorFactory,
    LevelError,
    RefittedFormula,
    Split,
    StudyResult,
    calibration_levels,
    cross_platform,
    known_gpu_levels,
    run_study,
)
from trainlaw.validate.applicability import joint_range_json
from trainlaw.validate.held_out_errors import BY_GPU, OURS, errors_frame, errors_json
from trainlaw.validate.journal import Journal
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.support import sources_json


def readable_formulas(
    formula: Formula,
    front: ParetoFront,
    columns: Mapping[str, np.ndarray],
    seconds: np.ndarray,
    sums: RowSums | None = None,
    *,
    calls: int = CALLS_PER_EXPRESSION,
) -> tuple[Formula, ParetoFront]:
    """Return the formula with short constants, and the front, both simplified.

    columns : the searched features by name, each (n_rows,). seconds : measured, (n_runs,). sums : which rows,
    such as layers, make up each run; None where each row is a run. calls : as for `simplify`.
    """
    formulas = [formula, *(member.formula for member in front)]
    shorter = simplify_all([each.expression for each in formulas], columns, calls)
    chosen, *others = (replace(each, expression=short) for each, short in zip(formulas, shorter, strict=True))
    rounded = round_constants(chosen.expression, columns, seconds, sums=sums).expression
    # Once constants are round, more of them merge, and those are made short in turn.
    merged = simplify_all([rounded], columns, calls)[0]
    readable = replace(chosen, expression=round_constants(merged, columns, seconds, sums=sums).expression)
    smaller = ParetoFront.of(
        ScoredFormula(_only_used(other), member.loss, complexity(other.expression), member.validation_loss)
        for member, other in zip(front, others, strict=True)
    )
    return _only_used(readable), smaller


def _only_used(formula: Formula) -> Formula:
    used = formula.used_features
    ranges = {spec.name: formula.ranges[spec.name] for spec in used}
    return replace(formula, features=used, ranges=ranges)


# See docs/decisions/0008-what-was-tuned-on-what.md.
_TUNED = "features and settings were chosen on these runs (decision 0008)"
_GIVEN = (
    "the formula as it was given: nothing was fitted, so the error is held out only if its author had not "
    "seen these runs"
)


@dataclass(frozen=True)
class _Found:
    """The formula of a study and all that depends on where it is from: a search, or the user.

    method : how it was obtained in each split, for the protocol. origin, facts : provenance before and among
    that of every study.
    """

    formula: Formula
    front: ParetoFront | None
    result: StudyResult
    training_loss: float
    method: str
    origin: Mapping[str, object] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    levels: tuple[LevelError, ...] = ()
    repeats: tuple[Formula, ...] = ()
    terms: tuple[TermShares, ...] = ()
    cut_short: bool = False
    new_generations: StudyResult | None = None
    evolution: Evolution | None = None


def study_table(
    table: MeasuredTable,
    definition: StudyDefinition,
    workers: int,
    on_start: OnStart,
    on_fit: OnFit,
    *,
    journal: Journal | None = None,
    cluster: str = "",
    on_curves: OnCurves | None = None,
) -> StudyOutcome:
    """Evolve a formula on measured runs, and estimate its error on what is held out.

    See `docs/decisions/0005-the-stated-error.md`.
    table : measured runs, those of `definition.table`, or what else the kind `definition.of` takes.
    workers : processes at the same time. on_start : called once with the workers' signals and the number of
    formulas to be tried. on_fit : called after each fit of a fold. journal : where results are kept as they
    come, and from where those of an earlier run are taken; None for memory only. cluster : where the tasks
    run instead of in processes of this machine, as for `task_pool`; the result is the same.
    on_curves : called with the held-out errors over the formulas tried, after each fold that the search and
    its controls finish.
    After an interruption the outcome is smaller and lists what is missing.
    If the rows lack required features, the fallback kind is used, and the outcome's definition names it.
    Raises InputError where the table has fewer than two GPU groups, or cannot be split as defined.
    """
    try:
        material = searchable(material_of(table, definition, STUDY_KINDS[definition.of]))
    except InputError as error:
        advice = calibration_advice(table, definition, None)
        raise InputError(f"{error}; {advice}" if advice else str(error)) from None
    kept = Journal() if journal is None else journal
    with ExitStack() as stack:
        pool = stack.enter_context(task_pool(workers, cluster))
        searched = search(material, pool, on_start, on_fit, kept, on_curves=on_curves)
        if not definition.by:
            stack.close()
        # Without a journal, what took minutes would be lost.
        with uninterrupted() if journal is None else nullcontext():
            found = _evolved(searched, material)
            # Workers of an interrupted study may be busy, and what belongs to half a study is not kept.
            interrupted = _missing(found, material.splits)
            place = Place(workers=pool.workers, executor=pool.executor)
            return _outcome(found, material, *((Place(), None) if interrupted else (place, kept)))


def score_formula(
    formula: Formula,
    table: MeasuredTable,
    definition: StudyDefinition,
    refit: bool = False,
    on_fit: OnFit | None = None,
    *,
    cluster: str = "",
) -> StudyOutcome:
    """Return the study of a given formula: its held-out errors, next to the baselines on the same splits.

    refit : fit its constants again inside each fold, and on all rows for the formula that is returned.
    cluster : where the fits of the folds run instead of in this process, as for `task_place`.
    Raises InputError where the formula has no finite, positive time for a run of the table.
    """
    kind = _kind_for(formula, definition)
    material = material_of(table, replace(definition, of=kind.name), kind)
    with task_place(cluster) as place:
        found = _given(formula, material, refit, on_fit, place)
        return _outcome(found, material, place)


def _kind_for(formula: Formula, definition: StudyDefinition) -> StudyKind[Any]:
    """The kind of study that evaluates the formula: one of its scope among those that read the same table."""
    asked = STUDY_KINDS[definition.of]
    same_table = [kind for kind in STUDY_KINDS.values() if kind.read is asked.read]
    return next((kind for kind in same_table if kind.scope == formula.scope), same_table[0])


def _evolved(searched: Searched, material: Material) -> _Found:
    """Make what the searches found readable; those of an interrupted study only where that is quick."""
    hurries = searched.cut_short or bool(searched.result.missing_splits)
    rows = feature_rows(material.rows.X, material.kind.features, material.rows.cnn_layers)
    seeds = material.definition.seeds
    with ThreadPoolExecutor(1) as thread:
        # sympy works in another process.
        readable = thread.submit(
            readable_formulas,
            searched.formula, searched.front, rows.columns, material.rows.seconds, rows.sums,
            calls=0 if hurries else CALLS_PER_EXPRESSION,
        )  # fmt: skip
        levels = () if hurries else _levels(searched.result, material)
        formula, front = readable.result()
    facts: dict[str, object] = {"evaluations_per_search": material.definition.evaluations}
    if material.kind.is_proved:
        front = ParetoFront.of(member for member in front if not _open_properties(member.formula))
        facts["open_properties"] = _open_properties(formula)
    return _Found(
        formula,
        front,
        searched.result,
        training_loss=float(searched.formula.provenance["training_loss"]),
        method=f"a search for each, {seeds} seeds" if seeds > 1 else "a search for each",
        facts=facts,
        levels=levels,
        repeats=tuple(each.formula for each in searched.repeats),
        terms=(searched.terms, *(each.terms for each in searched.repeats)),
        cut_short=searched.cut_short,
        new_generations=searched.new_generations,
        evolution=study_evolution(
            searched.result, material.rows, searched.formula, formula, material.definition.evaluations
        ),
    )


def _open_properties(formula: Formula) -> list[str]:
    """What could not be proved of a formula over the deployment box, as statements."""
    return [item.statement for item in proved_properties(formula) if not item.proved]


def _levels(result: StudyResult, material: Material) -> tuple[LevelError, ...]:
    """The error by what is known of the target GPU: of one held out, or of CNNs held out on a known one."""
    if not len(result.predictions) or not material.kind.has_levels:
        return ()
    if material.definition.unit == BY_GPU:
        return calibration_levels(result, OURS, material.rows.X, rates=material.rates)
    return known_gpu_levels(result, OURS, material.rows.X)


class GivenFormula:
    """An estimator that predicts by a formula as it is."""

    def __init__(self, formula: Formula, cnn_layers: CnnLayers | None) -> None:
        """Keep the formula without its errors and provenance; cnn_layers : for a formula of one layer."""
        self.formula = replace(formula, provenance={}, errors={}, ranges={})
        self.cnn_layers = cnn_layers

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit nothing."""
        self.formula_ = self.formula
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,); X has the formula's features among its columns."""
        names = [spec.name for spec in self.formula.used_features]
        return feature_rows(X, names, self.cnn_layers).predict(self.formula)


def _given(formula: Formula, material: Material, refit: bool, on_fit: OnFit | None, place: Place) -> _Found:
    """Evaluate a formula of the user in every split, fitted again or as it is."""
    check_features(formula)
    rows = material.rows
    own_rows = feature_rows(rows.X, [spec.name for spec in formula.used_features], rows.cnn_layers)
    _check_defined(formula, own_rows, material.table)
    refitted = partial(RefittedFormula, formula, rows.cnn_layers)
    ours: EstimatorFactory = refitted if refit else partial(GivenFormula, formula, rows.cnn_layers)
    estimators = {OURS: ours, **material.baselines}
    result = run_study(
        rows.X, rows.seconds, rows.labels, material.splits, estimators, progress=on_fit, **place
    )
    final = refitted().fit(rows.X, rows.seconds, rows.groups).formula_ if refit else formula
    ranges = {
        name: (float(np.min(column)), float(np.max(column))) for name, column in own_rows.columns.items()
    }
    predicted = final.predict(own_rows.columns, _labels(own_rows, material), own_rows.sums)
    return _Found(
        replace(final, ranges=ranges),
        None,
        result,
        training_loss=mape_percent(rows.seconds, predicted) / 100,
        method="constants fitted again on the training rows of each" if refit else _GIVEN,
        origin=formula.provenance,
    )


def _labels(own_rows: FormulaRows, material: Material) -> Mapping[str, np.ndarray] | None:
    """The labels of grouped constants, where a row of the formula is a run."""
    return (
        None
        if own_rows.sums
        else {str(name): column.to_numpy() for name, column in material.rows.labels.items()}
    )


def _check_defined(formula: Formula, rows: FormulaRows, table: MeasuredTable) -> None:
    """Raise InputError, naming the first run that has no time."""
    if not formula.used_features:
        raise InputError("expected a formula with at least one feature, got one that is the same for all")
    times = rows.predict(formula)
    wrong = ~(np.isfinite(times) & (times > 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        run = table.frame.iloc[row]
        raise InputError(
            f"the formula gives {float(times[row]):.3g} s for {int(wrong.sum()):,} of {len(table):,} runs, "
            f"such as {run['cnn']}, batch {run['batch_per_gpu']}, on {run['gpu']}: expected positive times"
        )


def _outcome(found: _Found, material: Material, place: Place, journal: Journal | None = None) -> StudyOutcome:
    """Put together what a study leaves behind, whatever its formula is from.

    place, journal : of the fits from platform to platform.
    """
    definition, rows = material.definition, material.rows
    missing, facts = _missing(found, material.splits), {**found.origin, **_facts(material, found.facts)}
    matrices, is_evolved = _matrices(found.formula, material, place, journal), found.front is not None
    own_rows = feature_rows(rows.X, [spec.name for spec in found.formula.used_features], rows.cnn_layers)
    frame = errors_frame(found.result)
    delivered = replace(
        found.formula,
        provenance={**facts, **({"interrupted": list(missing)} if missing else {})},
        errors=_errors(found, material, own_rows, frame),
    )
    folds = [formula for (_, name), formula in found.result.formulas.items() if name == OURS]
    score = ScoredFormula(delivered, found.training_loss, complexity(delivered.expression))
    return StudyOutcome(
        formula=delivered,
        front=ParetoFront((score,)) if found.front is None else found.front,
        result=found.result,
        errors=frame,
        held_out={split.name: split.held_out for split in material.splits},
        shares=mean_shares(delivered, own_rows.columns, own_rows.sums),
        training_loss=found.training_loss,
        columns=own_rows.run_features(delivered),
        levels=found.levels,
        returns=term_returns(delivered, folds, found.repeats),
        repeats=found.repeats,
        matrices=matrices,
        definition=definition,
        verdict=verdict_lines(delivered, found.result, material.table, definition, is_evolved=is_evolved),
        missing=missing,
        absent=material.absent,
        provenance=facts,
    )


def _errors(
    found: _Found, material: Material, own_rows: FormulaRows, frame: pd.DataFrame
) -> dict[str, object]:
    """All that a formula carries about its errors and what supports it; frame : its table of errors."""
    protocol, rows = _protocol(found, material), material.rows
    errors = errors_json(
        found.result,
        protocol,
        material.definition.unit,
        found.levels,
        _whole(found.new_generations),
        X=rows.X,
        frame=frame,
    )
    if material.kind.has_joint_range:
        used = {spec.name: own_rows.columns[spec.name] for spec in found.formula.used_features}
        errors |= joint_range_json(used, rows.groups)
    if "source" in rows.labels and rows.cnn_layers is None:
        errors |= sources_json(found.formula, own_rows, rows.labels["source"])
    errors |= chosen_again_json(found.formula, found.terms)
    return errors | ({EVOLUTION: found.evolution.to_json()} if found.evolution else {})


def _matrices(
    delivered: Formula, material: Material, place: Place, journal: Journal | None
) -> dict[str, pd.DataFrame]:
    """The errors from platform to platform, as `cross_platform` gives them, by the labels asked for.

    The formula's form was found on all platforms together; only a rerun search is blind to the others.
    """
    definition, kind, rows = material.definition, material.kind, material.rows
    estimators: dict[str, EstimatorFactory] = {OURS: partial(RefittedFormula, delivered)}
    estimators |= {name: kind.baselines[name] for name in kind.platform_baselines}
    if definition.search_by_platform:
        estimators[f"{OURS}, searched per platform"] = estimator_of(material, definition.seed)
    return {
        label: cross_platform(
            rows.X, rows.seconds, rows.labels, platforms, estimators, journal=journal, **place
        )
        for label, platforms in material.platforms.items()
    }


def _facts(material: Material, further: Mapping[str, object]) -> dict[str, object]:
    """What the result depends on, and nothing else: no time, no host, no number of workers."""
    table, definition, labels = material.table, material.definition, material.rows.labels
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
        **further,
        **({"precisions": precisions} if precisions else {}),
        **{
            name: sorted(set(labels[label].astype(str)))
            for name, label in (("generations", "generation"), ("vendors", "vendor"))
            if label in labels
        },
        **({"algorithms": sorted(set(labels["algorithm"]) - {"none"})} if "algorithm" in labels else {}),
        **user_files_json(definition),
    }


_HELD_OUT = {
    GPU_FOLDS: "folds over GPU groups, each group held out once",
    "gpu-5-fold": "folds over GPU groups, each group held out once",
    CNN_FOLDS: "folds over architectures, each held out once; the GPUs are known",
    BOTH_FOLDS: "pairs of a part of the GPU groups and a part of the architectures, both new",
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


def _protocol(found: _Found, material: Material) -> str:
    """How the error was measured, as text."""
    splits = len(material.splits)
    finished = splits - len(found.result.missing_splits)
    some = "" if finished == splits else f"{finished} of "
    split = material.definition.split
    # Only what is evolved here was tuned here.
    tuned = _TUNED if material.table.name in DATASETS and found.front is not None else ""
    method = f"{some}{splits} {_HELD_OUT[split]}, {found.method}"
    return "; ".join(filter(None, (method, material.kind.given, tuned)))


def _whole(result: StudyResult | None) -> StudyResult | None:
    """The result, or None where folds are missing."""
    return None if result is None or result.missing_splits else result


def _missing(found: _Found, splits: Sequence[Split]) -> tuple[str, ...]:
    sentences, names = [], found.result.missing_splits
    if names:
        groups = sorted(key for split in splits if split.name in names for key in split.held_out)
        sentences.append(
            f"{len(names)} of {len(splits)} folds are missing, so there is no error for {', '.join(groups)}."
        )
    if found.new_generations is not None and found.new_generations.missing_splits:
        sentences.append("Generations were not all held out, so there is no interval for a GPU of a new one.")
    if found.cut_short:
        sentences.append("The search on all rows was cut short, so a better formula may exist.")
    return tuple(sentences)
