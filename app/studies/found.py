"""The formula of a study, readable, with all that its errors follow from: from fits, or from the user."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from math import nan

import numpy as np
from trainlaw.app.models.front import EVOLVED
from trainlaw.app.models.scopes import check_features
from trainlaw.app.studies.fits import Fits, OnFit, front_sizes
from trainlaw.app.studies.front import THE_LAW, Deliverable, compared
from trainlaw.app.studies.front_search import formulas_by_size
from trainlaw.app.studies.kinds.anchor import without_vanishing_terms
from trainlaw.app.studies.material import Material
from trainlaw.app.studies.processes import Place
from trainlaw.datasets.features.pair_features import ANCHOR
from trainlaw.formulas import Constant, Formula, InputError, round_constants, substitute, variables
from trainlaw.formulas.algebra.simplification import CALLS_PER_EXPRESSION, simplify_all
from trainlaw.validate import EstimatorFactory, StudyResult, run_study
from trainlaw.validate.levels import LevelError, known_levels
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.refit import GivenFormula, RefittedFormula
from trainlaw.validate.result import OURS
from trainlaw.validate.support import Support

_GIVEN = (
    "the formula as it was given: nothing was fitted, so the error is held out only if its author had not "
    "seen these runs"
)
#: Times of kernels that newer software no longer has: fitted, so that old runs do not distort the rest.
_PAST_TIMES = ("grouped_slow_simt_s", f"{ANCHOR}grouped_slow_simt_s")


@dataclass(frozen=True)
class Found:
    """The formula of a study and all that depends on where it is from: fits, or the user.

    material : what the study works on. result : predictions of the formula and of what it is compared with.
    fits : of the study, None for a formula of the user. few : formulas of few constants on all rows, by
    number of constants; law : the law, where the formula is another one. method, training_loss : of a formula
    of the user how it was obtained in each split, and its error on all rows.
    """

    material: Material
    formula: Formula
    result: StudyResult
    fits: Fits | None = None
    few: Mapping[int, Formula] = field(default_factory=dict)
    law: Formula | None = None
    levels: tuple[LevelError, ...] = ()
    method: str = ""
    training_loss: float = nan

    @property
    def best(self) -> Deliverable:
        """Which of the study's candidates the formula is."""
        return self.fits.best if self.fits else THE_LAW

    @property
    def support(self) -> tuple[Support, ...]:
        """What the data support, by the search for formulas of few constants."""
        searched = self.fits.on_all_rows.get(EVOLVED) if self.fits else None
        return searched.support if searched else ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Sentences on what an interrupted study lacks."""
        sentences, splits, names = list[str](), self.material.splits, self.result.missing_splits
        if names:
            groups = sorted(key for split in splits if split.name in names for key in split.held_out)
            lost = f"{len(names)} of {len(splits)} folds are missing"
            sentences.append(f"{lost}, so there is no error for {', '.join(groups)}.")
        generations = self.fits.generations if self.fits else None
        if generations is not None and generations.missing_splits:
            sentences.append(
                "Generations were not all held out, so there is no interval for a GPU of a new one."
            )
        if self.fits is not None and self.fits.cut_short:
            sentences.append("The search on all rows is missing, so there are no formulas of few constants.")
        return tuple(sentences)


def evolved_formula(fits: Fits, material: Material, place: Place) -> Found:
    """Make what the fits found readable; that of an interrupted study only where it is quick.

    place : of the calibrations by runs of the held-out GPUs.
    """
    main = compared(fits.result, fits.best, material.baselines) if material.kind.space else fits.result
    with ThreadPoolExecutor(1) as thread:
        # sympy works in another process.
        readable = thread.submit(_all_readable, fits, material, 0 if fits.hurries else CALLS_PER_EXPRESSION)
        has_levels = material.kind.has_levels and len(main.predictions) and not fits.hurries
        X, unit = material.rows.X, material.definition.unit
        levels = known_levels(main, OURS, X, unit, material.rates, **place) if has_levels else ()
        formula, few, law = readable.result()
    return Found(material, formula, main, fits, few, law, levels)


def _all_readable(
    fits: Fits, material: Material, calls: int
) -> tuple[Formula, dict[int, Formula], Formula | None]:
    """The delivered formula, those of few constants by their number, and the law where it is another one."""
    found, best, law = fits.on_all_rows, fits.best, fits.on_all_rows[OURS].formula
    few = formulas_by_size(found[EVOLVED].front, front_sizes(material.definition)) if EVOLVED in found else {}
    delivered = [formulas_by_size(found[best.method].front, (best.size,))[best.size]] if best.size else []
    first, *others = readable_formulas([*delivered, law], material, calls)
    # A genome has no two terms alike, so there is nothing to simplify.
    short = _rounded([*map(_of_present_software, few.values())], material)
    return first, dict(zip(few, short, strict=True)), next(iter(others), None)


def readable_formulas(
    formulas: Sequence[Formula], material: Material, calls: int = CALLS_PER_EXPRESSION
) -> list[Formula]:
    """Return formulas simplified and with short constants; calls : as for `simplify`."""
    columns = material.rows.of(*formulas).columns

    def simplified(given: Sequence[Formula]) -> list[Formula]:
        shorter = simplify_all([each.expression for each in given], columns, calls)
        return [replace(each, expression=short) for each, short in zip(given, shorter, strict=True)]

    # Once constants are round, more of them merge, and those are made short in turn.
    present = [*map(_of_present_software, formulas)]
    return _rounded(simplified(_rounded(simplified(present), material)), material)


def _of_present_software(formula: Formula) -> Formula:
    """Return a formula without times of the past: predictions are for newer software."""
    past = {name: Constant(0.0) for name in _PAST_TIMES if name in variables(formula.expression)}
    if not past:
        return formula
    return replace(formula, expression=without_vanishing_terms(substitute(formula.expression, past)))


def _rounded(formulas: Sequence[Formula], material: Material) -> list[Formula]:
    """Return formulas with constants of few digits, and with the features that they use."""
    rows, found = material.rows.of(*formulas), []
    for each in formulas:
        short = round_constants(each.expression, rows.columns, material.rows.seconds, sums=rows.sums)
        used = replace(each, expression=short.expression).used_features
        ranges = {spec.name: each.ranges[spec.name] for spec in used}
        found.append(replace(each, expression=short.expression, features=used, ranges=ranges))
    return found


def given_formula(
    formula: Formula, material: Material, refit: bool, on_fit: OnFit | None, place: Place
) -> Found:
    """Evaluate a formula of the user in every split, fitted again or as it is.

    InputError where it has no finite, positive time for a run of the table.
    """
    check_features(formula)
    rows = material.rows
    own_rows = rows.of(formula)
    _check_defined(formula, own_rows.predict(formula), material)
    refitted = partial(RefittedFormula, formula, rows.cnn_layers)
    as_it_is = partial(GivenFormula, replace(formula, ranges={}), rows.cnn_layers)
    estimators: dict[str, EstimatorFactory] = {OURS: refitted if refit else as_it_is, **material.baselines}
    result = run_study(
        rows.X, rows.seconds, rows.labels, material.splits, estimators, progress=on_fit, **place
    )
    final = refitted().fit(rows.X, rows.seconds, rows.groups).formula_ if refit else formula
    ranges = {
        name: (float(np.min(column)), float(np.max(column))) for name, column in own_rows.columns.items()
    }
    # Grouped constants go by labels; rows of layers have none of a run.
    names = () if own_rows.sums else rows.labels
    labels = {str(name): rows.labels[name].to_numpy() for name in names}
    return Found(
        material,
        replace(final, ranges=ranges, provenance=formula.provenance),
        result,
        method="constants fitted again on the training rows of each" if refit else _GIVEN,
        training_loss=mape_percent(rows.seconds, replace(own_rows, labels=labels).predict(final)) / 100,
    )


def _check_defined(formula: Formula, times: np.ndarray, material: Material) -> None:
    """Raise InputError, naming the first run that has no time; times : in seconds, (n_runs,)."""
    if not formula.used_features:
        raise InputError("expected a formula with at least one feature, got one that is the same for all")
    wrong = ~(np.isfinite(times) & (times > 0))
    if wrong.any():
        row, table = int(np.argmax(wrong)), material.table
        run = table.frame.iloc[row]
        raise InputError(
            f"the formula gives {float(times[row]):.3g} s for {int(wrong.sum()):,} of {len(table):,} runs, "
            f"such as {run['cnn']}, batch {run['batch_per_gpu']}, on {run['gpu']}: expected positive times"
        )
