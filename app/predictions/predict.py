"""Predictions with their interval and warnings: of one configuration, or of many."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from html import escape
from math import inf, isfinite, isnan, nan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from trainlaw.app.answers.answer import WARNING, Answer
from trainlaw.app.answers.facts import run_facts
from trainlaw.app.answers.nearest_run import nearest_run_columns
from trainlaw.app.answers.said import Answers, answered
from trainlaw.app.models.builtin import offered_formulas
from trainlaw.app.models.doubts import time_doubt
from trainlaw.app.models.law_times import is_training
from trainlaw.app.models.multi_gpu import covering, exchange_seconds, scaled_runs, scaling_columns
from trainlaw.app.models.scopes import check_predictable, formula_rows
from trainlaw.app.predictions.training import Training
from trainlaw.datasets import RunTable
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.formula_intervals import interval_of

#: Yields what the times of runs are made of, from the formula and what several GPUs add, in seconds.
Explain = Callable[[Formula, RunTable, Sequence[Any]], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Prediction:
    """One predicted configuration and what the table of answers says of it.

    `n_gpus` GPUs are on `n_nodes` nodes, which have the same number of them unless `allocation` lists them.
    `host_launch_s` is None where it is not known. `values` are the published rows of the table by name, in
    their units, None where not defined; `notes` say which defaults were used. `explanation` is what the time
    is made of, as `trainlaw.app.explain.shares` has it, None where nobody asked.
    """

    cnn: str
    gpu: str
    batch_per_gpu: int
    precision: str
    n_gpus: int
    n_nodes: int
    link: str
    network: str
    algorithm: str
    layout: str
    compilation: str
    tuned: bool
    host_launch_s: float | None
    allocation: str
    bucketed: bool
    stack: str
    values: Mapping[str, float | str | None]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    _answers: Answers = field(repr=False, compare=False)
    _row: int = field(repr=False, compare=False)
    explanation: Mapping[str, Any] | None = None

    @cached_property
    def figures(self) -> list[tuple[str, str]]:
        """The lines of figures, as title and text."""
        return self._answers.figures(self._row)

    def number(self, name: str) -> float:
        """Return a number of `values`; nan where it is not defined."""
        value = self.values.get(name)
        return nan if value is None else float(value)

    @property
    def time_s(self) -> float:
        """The time of an iteration on all GPUs, in seconds; nan where the formula is not defined."""
        return self.number("time_s")

    @property
    def seconds(self) -> float:
        """The time of an iteration, in seconds."""
        return self.time_s

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the 90 % interval, in seconds; None without one."""
        low, high = self.number("low_s"), self.number("high_s")
        return None if isnan(low + high) else (low, high)

    @property
    def images_per_second(self) -> float:
        """Throughput of all GPUs, in images per second; nan where it is not defined."""
        return self.number("samples_per_second")

    def __getattr__(self, name: str) -> Any:
        """Return one of `values` by its name, such as `low_s` or `fits_in_memory`."""
        values = self.__dict__.get("values", {})
        if name not in values:
            raise AttributeError(f"a prediction has no {name!r}; its values are {', '.join(values)}")
        return values[name]

    def __repr__(self) -> str:
        warned = f", warnings: {len(self.warnings)}" if self.warnings else ""
        time = " ".join(self.figures[0][1].split())
        return f"<Prediction of {self._title}: {time}{warned}>"

    @property
    def _title(self) -> str:
        machine = self.gpu if self.n_gpus == 1 else f"{self.n_gpus} x {self.gpu}"
        return f"{self.cnn}, batch {self.batch_per_gpu}, {self.precision}, on {machine}"

    def _repr_html_(self) -> str:
        """Return the prediction as notebooks show it."""
        said = [("note", note) for note in self.notes] + [("warning", text) for text in self.warnings]
        cells = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>"
            for name, text in (*self.figures, *said)
        )
        return f"<table><caption>{escape(self._title)}</caption>{cells}</table>"


