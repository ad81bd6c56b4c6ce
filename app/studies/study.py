"""A study from table to outcome: an evolved formula or a given one, on the same splits as the baselines."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.front import EVOLVED
from trainlaw.app.models.scopes import check_features
from trainlaw.app.studies.clusters import task_place
from trainlaw.app.studies.fits import Fits, OnFit, estimator_of, fit_all, fit_all_rows, front_sizes, whole_fit
from trainlaw.app.studies.front import compared
from trainlaw.app.studies.front_search import formulas_by_size
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.kinds.anchor import without_vanishing_terms
from trainlaw.app.studies.kinds.kind import StudyKind
from trainlaw.app.studies.material import Material, material_of, searchable
from trainlaw.app.studies.processes import Place, uninterrupted
from trainlaw.app.studies.result import (
    GIVEN,
    Found,
    StudyOutcome,
    delivered_method,
    missing_parts,
    open_properties,
    outcome_of,
)
from trainlaw.app.studies.verdict import calibration_advice
from trainlaw.datasets.features.pair_features import ANCHOR
from trainlaw.datasets.measurements.formula_rows import FormulaRows, feature_rows
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import Constant, Formula, InputError, round_constants, substitute, variables
from trainlaw.formulas.algebra.simplification import CALLS_PER_EXPRESSION, simplify_all
from trainlaw.validate import EstimatorFactory, run_study
from trainlaw.validate.journal import Journal
from trainlaw.validate.levels import known_levels
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.refit import GivenFormula, RefittedFormula
from trainlaw.validate.result import OURS


def searched_formula(table: MeasuredTable, definition: StudyDefinition) -> Formula:
    """Return the formula of a study without its errors: of the search on all rows, in this process.

    Arguments and errors as for `study_table`, which gives the same formula.
    """
    material = searchable(material_of(table, definition, STUDY_KINDS[definition.of]))
    rows, labels = material.rows, material.rows.labels.astype(str)
    make = estimator_of(material, definition.seed)
    found = whole_fit(fit_all_rows(make, rows.X, rows.seconds, rows.groups, labels))
    return _readable([found.formula], material, CALLS_PER_EXPRESSION)[0]


#: Times of kernels that newer software no longer has: fitted, so that old runs do not distort the rest.
_PAST_TIMES = ("grouped_slow_simt_s", f"{ANCHOR}grouped_slow_simt_s")


def _of_present_software(formula: Formula) -> Formula:
    """Return a formula without times of the past: predictions are for newer software."""
    past = {name: Constant(0.0) for name in _PAST_TIMES if name in variables(formula.expression)}
    if not past:
        return formula
    return replace(formula, expression=without_vanishing_terms(substitute(formula.expression, past)))


def _readable(formulas: Sequence[Formula], material: Material, calls: int) -> list[Formula]:
    """Return formulas simplified and with short constants; calls : as for `simplify`."""
    columns = feature_rows(material.rows.X, _names(formulas), material.rows.cnn_layers).columns

    def simplified(given: Sequence[Formula]) -> list[Formula]:
        shorter = simplify_all([each.expression for each in given], columns, calls)
        return [replace(each, expression=short) for each, short in zip(given, shorter, strict=True)]

    # Once constants are round, more of them merge, and those are made short in turn.
    present = [*map(_of_present_software, formulas)]
    return _rounded(simplified(_rounded(simplified(present), material)), material)


def _rounded(formulas: Sequence[Formula], material: Material) -> list[Formula]:
    """Return formulas with constants of few digits."""
    rows, seconds = material.rows, material.rows.seconds
    known = feature_rows(rows.X, _names(formulas), rows.cnn_layers)
    return [
        _only_used(
            replace(
                each,
                expression=round_constants(
                    each.expression, known.columns, seconds, sums=known.sums
                ).expression,
            )
        )
        for each in formulas
    ]


def _names(formulas: Iterable[Formula]) -> list[str]:
    """The features of all formulas, each once."""
    return list(dict.fromkeys(spec.name for formula in formulas for spec in formula.features))


def _only_used(formula: Formula) -> Formula:
    used = formula.used_features
    ranges = {spec.name: formula.ranges[spec.name] for spec in used}
    return replace(formula, features=used, ranges=ranges)


def study_table(
    table: MeasuredTable,
    definition: StudyDefinition,
    workers: int,
    on_fit: OnFit | None = None,
    *,
    journal: Journal | None = None,
    cluster: str = "",
) -> StudyOutcome:
    """Evolve a formula on measured runs, and estimate its error on what is held out.

    See `docs/decisions/0005-the-stated-error.md`.
    table : measured runs, those of `definition.table`, or what else the kind `definition.of` takes.
    workers : processes at the same time. on_fit : called after each fit of a fold. journal : where results
    are kept as they come, and from where those of an earlier run are taken; None for memory only. cluster :
    where the tasks run instead of in processes of this machine, as for `task_place`; the result is the same.
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
        place = stack.enter_context(task_place(cluster, workers))
        fits = fit_all(material, place, on_fit, kept)
        if not definition.by:
            stack.close()
        # Without a journal, what took minutes would be lost.
        with uninterrupted() if journal is None else nullcontext():
            found = _evolved(fits, material)
            # Workers of an interrupted study may be busy, and what belongs to half a study is not kept.
            interrupted = missing_parts(found, material.splits)
            return outcome_of(found, material, *((Place(), None) if interrupted else (place, kept)))


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
        return outcome_of(found, material, place)


