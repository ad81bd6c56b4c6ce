"""Imported times compared with the built-in formula: which unit they fit, and which cannot be right."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, inf, log

import numpy as np
from trainlaw.app.models.doubts import (
    DOUBTFUL,
    MOST_OF_RUN,
    Evidence,
    median,
    remarks,
    row_doubts,
    run_doubts,
)
from trainlaw.app.models.law_times import law_seconds
from trainlaw.app.text.numbers import show_number
from trainlaw.datasets import RunTable
from trainlaw.datasets.spreadsheets.answers import CHOICE, TABLES, Issue, SheetAnswers
from trainlaw.datasets.spreadsheets.conversion import Imported
from trainlaw.datasets.spreadsheets.units import CANDIDATES, TimeUnit, unit_choices

# Numbers fit a unit where their median is within the first factor of the formula, a rare unit within the
# second; a usual one within the third is preferred to any rare one.
_FITS, _FITS_CLEARLY, _FITS_USUALLY, _FITS_EXACTLY = 3.0, 1.6, 1.8, 1.2
# A unit that the file states is doubted where it is off by this much: units are farther apart.
_FAR = 10.0
_SAME_UNIT = 0.02  # difference of two scores (ln) that decides nothing
_MOST_LEFT_OUT = 0.2  # share of the rows that a printed command leaves out


@dataclass(frozen=True)
class Check:
    """Imported runs next to the times that the built-in formula gives for them, law_s in s, (n,)."""

    made: Imported
    law_s: np.ndarray

    def deviations(self, unit: TimeUnit | None = None) -> np.ndarray:
        """Return ln of measured over predicted, (n,), in the units of the file or in `unit`; nan if open."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.made.seconds(unit) / self.law_s))

    def fitting_unit(self, is_rate: bool | None = None) -> tuple[TimeUnit | None, float]:
        """Return the unit that the numbers fit best, None where none fits, and ln of the median factor.

        is_rate : whether only throughputs or only times may be meant, None for either.
        """
        several = bool((self.made.frame["n_gpus"] > 1).any())
        of_epochs = (1.0, 60.0, 3600.0) if self.made.times["iterations"].notna().any() else ()
        epochs = [TimeUnit("epoch", seconds, False) for seconds in of_epochs]
        scores = [
            (median(np.abs(self.deviations(unit)), inf), unit if several else replace(unit, per_gpu=None))
            for unit in (*epochs, *CANDIDATES)
            if is_rate in (None, unit.is_rate)
        ]
        # A rare unit may fit by chance.
        usual = min((score for score, unit in scores if unit.text in unit_choices(several)), default=inf)
        best = usual if usual < log(_FITS_USUALLY) else min(score for score, _ in scores)
        unit = next(unit for score, unit in scores if score <= best + _SAME_UNIT)
        most = _FITS if unit.text in unit_choices(several) else _FITS_CLEARLY
        return (unit if best < log(most) else None), best


def checked_times(made: Imported, answers: SheetAnswers, law_s: np.ndarray | None = None) -> Imported:
    """Return an import with an issue for times that the built-in formula contradicts, and a fitting unit.

    What only the formula speaks for is a note. law_s : times by the formula where they are known, in s, (n,).
    """
    columns = [issue.answer or (CHOICE,) for issue in made.issues if issue.kind == "columns"]
    # Times under a heading that may be another one say nothing; those of the first of several tables do.
    is_open = any(CHOICE in answer[-1] and answer[0] not in TABLES for answer in columns)
    if made.table is None or answers.trust or is_open:
        return made
    check = _check(made, made.table) if law_s is None else Check(made, law_s)
    unknown = int((~np.isfinite(check.law_s)).sum())
    if unknown == len(made.rows):
        note = "the built-in formula has no time for these runs: not compared"
        return replace(made, issues=(*made.issues, *_of_runs(check, made.table)), notes=(*made.notes, note))
    if made.times["unit"].isna().any() or not np.isfinite(made.seconds()).any():
        unit, _ = check.fitting_unit(made.is_rate)
        issues = (_answered(issue, "--unit", unit.text) if unit else issue for issue in made.issues)
        return replace(made, issues=tuple(issues))
    found = [own for own in _doubts(check, made.table) if not (columns and own.options)]
    factor = show_number(exp(median(check.deviations())), 2)
    notes = [*made.notes, f"the times are {factor} times those of the built-in formula (median)"]
    notes += [f"{unknown} runs have no time by the built-in formula: not compared"] if unknown else []
    notes += remarks(made.table, check.law_s) if not found else ()
    asked = made.issues if found else (_answered(issue, "--decimal") for issue in made.issues)
    return replace(made, issues=(*asked, *found), notes=tuple(notes))