def predict_runs(
    formula: Formula,
    runs: RunTable,
    scaling: Formula | None = None,
    measured_s: float | None = None,
    training: Training | None = None,
    *,
    explain: Explain | None = None,
) -> list[Prediction]:
    """Predict every configuration of a table.

    formula : of the iteration time. runs : configurations, times are not needed. scaling : formula for
    several GPUs, for the algorithms that it covers; None for the textbook. measured_s : time of an iteration
    on one GPU, in seconds, where it is known: then the scaling formula alone predicts the runs, which are on
    several GPUs, and the interval is its own. training : whose hours are predicted too. explain : makes the
    explanation of each.
    Returns one prediction per row of `runs`; its time is nan where the formula is not defined. Raises
    InputError for a formula of a scope without predictions of configurations.
    """
    found: dict[int, Prediction] = {}
    for part in _parts(formula, runs, training):
        settings = _listed(_settings(part.runs))
        answers = run_answers(part.formula, part.runs, scaling, measured_s, training=part.training)
        said, values = answers.sentence_columns(), _listed(answers.published())
        columns = settings | said | _explained(part, answers, explain)
        for row, place in enumerate(part.places):
            found[place] = Prediction(
                **{name: column[row] for name, column in columns.items()},
                values={name: column[row] for name, column in values.items()},
                _answers=answers,
                _row=row,
            )
    return [found[row] for row in range(len(runs))]