def _kind_for(formula: Formula, definition: StudyDefinition) -> StudyKind[Any]:
    """The kind of study that evaluates the formula: one of its scope among those that read the same table."""
    asked = STUDY_KINDS[definition.of]
    same_table = [kind for kind in STUDY_KINDS.values() if kind.read is asked.read]
    return next((kind for kind in same_table if kind.scope == formula.scope), same_table[0])


def _evolved(fits: Fits, material: Material) -> Found:
    """Make what the fits found readable; that of an interrupted study only where it is quick."""
    hurries = fits.cut_short or bool(fits.result.missing_splits)
    definition, kind, whole = material.definition, material.kind, fits.on_all_rows[OURS]
    main = fits.result if kind.space is None else compared(fits.result, fits.best, material.baselines)
    with ThreadPoolExecutor(1) as thread:
        # sympy works in another process.
        readable = thread.submit(_all_readable, fits, material, 0 if hurries else CALLS_PER_EXPRESSION)
        has_levels = kind.has_levels and len(main.predictions) and not hurries
        X, rates = material.rows.X, material.rates
        levels = known_levels(main, OURS, X, definition.unit, rates) if has_levels else ()
        formula, few, law = readable.result()
    facts: dict[str, object] = {}
    if few or not kind.is_fitted:
        facts["evaluations_per_search"] = definition.evaluations
    if kind.is_proved:
        facts["open_properties"] = open_properties(formula)
    return Found(
        formula,
        main,
        training_loss=float(whole.formula.provenance["training_loss"]),
        method=delivered_method(material, fits.best),
        front=whole.front,
        facts=facts,
        levels=levels,
        fits=fits,
        few=few,
        law=law,
    )


def _all_readable(
    fits: Fits, material: Material, calls: int
) -> tuple[Formula, dict[int, Formula], Formula | None]:
    """The delivered formula, those of few constants by their number, and the law where it is another one."""
    found, best, law = fits.on_all_rows, fits.best, fits.on_all_rows[OURS].formula
    few = formulas_by_size(found[EVOLVED].front, front_sizes(material.definition)) if EVOLVED in found else {}
    delivered = [formulas_by_size(found[best.method].front, (best.size,))[best.size]] if best.size else []
    first, *others = _readable([*delivered, law], material, calls)
    # A genome has no two terms alike, so there is nothing to simplify.
    short = _rounded([*map(_of_present_software, few.values())], material)
    return first, dict(zip(few, short, strict=True)), next(iter(others), None)


def _given(formula: Formula, material: Material, refit: bool, on_fit: OnFit | None, place: Place) -> Found:
    """Evaluate a formula of the user in every split, fitted again or as it is."""
    check_features(formula)
    rows = material.rows
    own_rows = feature_rows(rows.X, [spec.name for spec in formula.used_features], rows.cnn_layers)
    _check_defined(formula, own_rows, material.table)
    refitted = partial(RefittedFormula, formula, rows.cnn_layers)
    ours: EstimatorFactory = (
        refitted if refit else partial(GivenFormula, replace(formula, ranges={}), rows.cnn_layers)
    )
    estimators = {OURS: ours, **material.baselines}
    result = run_study(
        rows.X, rows.seconds, rows.labels, material.splits, estimators, progress=on_fit, **place
    )
    final = refitted().fit(rows.X, rows.seconds, rows.groups).formula_ if refit else formula
    ranges = {
        name: (float(np.min(column)), float(np.max(column))) for name, column in own_rows.columns.items()
    }
    predicted = final.predict(own_rows.columns, _labels(own_rows, material), own_rows.sums)
    return Found(
        replace(final, ranges=ranges),
        result,
        training_loss=mape_percent(rows.seconds, predicted) / 100,
        method="constants fitted again on the training rows of each" if refit else GIVEN,
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
