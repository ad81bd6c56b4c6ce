"""Imported times compared with the built-in formula: which unit they fit, and which cannot be right."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf, log

import numpy as np
from trainlaw.app.models.doubts import (
    exchange_doubts,
    law_seconds,
    pass_doubts,
    repeat_doubts,
    time_doubts,
)
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.datasets import RunTable
from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import Issue, SheetAnswers, choices, rows_of
from trainlaw.datasets.spreadsheets.conversion import Imported
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.quantities import CANDIDATES, TimeUnit, unit_choices
from trainlaw.datasets.spreadsheets.rows import Label
from trainlaw.datasets.spreadsheets.words import groups

#: A run this many times longer or shorter than the formula says is doubted. Of the built-in measurements,
#: the median of 9 of 10 sources on a GPU is within it.
MOST_FACTOR = 2.0
# Half of the rows in place are enough to doubt the others singly. Of these, only few may be left out by a
# printed command: where many are far, those that fit may do so by chance.
_MOST_SHARE = 0.5
_MOST_LEFT_OUT, _MOST_LISTED = 0.2, 40
# Numbers fit a unit where their median is within this factor of the formula.
_FITS = 3.0
# ... and clearly within this one, where the file states another unit; within the second one if the numbers
# are not off by more than ten times, so that they may be right, or wrong for another reason.
_FITS_CLEARLY, _FITS_CLOSELY = 1.6, 1.35
_FAR = 10.0
# A column that is off by less than this is not compared with other units.
_FITS_WELL = 1.4
# A usual unit that fits within this factor is preferred to any rare one.
_FITS_USUALLY = 1.8
_MOST_OF_REPEATS = 1.28  # factor between times of the same configuration
_SAME_UNIT = 0.02  # difference of two scores that decides nothing
_LEAST, _GREATEST = (frozenset(groups("part")[name]) for name in ("least", "greatest"))
# Whether the best or the worst is the least one says only the kind of the numbers.
_BEST, _WORST = (frozenset(groups("part")[name]) for name in ("best", "worst"))
_SAME_RUNS, _LEAST_ROWS = 1.5, 3  # factor between statistics of the same runs, and rows that show an order
_BATCHES = (fields.BATCH, "batch_per_gpu", fields.GLOBAL_BATCH)
_SEVERAL = 0.3  # ln of the least factor between times and law for which a batch is said to be misread


@dataclass(frozen=True)
class Check:
    """Imported runs next to the times that the built-in formula gives for them, law_s in s, (n,)."""

    made: Imported
    law_s: np.ndarray

    @cached_property
    def n_gpus(self) -> np.ndarray:
        """Number of GPUs of each run, (n,)."""
        return self.made.frame["n_gpus"].to_numpy(dtype=np.float64)

    @property
    def _of_epochs(self) -> Iterable[TimeUnit]:
        """The units of epochs or whole runs: minutes and hours are as far apart as images and batches."""
        stated = {unit.seconds for unit in self.made.units if unit is not None and unit.counted == "epoch"}
        likely: tuple[float, ...] = (1.0, 1e-3) if stated & {1.0, 1e-3} else ()
        if not stated and np.isfinite(self.made.iterations).any():
            likely = (1.0, 60.0, 3600.0)
        return [TimeUnit("epoch", seconds, False) for seconds in likely]

    def deviations(self, unit: TimeUnit | None = None) -> np.ndarray:
        """Return ln of measured over predicted, (n,), in the units of the file or in `unit`; nan if open."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.made.seconds(unit) / self.law_s))

    def fitting_unit(self, is_rate: bool | None = None) -> tuple[TimeUnit | None, float]:
        """Return the unit that the numbers fit best, None where none fits, and ln of the median factor.

        is_rate : whether only throughputs or only times may be meant, None for either.
        """
        several = bool((self.n_gpus > 1).any())
        scores = [
            (_median(np.abs(self.deviations(unit))), unit if several else replace(unit, per_gpu=None))
            for unit in (*self._of_epochs, *CANDIDATES)
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

    law_s : times by the formula where they are known, in s, (n,); None to predict them.
    """
    # Times under a wrong heading say nothing.
    if made.table is None or answers.trust or any(issue.kind == "columns" for issue in made.issues):
        return made
    check = _check(made, made.table) if law_s is None else Check(made, law_s)
    unknown = int((~np.isfinite(check.law_s)).sum())
    if unknown == len(made.rows):
        note = "the built-in formula has no time for these runs: not compared"
        return replace(made, issues=(*made.issues, *_of_repeats(made)), notes=(*made.notes, note))
    if any(unit is None for unit in made.units) or not np.isfinite(made.seconds()).any():
        return replace(made, issues=tuple(_with_unit(made.issues, check)))
    found = list(_doubts(check, answers))
    made = made if found else replace(made, issues=tuple(map(_with_decimal, made.issues)))
    median = exp(_median(check.deviations()))
    notes = [f"the times are {show_number(median, 2)} times those of the built-in formula (median)"]
    if unknown:
        notes.append(f"{unknown} runs have no time by the built-in formula: not compared")
    return replace(made, issues=(*made.issues, *found), notes=(*made.notes, *notes))


def _check(made: Imported, trial: RunTable) -> Check:
    """Return the comparison with the formula; where the precision is open, with the one that fits best."""
    if not (trial.frame["precision"] == "unknown").all():
        return Check(made, law_seconds(trial))
    tables = (
        RunTable(trial.name, trial.frame.assign(precision=name), trial.facts) for name in ("fp32", "amp")
    )
    return min(
        (Check(made, law_seconds(table)) for table in tables), key=lambda check: check.fitting_unit()[1]
    )


def _median(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("inf")


def _with_unit(issues: Iterable[Issue], check: Check) -> Iterable[Issue]:
    """Return the issues; the one that asks for a unit names the unit that the numbers fit."""
    kinds = {source.is_rate for source in check.made.sources}
    unit, _ = check.fitting_unit(kinds.pop() if len(kinds) == 1 else None)
    for issue in issues:
        if unit is not None and len(issue.options) > 1 and issue.options[0][0] == "--unit":
            text = f"{issue.text}; the built-in formula says {unit.text}"
            yield replace(issue, text=text, options=(("--unit", unit.text),))
        else:
            yield issue


def _with_decimal(issue: Issue) -> Issue:
    """Return an issue; one that asks for the decimal mark names that with which the times fit the formula."""
    if not issue.options or issue.options[0][0] != "--decimal":
        return issue
    likely = issue.options[0]
    return replace(
        issue, text=f"{issue.text} The times fit the built-in formula with a {likely[1]}", options=(likely,)
    )


def _doubts(check: Check, answers: SheetAnswers) -> Iterable[Issue]:
    deviations = check.deviations()
    middle = _median(np.abs(deviations)) * np.sign(_median(deviations))
    in_another_unit, unexplained = _of_column(check, middle)
    column = (
        _of_several(check, deviations, answers)
        or in_another_unit
        or _of_units(check, deviations)
        or _of_exchanged(check)
        or _of_spread(check.made)
        or _of_extremes(check.made)
        or unexplained
    )
    if column is not None:
        yield column
        return
    if any(issue.options and issue.options[0][0] == "--precision" for issue in check.made.issues):
        # What is odd in single rows may be their precision.
        return
    rows = list(_of_rows(check, deviations))
    repeats = list(_of_repeats(check.made))
    yield from (*rows, *repeats)
    if not rows and not repeats and check.made.table is not None:
        table = check.made.table
        for doubt in (*pass_doubts(table), *time_doubts(table, check.law_s)):
            far = np.isin(np.arange(len(check.law_s)), doubt.places)
            text = f"{doubt.text}: correct them, or --trust them"
            yield Issue("times", text, rows_of(check.made.rows, far))


def _of_repeats(made: Imported) -> Iterable[Issue]:
    """Yield an issue for rows of the same configuration whose times contradict each other."""
    # Rows with another issue, such as those of inference, may be the reason.
    doubted = {row for issue in made.issues for row in issue.rows}
    for doubt in repeat_doubts(made.table, _MOST_OF_REPEATS) if made.table else ():
        where = tuple(dict.fromkeys(made.rows[place] for place in doubt.places))
        if not doubted.intersection(where):
            text = f"{doubt.text}: name the column in which they differ, or leave these rows out"
            few = 2 * len(doubt.places) < len(made.rows)
            skipped = ("--skip-rows", ",".join(map(str, where)))
            yield Issue("times", text, where, (skipped, ("--trust",)) if few else ())


def _of_column(check: Check, middle: float) -> tuple[Issue | None, Issue | None]:
    """Return the issue of a whole column in another unit, and that of one that no unit explains."""
    if abs(middle) < log(_FITS_WELL):
        return None, None
    factor = show_number(exp(abs(middle)), 2)
    stated = ", ".join(dict.fromkeys(unit.text for unit in check.made.units if unit is not None))
    way = "long" if middle > 0 else "short"
    text = (
        f"read as {stated}, half of the times are at least {factor} times as {way} as by the built-in formula"
    )
    unit, score = check.fitting_unit()
    said = ("--unit", stated) if "," not in stated else ()
    heading = check.made.fitting_column(check.law_s, _FITS_CLOSELY)
    columns = (("--column", f"time_s={heading}", *said),) if heading else ()
    # Two columns that agree are in the units that they state.
    better = unit is not None and unit.text not in stated.split(", ") and not check.made.has_check
    least = _FITS_CLEARLY if abs(middle) > log(_FAR) else _FITS_CLOSELY
    if better and unit is not None and score < min(log(least), abs(middle) / 2):
        trusted = (("--trust",),) if abs(middle) < log(_FAR) else ()
        text += f"; these look like {unit.text}" + (f", or those of {heading} are meant" if heading else "")
        return Issue("times", text, options=(*columns, ("--unit", unit.text), *trusted)), None
    fitting = np.abs(check.deviations()) < log(_FITS_CLEARLY)
    if abs(middle) < log(MOST_FACTOR) or fitting.mean() >= _MOST_SHARE:
        return None, None
    if heading:
        return None, Issue("times", f"{text}; those of {heading} look like {stated}", options=columns)
    text = f"{text}, and no usual unit explains it: correct them, or --trust them as they are"
    return None, Issue("times", text)


def _of_several(check: Check, deviations: np.ndarray, answers: SheetAnswers) -> Issue | None:
    """Return the issue of a batch or throughput read as that of each GPU or of all that is the other."""
    several = (check.n_gpus > 1) & np.isfinite(deviations)
    if not several.any() or check.made.table is None:
        return None
    unit = next((unit for unit in check.made.units if unit is not None), None)
    if unit is not None and unit.is_rate and unit.counted == "image":
        other = replace(unit, per_gpu=not unit.per_gpu)
        what, left = f"throughput is in {other.text}", check.deviations(other)
        option: tuple[str, ...] = ("--unit", other.text)
    else:
        what, option, left = _other_batch(check, check.made.table, answers)
    found = deviations[several]
    if abs(_median(found)) < _SEVERAL or _median(np.abs(left[several])) > 0.5 * _median(np.abs(found)):
        return None
    text = f"with several GPUs, the times fit the built-in formula if the {what}"
    return Issue("times", text, rows_of(check.made.rows, several), (option,) if option else ())


def _other_batch(
    check: Check, trial: RunTable, answers: SheetAnswers
) -> tuple[str, tuple[str, ...], np.ndarray]:
    """Return what the batch is if it was misread, the option that says so, and the deviations then."""
    column = next((column for column, _ in check.made.columns if column.target in _BATCHES), None)
    is_global = column is not None and (column.target == fields.GLOBAL_BATCH or answers.batch_is == "global")
    per_gpu = trial.frame["batch_per_gpu"] * (check.n_gpus if is_global else 1.0 / check.n_gpus)
    frame = trial.frame.assign(batch_per_gpu=np.maximum(np.round(per_gpu), 1.0).astype("int64"))
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.log(check.made.seconds() / law_seconds(RunTable(trial.name, frame, trial.facts)))
    what = f"batch is that of {'each GPU' if is_global else 'all GPUs together'}"
    if column is None:
        return what, (), left
    if column.target == fields.BATCH:
        return what, ("--batch-is", "per-gpu" if is_global else "global"), left
    return (
        what,
        ("--column", f"{'batch_per_gpu' if is_global else fields.GLOBAL_BATCH}={column.heading}"),
        left,
    )


def _of_units(check: Check, deviations: np.ndarray) -> Issue | None:
    """Return the issue of the first unit in which numbers are far, where columns have several.

    Half of them are, or the unit of all other columns brings even the farthest near.
    """
    texts = np.array(["" if unit is None else unit.text for unit in check.made.units])
    for text in dict.fromkeys(texts.tolist()):
        own = texts == text
        other = {unit for unit in check.made.units if unit is not None and unit.text != text}
        apart = np.abs(deviations[own])
        # The unit of all others is that of these, too, where they fit it.
        left = np.abs(check.deviations(*other)[own]) if len(other) == 1 else np.full(own.sum(), inf)
        fits, far = _median(left) < log(_FITS_CLEARLY), (apart > log(MOST_FACTOR)).sum()
        is_far = _median(apart) > log(MOST_FACTOR) or (far and fits and left.max() < log(MOST_FACTOR))
        if 1 < own.sum() < len(texts) and is_far:
            said = f"{far} of {own.sum()} numbers in {text} are more than twice off the built-in formula"
            options = choices("--unit", [unit.text for unit in other]) if fits else ()
            said += "; these look like the other ones" if fits else ": correct their unit, or --trust them"
            return Issue("times", said, rows_of(check.made.rows, own), options)
    return None


def _of_exchanged(check: Check) -> Issue | None:
    """Return the issue of two GPUs, CNNs, precisions or batches that fit the formula exchanged."""
    if any(issue.kind == "cells" and issue.rows for issue in check.made.issues):
        # Rows that are asked about may be the reason.
        return None
    table = check.made.table
    headings = [source.heading for source in check.made.sources]
    for doubt in exchange_doubts(table, check.law_s, headings) if table is not None else ():
        options = _exchange(check.made, *doubt.exchanged) if doubt.exchanged else ()
        return Issue("times", f"{doubt.text} Correct them, or --trust the times", options=options)
    return None


def _of_spread(made: Imported) -> Issue | None:
    """Return the issue of greatest numbers that are always less than those read, or least that are more."""
    for heading, numbers in _others_alike(made):
        sign = _sign(heading, made.units)
        apart = sign * (numbers - made.measured)
        if sign and (apart >= 0.0).all() and (apart > 0.0).mean() > _MOST_SHARE:
            text = (
                f"{heading} is always {'more' if sign > 0.0 else 'less'} than what is read: which is right?"
            )
            return Issue("times", text, options=(("--column", f"time_s={heading}"), ("--trust",)))
    return None


def _of_extremes(made: Imported) -> Issue | None:
    """Return the issue of a read column that is the least or greatest of several unnamed ones in each row."""
    near = {
        heading: numbers - made.measured
        for heading, numbers in _others_alike(made)
        if not _sign(heading, made.units)
        and (np.abs(np.log(numbers / made.measured)) < log(_SAME_RUNS)).all()
    }
    if len(near) < 2 or len(made.measured) < _LEAST_ROWS:
        return None
    for sign, extreme in ((1.0, "least"), (-1.0, "greatest")):
        if all((sign * apart > 0.0).all() for apart in near.values()):
            text = f"what is read is the {extreme} of several times in each row: which one is the mean?"
            options = choices("--column", list(near), "time_s=")
            return Issue("times", text, options=(*options, ("--trust",)))
    return None


def _others_alike(made: Imported) -> Iterable[tuple[str, np.ndarray]]:
    """Yield the headings and numbers of columns that are not read and in the same unit as what is read."""
    if len(set(made.units)) != 1:
        return
    for heading, numbers in made.others.items():
        if (read_heading(heading).unit or made.units[0]) == made.units[0] and (numbers > 0.0).all():
            yield heading, numbers


def _sign(heading: str, units: Sequence[TimeUnit | None]) -> float:
    """Return 1 for a heading of the least of several numbers, -1 of the greatest, 0 for any other."""
    words = set(re.findall(r"[^\W_]+", heading.lower()))
    is_rate = any(unit is not None and unit.is_rate for unit in units)
    best, worst = (_WORST, _BEST) if is_rate else (_BEST, _WORST)
    return 1.0 if words & (_LEAST | best) else -1.0 if words & (_GREATEST | worst) else 0.0


def _exchange(made: Imported, name: str, low: str, high: str) -> tuple[tuple[str, ...], ...]:
    """Return the options that exchange two values of a column, () where its texts are not those values."""
    pairs = [(text, high) for text in made.texts.get((name, low), ())]
    pairs += [(text, low) for text in made.texts.get((name, high), ())]
    # Where it is still asked what a text means, its exchange would be a second answer.
    asked = {text.partition("=")[0] for issue in made.issues for option in issue.options for text in option}
    if any(f"{name}:{text}" in asked for text, _ in pairs):
        return ()
    words = [word for text, value in pairs for word in ("--value", f"{name}:{text}={value}")]
    return (tuple(words), ("--trust",)) if words else ()


def _of_rows(check: Check, deviations: np.ndarray) -> Iterable[Issue]:
    far = np.abs(deviations) > log(MOST_FACTOR)
    if not far.any():
        return
    rows, seconds = rows_of(check.made.rows, far), check.made.seconds()
    examples = "; ".join(
        _example(check.made.rows[place], float(seconds[place]), float(check.law_s[place]))
        # A row of a pivot has several runs.
        for place in np.flatnonzero(far)[:3].tolist()
    )
    text = f"times more than twice off the built-in formula ({examples}): leave them out, or --trust them"
    few = len(rows) == 1 or (len(rows) <= _MOST_LISTED and far.mean() <= _MOST_LEFT_OUT)
    # Where the other rows are off, too, the table may be wrong as a whole: a row less does not make it right.
    few = few and _median(np.abs(deviations[~far])) < log(_FITS_WELL)
    # An answer to another question may change every time.
    few = few and not any(option[0] == "--unit" for issue in check.made.issues for option in issue.options)
    skipped = (("--skip-rows", ",".join(map(str, rows))),) if few else ()
    yield Issue("times", text, rows, (*skipped, ("--trust",)) if skipped else ())


def _example(row: Label, seconds: float, law_s: float) -> str:
    ratio = seconds / law_s
    ways = {
        1e3: "1,000 times too long",
        1e-3: "1,000 times too short",
        60.0: "60 times too long",
        1 / 60.0: "60 times too short",
        1e6: "1e6 times too long",
        1e-6: "1e6 times too short",
    }
    near = next(
        (text for factor, text in ways.items() if abs(log(ratio / factor)) < log(_FITS_CLEARLY**2)), ""
    )
    said = f"row {row}: {show_seconds(seconds)}, the formula gives {show_seconds(law_s)}"
    return f"{said}, {near}" if near else said