def _listed(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return columns as lists, None for a number that is not finite."""
    return {
        name: [None if isinstance(each, float) and not isfinite(each) else each for each in column.tolist()]
        for name, column in columns.items()
    }


def warnings_of(predictions: Iterable[Prediction]) -> list[list[str]]:
    """Return what each kind of warning says of predictions that have it, the gravest kind first."""
    tables = dict[int, tuple[Answers, set[int]]]()
    for one in predictions:
        tables.setdefault(id(one._answers), (one._answers, set()))[1].add(one._row)
    found = dict[Answer, list[str]]()
    for answers, rows in tables.values():
        for answer, texts in answers.said(WARNING):
            if kept := [text for row, text in texts.items() if row in rows]:
                found.setdefault(answer, []).extend(kept)
    return [found[answer] for answer in sorted(found, key=lambda answer: answer.rank)]


def predicted_blocks(
    formula: Formula,
    blocks: Iterable[RunTable],
    scaling: Formula | None = None,
    measured_s: float | None = None,
    training: Training | None = None,
    *,
    explain: Explain | None = None,
    most: int | None = None,
    by_speed: bool = False,
) -> Iterator[pd.DataFrame]:
    """Yield what outputs say of the configurations of each table: settings, answers and warnings by column.

    The same as `predict_runs` says, without an object per row; nan where a value is not defined. Arguments
    and errors as there. most : rows in all, None for no limit. by_speed : whether those of each table come as
    by `fastest_first`.
    """
    left = inf if most is None else most
    for runs in blocks:
        parts = []
        for part in _parts(formula, runs, training):
            settings = _settings(part.runs)
            answers = run_answers(part.formula, part.runs, scaling, measured_s, training=part.training)
            said = answers.published() | answers.sentence_columns()
            columns = settings | said | _explained(part, answers, explain)
            parts.append(pd.DataFrame(columns, index=list(part.places)))
        found = parts[0] if len(parts) == 1 else pd.concat(parts).sort_index()
        if by_speed:
            found = found.iloc[fastest_first(found["samples_per_second"].tolist())]
        yield found.head(int(min(left, len(runs))))
        left -= len(runs)
        if left <= 0:
            return


def _explained(part: "_Part", answers: Answers, explain: Explain | None) -> dict[str, list[Any]]:
    if explain is None:
        return {}
    return {"explanation": [*explain(part.formula, part.runs, answers.published()["exchange_s"].tolist())]}


class _Part(NamedTuple):
    """The runs of a table that one formula predicts, with their places in it."""

    formula: Formula
    runs: RunTable
    places: Sequence[int]
    training: Training | None


def _parts(formula: Formula, runs: RunTable, training: Training | None = None) -> list[_Part]:
    """Return a table by formula: next to the built-in one, that of forward passes predicts these."""
    is_pass = ~is_training(runs)
    # To read the other formulas takes a tenth of the time of a command.
    passes = offered_formulas(formula).get(FORWARD) if is_pass.any() else None
    if passes is None:
        return [_Part(formula, runs, range(len(runs)), training)]
    inference = training and Training(training.images, 1, is_inference=True)
    chosen = [(formula, ~is_pass, training), (passes, is_pass, inference)]
    return [
        _Part(own, runs if mask.all() else runs.where(mask), np.flatnonzero(mask).tolist(), whole)
        for own, mask, whole in chosen
        if mask.any()
    ]


def run_seconds(formula: Formula, runs: RunTable, scaling: Formula | None = None) -> np.ndarray:
    """Return the times of runs, in seconds, (n_runs,); arguments and errors as for `predict_runs`."""
    found = np.empty(len(runs))
    for part in _parts(formula, runs):
        check_fits(part.formula, part.runs)
        check_predictable(part.formula)
        single = formula_rows(part.formula, part.runs).predict(part.formula)
        found[part.places] = single + exchange_seconds(part.formula, part.runs, scaling, single)
    return found


def _settings(runs: RunTable) -> dict[str, Any]:
    """Return the fields of `Prediction` that are columns of runs, by name, (n_runs,) each."""
    frame = runs.frame
    names = [field.name for field in fields(Prediction) if field.name in frame]
    found = {name: frame[name] for name in names}
    # A table of runs has 1 and 0.
    flags = ("tuned", "bucketed")
    return {name: (each.astype(bool) if name in flags else each).array for name, each in found.items()}


def run_answers(
    formula: Formula,
    runs: RunTable,
    scaling: Formula | None = None,
    measured_s: float | None = None,
    *,
    training: Training | None = None,
    others: Callable[[np.ndarray], Mapping[str, np.ndarray]] | None = None,
) -> Answers:
    """Return the answers of every configuration of a table; arguments as for `predict_runs`.

    others : gets the times on one GPU, in seconds, (n_runs,), and returns further quantities of the table of
    answers, such as prices, (n_runs,) each.
    """
    check_fits(formula, runs, measured_s)
    check_predictable(formula)
    if measured_s is None:
        rows, columns = formula_rows(formula, runs), nearest_run_columns(formula, runs)
        single, spoken = rows.predict(formula), formula
    else:
        doubt, rows = time_doubt(runs, measured_s), None
        single, spoken = np.full(len(runs), measured_s), covering(scaling, runs)
        columns = scaling_columns(spoken, runs) | {
            "doubt": np.full(len(runs), doubt),
            "has_doubt": np.full(len(runs), float(bool(doubt))),
        }
    added = exchange_seconds(formula, runs, scaling, single)
    columns |= {
        "single_gpu_time_s": single,
        "added_s": added,
        "is_scaled": scaled_runs(scaling, runs).astype(float),
        "is_undefined": 1.0 - np.isfinite(single + added),
        **run_facts(spoken, runs, rows),
    }
    if measured_s is not None:
        # The interval of the scaling formula over all its runs.
        factor = interval_of(spoken) or nan
        columns |= {
            "class_factor": np.full(len(runs), factor),
            "has_interval": np.full(len(runs), factor > 0.0),
        }
    if training is not None:
        columns |= training.columns(runs)
    return answered(spoken, runs, columns if others is None else {**columns, **others(single)})


def check_fits(formula: Formula, runs: RunTable, measured_s: float | None = None) -> None:
    """Raise InputError for runs whose time the formula, or one measured time, is not."""
    if formula.scope == FORWARD and (runs.column("n_gpus") > 1).any():
        raise InputError("expected a forward pass on one GPU, got several: each has its own")
    if formula.scope != FORWARD and not is_training(runs).all():
        raise InputError(
            "expected training iterations, got a forward pass: give --formula forward or another of forward "
            "passes; in a file of configurations leave out timed_parts"
        )
    if measured_s is not None and len(runs) > 1:
        raise InputError(f"--single-gpu-seconds is the time of one configuration, got {len(runs)}")


def fastest_first(rates: Sequence[float]) -> list[int]:
    """Return the places of throughputs, the highest first; nan, without a time, last.

    >>> fastest_first([nan, 40.0, 60.0])
    [2, 1, 0]
    """
    return sorted(range(len(rates)), key=lambda row: inf if isnan(rates[row]) else -rates[row])
