"""The first page of the report: error and lead in sentences, and the worst groups of runs."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from trainlaw.app.models.stated_error import evolution_sentence
from trainlaw.app.report.errors import table_of_numbers
from trainlaw.app.studies.verdict import lead_sentence
from trainlaw.app.text.numbers import show_percent
from trainlaw.app.text.tables import RUNS, Table, TableColumn
from trainlaw.validate import StudyResult
from trainlaw.validate.baselines import CONTROLS, title_of
from trainlaw.validate.error_table import BY_CNN, BY_GPU, STORED_LEVELS
from trainlaw.validate.formula_errors import CarriedErrors, ErrorLine
from trainlaw.validate.result import MEASURED, OURS

_WORST = 7  # groups of each kind that are named before the details
_FEW_RUNS = 5  # fewer say little about an architecture
_BEST_THERE: tuple[str | TableColumn, ...] = ("best there, %", TableColumn("which baseline", "long"))
_READABLE = {"channels_last": "channels last", "unknown": "layout not recorded", "nchw": "NCHW"}


def story_of(result: StudyResult, errors: CarriedErrors) -> dict[str, object] | None:
    """Return what the report says first, sentences and tables by title; None where no fold was finished."""
    if not errors.estimators:
        return None
    levels = [(level, errors.lines[level]) for level in STORED_LEVELS]
    return dict(
        sentence=_error_sentence(errors),
        lead=lead_sentence(errors),
        evolution=evolution_sentence(errors),
        classes=[(f"By {level}", _class_table(lines)) for level, lines in levels if lines],
        worst=[
            (title, _worst_table(errors, level, _bias_by(result, level)))
            for title, level in (("GPU groups", BY_GPU), ("Architectures", BY_CNN))
        ],
    )


def _error_sentence(errors: CarriedErrors) -> str:
    """Return the held-out error in one sentence: overall, by precision, and the range over generations."""
    what = f"On {errors.held_out}s that were held out, this formula errs by"
    parts = [f"{what} {show_percent(errors.overall[OURS])} % on average"]
    precisions, generations = errors.lines["precision"], errors.lines["generation"]
    if len(precisions) > 1:
        named = ", ".join(f"{line.name} {show_percent(line.errors[OURS])} %" for line in precisions)
        parts.append(f"by precision {named}")
    if len(generations) > 1:
        best, worst = (
            f"{show_percent(line.errors[OURS])} % ({line.name})" for line in (generations[0], generations[-1])
        )
        parts.append(f"by generation between {best} and {worst}")
    return "; ".join(parts) + "."


def _class_table(lines: Sequence[ErrorLine]) -> Table:
    baselines = [name for name in lines[0].errors if name != OURS]
    several = any(line.seeds for line in lines)
    rows = [
        [
            _READABLE.get(line.name, line.name),
            line.rows,
            len(line.members),
            show_percent(line.errors[OURS]),
            *([f"{min(line.seeds):.1f} to {max(line.seeds):.1f}" if line.seeds else "-"] if several else []),
            *_best_of(line, baselines),
        ]
        for line in lines
    ]
    seeds = ["seeds, %"] if several else []
    return table_of_numbers(["", RUNS, "GPU groups", "this formula, %", *seeds, *_BEST_THERE], rows)


def _best_of(line: ErrorLine, baselines: Sequence[str]) -> tuple[str, str]:
    others = [name for name in baselines if name not in CONTROLS]
    known = [(line.errors[name], name) for name in others if math.isfinite(line.errors[name])]
    if not known:
        return "-", ""
    error, name = min(known)
    return show_percent(error), title_of(name)


def _worst_table(errors: CarriedErrors, level: str, bias: Mapping[str, float]) -> Table:
    """The groups with the largest errors, worst first, and whether times are predicted long or short."""
    lines = [line for line in errors.lines[level] if math.isfinite(line.errors[OURS])]
    enough = [line for line in lines if line.rows >= _FEW_RUNS] or lines
    worst = sorted(enough, key=lambda line: -line.errors[OURS])[:_WORST]
    rows = [
        [
            line.label,
            line.rows,
            show_percent(line.errors[OURS]),
            f"{bias[line.name]:.2f}",
            *_best_of(line, errors.others),
        ]
        for line in worst
    ]
    return table_of_numbers(["", RUNS, "error, %", "predicted / measured", *_BEST_THERE], rows)


def _bias_by(result: StudyResult, level: str) -> dict[str, float]:
    """The geometric mean of predicted over measured time, by label; that of all searches."""
    runs = result.predictions
    logs = np.mean([np.log(runs[name]) for name in result.searches], axis=0) - np.log(runs[MEASURED])
    return dict(np.exp(logs.groupby(runs[level]).mean()))
