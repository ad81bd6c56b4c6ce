"""A study from table to outcome: an evolved formula or a given one, on the same splits as the baselines."""

from contextlib import ExitStack, nullcontext
from dataclasses import replace

from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.studies.clusters import task_place
from trainlaw.app.studies.fits import OnFit, fit_all
from trainlaw.app.studies.found import evolved_formula, given_formula
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.material import material_of, searched_material
from trainlaw.app.studies.processes import Place, uninterrupted
from trainlaw.app.studies.result import StudyOutcome, outcome_of
from trainlaw.app.studies.verdict import calibration_advice
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import Formula, InputError
from trainlaw.validate.journal import Journal


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
        material = searched_material(table, definition)
    except InputError as error:
        advice = calibration_advice(table, definition)
        raise InputError(f"{error}; {advice}" if advice else str(error)) from None
    kept = Journal() if journal is None else journal
    with ExitStack() as stack:
        place = stack.enter_context(task_place(cluster, workers))
        fits = fit_all(material, place, on_fit, kept)
        if fits.hurries:
            # Busy workers would take the time that is left.
            stack.close()
        # Without a journal, what took minutes would be lost.
        with uninterrupted() if journal is None else nullcontext():
            found = evolved_formula(fits, material, place)
            if not definition.by:
                stack.close()
            # Workers of an interrupted study may be busy, and what belongs to half a study is not kept.
            return outcome_of(found, *((Place(), None) if found.missing else (place, kept)))


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
    # A kind of the formula's scope, of those that read the same table.
    same_table = [kind for kind in STUDY_KINDS.values() if kind.read is STUDY_KINDS[definition.of].read]
    kind = next((kind for kind in same_table if kind.scope == formula.scope), same_table[0])
    material = material_of(table, replace(definition, of=kind.name), kind)
    with task_place(cluster) as place:
        return outcome_of(given_formula(formula, material, refit, on_fit, place), place)
