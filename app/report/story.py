"""What the report says first: the error in a sentence, where the formula is wrong, what its lead rests on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from trainlaw.app.models.lead import error_sentence, lead_sentence
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.text.numbers import show_percent
from trainlaw.app.text.tables import Column, Table
from trainlaw.validate.baselines import title_of
from trainlaw.validate.held_out_errors import (
    BY_CNN,
    BY_GPU,
    KEPT,
    OURS,
    ErrorLine,
    error_lines,
    estimators,
    searches_of,
)

_WORST = 7  # groups of each kind that are named before the details
_FEW_RUNS = 5  # fewer say little about an architecture
_BEST_THERE = ("best there, %", Column("which baseline", "long"))
_READABLE = {"channels_last": "channels last", "unknown": "layout not recorded", "nchw": "NCHW"}


@dataclass(frozen=True)
class Story:
    """The first page of the report: sentences, and tables by title."""

    sentence: str
    lead: str
    classes: Sequence[tuple[str, Table]]
    worst: Sequence[tuple[str, Table]]


def story_of(outcome: StudyOutcome) -> Story | None:
    """Return what the report says first; None where no fold was finished."""
    formula = outcome.formula
    if not estimators(formula):
        return None
    levels = [(level, error_lines(formula, level)) for level in KEPT]
    return Story(
        sentence=error_sentence(formula),
        lead=lead_sentence(formula),
        classes=[(f"By {level}", _class_table(lines)) for level, lines in levels if lines],
        worst=[
            (title, _worst_table(outcome, level))
            for title, level in (("GPU groups", BY_GPU), ("Architectures", BY_CNN))
        ],
    )


def _class_table(lines: Sequence[ErrorLine]) -> Table:
    baselines = [name for name in lines[0].errors if name != OURS]
    several = any(line.seeds for line in lines)
    rows = [
        [_READABLE.get(line.name, line.name), line.rows, len(line.members), show_percent(line.errors[OURS]),
         *([_spread(line.seeds)] if several else []), *_best_of(line, baselines)]
        for line in lines
    ]  # fmt: skip
    seeds = ["seeds, %"] if several else []
    header = [Column("", "long"), "runs", "GPU groups", "this formula, %", *seeds, *_BEST_THERE]
    return Table.of(header, rows, "number")


def _spread(seeds: Sequence[float]) -> str:
    return f"{min(seeds):.1f} to {max(seeds):.1f}" if seeds else "-"


def _best_of(line: ErrorLine, baselines: Sequence[str]) -> tuple[str, str]:
    known = [(line.errors[name], name) for name in baselines if math.isfinite(line.errors[name])]
    if not known:
        return "-", ""
    error, name = min(known)
    return show_percent(error), title_of(name)


def _worst_table(outcome: StudyOutcome, level: str) -> Table:
    """The groups with the largest errors, worst first, and whether times are predicted long or short."""
    bias = _bias_by(outcome, level)
    lines = [line for line in error_lines(outcome.formula, level) if math.isfinite(line.errors[OURS])]
    enough = [line for line in lines if line.rows >= _FEW_RUNS] or lines
    worst = sorted(enough, key=lambda line: -line.errors[OURS])[:_WORST]
    baselines = [name for name in estimators(outcome.formula) if name != OURS]
    rows = [
        [line.label, line.rows, show_percent(line.errors[OURS]), f"{bias[line.name]:.2f}",
         *_best_of(line, baselines)]
        for line in worst
    ]  # fmt: skip
    header = [Column("", "long"), "runs", "error, %", "predicted / measured", *_BEST_THERE]
    return Table.of(header, rows, "number")


def _bias_by(outcome: StudyOutcome, level: str) -> dict[str, float]:
    """The geometric mean of predicted over measured time, by label; that of all searches."""
    result = outcome.result
    ratios = np.mean([np.log(result.predicted_s(name)) for name in searches_of(result)], axis=0)
    ratios -= np.log(result.measured_s)
    labels = result.labels(level)
    return {str(label): float(np.exp(ratios[labels == label].mean())) for label in np.unique(labels)}