def _check(made: Imported, trial: RunTable) -> Check:
    """Return the comparison with the formula; where the precision is open, with the one that fits best."""
    is_open = (trial.frame["precision"] == "unknown").all()
    frames = [trial.frame.assign(precision=name) for name in ("fp32", "amp")] if is_open else [trial.frame]
    checks = [Check(made, law_seconds(RunTable(trial.name, frame, trial.facts))) for frame in frames]
    return min(checks, key=lambda check: check.fitting_unit()[1])


def _answered(issue: Issue, option: str, answer: str = "") -> Issue:
    """Return an issue; one that asks for an option names the answer that the times fit, "" for the first."""
    if len(issue.options) < 2 or issue.options[0][0] != option:
        return issue
    fitting = answer or issue.options[0][1]
    text = f"{issue.text.rstrip('?')}; the built-in formula says {fitting}"
    return replace(issue, text=text, options=((option, fitting),))


def _doubts(check: Check, table: RunTable) -> Iterable[Issue]:
    """Yield why times can hardly be right: the whole column, or single rows, repeats and batches."""
    column = _of_column(check, check.deviations())
    # What else is odd may be the precision or the batch that is asked for; the best precision is compared.
    asked = {option[0] for issue in check.made.issues for option in issue.options}
    if not column and not asked & {"--precision", "--batch-is"}:
        yield from _of_runs(check, table)
    elif column and (column.options or "--batch-is" not in asked):
        yield column


def _of_runs(check: Check, table: RunTable) -> Iterable[Issue]:
    """Yield an issue for each doubt about rows, with an option where leaving out few of them helps."""
    made, deviations = check.made, np.abs(check.deviations())
    # Rows with another issue, such as those of inference, may be the reason that repeats differ.
    asked = {row for issue in made.issues for row in issue.rows}
    repeats = row_doubts("repeats", Evidence.of(table, check.law_s), "import")
    for doubt in (*repeats, *run_doubts(table, check.law_s, but=("repeats",))):
        rows = tuple(dict.fromkeys(made.rows[place] for place in doubt.places))
        far, text = np.isin(np.arange(len(deviations)), doubt.places), doubt.text
        if doubt.name == "repeats":
            if not asked.intersection(rows):
                text = f"{doubt.text}: name the column in which they differ, or leave some out"
                yield Issue("times", text, rows)
            continue
        if far.any() and (made.frame["n_gpus"].to_numpy() > 1)[far].all():
            text += "; are batch and throughput those of each GPU, or of all"
        # Where many are far, or the others are off, too, the table may be wrong as a whole.
        few = far.any() and far.mean() <= _MOST_LEFT_OUT and median(deviations[~far]) < log(DOUBTFUL)
        options = (("--skip-rows", ",".join(map(str, rows))), ("--trust",)) if few else ()
        yield Issue("times", f"{text}: correct them, or --trust them", rows, options)


def _of_column(check: Check, deviations: np.ndarray) -> Issue | None:
    """Return the issue of a whole column far from the formula, with the unit that would explain it."""
    unit, score = check.fitting_unit()
    far = median(np.abs(deviations))
    # Where another unit fits as if it were the right one, less is far; half of the runs may be near.
    is_unit, near = score < log(_FITS_EXACTLY), (np.abs(deviations) < log(_FITS_CLEARLY)).mean()
    if far < log(_FITS_CLEARLY if is_unit else MOST_OF_RUN) or (near >= 0.5 and not is_unit):
        return None
    stated = ", ".join(unit.text for unit in check.made.times["unit"].dropna().unique())
    factor = show_number(exp(far * np.sign(median(deviations))), 2)
    text = f"read as {stated}, half of the times are {factor} times those of the built-in formula, or farther"
    if unit and "epoch" not in stated and score < min(log(_FITS_CLEARLY), 0.5 * far):
        options = (("--unit", unit.text),) if far > log(_FAR) else ()
        return Issue("times", f"{text}; these look like {unit.text}", options=options)
    return Issue("times", f"{text}, and no usual unit explains it: correct them, or --trust them")
