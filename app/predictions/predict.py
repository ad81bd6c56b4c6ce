"""Predictions with what belongs to them: unit, interval, warnings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from trainlaw.app.inputs.requests import run_warnings
from trainlaw.app.inputs.run_folder import newest_formula
from trainlaw.app.models.builtin import BUILT_IN, SCALING_FORMULA, formula_named
from trainlaw.app.models.errors import interval_of
from trainlaw.app.models.multi_gpu import (
    ALGORITHMS,
    ASSUMPTION,
    BY_LAW,
    OF_ONE,
    by_law,
    check_scaling_formula,
    exchange_seconds,
    multi_gpu_seconds,
)
from trainlaw.app.models.scopes import check_predictable, formula_rows, handling
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.datasets import RunTable
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.datasets.measurements.memory_fit import memory_needs
from trainlaw.formulas import Formula, InputError, load_formula
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.scopes import MULTI_GPU
from trainlaw.validate.applicability import jointly_outside

TEXTBOOK = "textbook"
JOINTLY = "the features together are unlike any of training"


@dataclass(frozen=True)
class Prediction:
    """One predicted configuration; times in s; `low_s` and `high_s` bound the interval, None without one.

    `memory_least_bytes`, `memory_usual_bytes` and `fits_in_memory` are those of `memory_needs`. `time_s`
    contains `exchange_s`: the exchange of gradients among `n_gpus` GPUs on `n_nodes` nodes.
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
    time_s: float
    exchange_s: float
    low_s: float | None
    high_s: float | None
    memory_least_bytes: int
    memory_usual_bytes: int
    fits_in_memory: str
    warnings: tuple[str, ...]

    @property
    def samples_per_second(self) -> float:
        """Throughput of all GPUs, in samples per second."""
        return self.n_gpus * self.batch_per_gpu / self.time_s

    def interval_text(self, level: float) -> str:
        """The interval in words; `level` is its probability.

        >>> machine = ("fp32", 1, 1, "none", "none", "none")
        >>> memory = (10**9, 2 * 10**9, "fits")
        >>> Prediction("vgg16", "V100", 8, *machine, 0.1, 0.0, 0.08, 0.125, *memory, ()).interval_text(0.9)
        '90 % interval 80 ms to 125 ms'
        """
        if self.low_s is None or self.high_s is None:
            return "no interval: too few groups were held out"
        return f"{100 * level:g} % interval {show_seconds(self.low_s)} to {show_seconds(self.high_s)}"


def find_formula(given: Path | None, folder: Path) -> tuple[Formula, str]:
    """The formula to use: the given file, else the newest run's in `folder`, else the built-in one.

    given : a `formula.json`, a run folder, or the name of a built-in formula (`BUILT_IN_FORMULAS`).
    Returns the formula and its origin.
    Raises InputError where there is none or the file is faulty.
    """
    named = None if given is None or given.exists() else formula_named(given)
    if named is not None:
        return named, f"the built-in formula {given}"
    if given is not None:
        path = given / "formula.json" if given.is_dir() else given
        return load_formula(path), str(path)
    newest = newest_formula(folder)
    if newest is not None:
        return load_formula(newest), str(newest.relative_to(folder))
    if BUILT_IN.is_file():
        return load_formula(BUILT_IN), "the built-in formula"
    raise InputError(
        "there is no formula here: run `trainlaw study` first, or name a formula.json with --formula"
    )


def labels_of_options(options: Sequence[str] | None) -> dict[str, str]:
    """Return groups by label, from texts such as "harness=nvidia"; InputError for a text of another form.

    >>> labels_of_options(["harness=nvidia"])
    {'harness': 'nvidia'}
    """
    pairs = [option.partition("=") for option in options or ()]
    for option, pair in zip(options or (), pairs, strict=True):
        if not all(pair):
            raise InputError(f"expected --label LABEL=GROUP, such as harness=nvidia, got {option!r}")
    return {label.strip(): group.strip() for label, _, group in pairs}


def of_groups(formula: Formula, labels: Mapping[str, str]) -> Formula:
    """Return a formula whose grouped constants have the values of these groups, such as harness: nvidia.

    Raises UnknownNameError for a label or a group that no constant of the formula has.
    """
    for label, group in labels.items():
        groups = {name for item in formula.grouped if item.key == label for name in item.values}
        if not groups:
            keys = sorted({item.key for item in formula.grouped})
            if not keys:
                raise InputError(f"--label {label}: this formula has no constants that differ by group")
            raise unknown_name("label of the formula", label, keys)
        if group not in groups:
            raise unknown_name(label, group, groups)
    grouped = tuple(
        replace(item, values={}, default=item.values.get(labels[item.key], item.default))
        if item.key in labels
        else item
        for item in formula.grouped
    )
    return replace(formula, grouped=grouped)


@dataclass(frozen=True)
class Laws:
    """What times are predicted by: a formula of one GPU, a law of several (None: textbook), both in words."""

    formula: Formula
    origin: str
    several: Formula | None
    several_origin: str


def find_laws(formula: Path | None, law: str, folder: Path) -> Laws:
    """Return the formula of one GPU and the law of several that a person asks for.

    formula, folder : as `find_formula`. law : `TEXTBOOK`, the name of a built-in law, a file or a run folder;
    empty for the built-in one. Where the formula is itself a law of several GPUs that needs the time on one,
    it is taken as the law, and the built-in formula for one GPU. Raises InputError for a law of another kind.
    """
    found, origin = find_formula(formula, folder)
    of_one, one_origin = found, origin
    if found.scope == MULTI_GPU:
        of_one, one_origin = load_formula(BUILT_IN), "the built-in formula"
        if not law:
            return Laws(of_one, one_origin, check_scaling_formula(found, origin), origin)
    if law == TEXTBOOK:
        return Laws(of_one, one_origin, None, TEXTBOOK)
    several, several_origin = find_formula(Path(law or SCALING_FORMULA), folder)
    check_scaling_formula(several, several_origin)
    return Laws(of_one, one_origin, several, several_origin)


def predict_runs(
    formula: Formula, runs: RunTable, law: Formula | None = None, measured_s: float | None = None
) -> list[Prediction]:
    """Predicts every configuration of a table.

    formula : a law of the iteration time; runs : configurations, times are not needed. law : of several GPUs,
    for the algorithms that it knows; None for the textbook. measured_s : time of an iteration on one GPU, in
    seconds, where it is known: then the law alone predicts the runs, which are on several, and the interval
    is the law's.
    Returns one prediction per row of `runs`; its time is nan where the formula is not defined. Raises
    InputError for a formula that is itself a law of several GPUs and needs the time on one.
    """
    check_predictable(formula)
    if measured_s is None:
        single = formula_rows(formula, runs).predict(formula)
        factor = interval_of(formula)
    else:
        single = np.full(len(runs), measured_s)
        factor = interval_of(_law_that_speaks(law, runs))
    exchange = exchange_seconds(formula, runs, law, single)
    seconds = multi_gpu_seconds(single, exchange)
    warnings_of_runs = (
        _warnings(formula, runs, seconds, law)
        if measured_s is None
        else _warnings_of_measured(runs, single, law)
    )
    numbers = zip(seconds.tolist(), exchange.tolist(), warnings_of_runs, strict=True)
    memory = memory_needs(runs)[["least_bytes", "usual_bytes", "fits"]].itertuples(index=False, name=None)
    described = runs.frame[list(_DESCRIBED)].itertuples(index=False, name=None)
    return [
        Prediction(
            *(kind(value) for kind, value in zip(_DESCRIBED.values(), texts, strict=True)),
            time_s,
            exchange_s,
            time_s / factor if factor else None,
            time_s * factor if factor else None,
            *needed,
            warnings,
        )
        for texts, (time_s, exchange_s, warnings), needed in zip(described, numbers, memory, strict=True)
    ]


_DESCRIBED: Mapping[str, type] = {
    "cnn": str,
    "gpu": str,
    "batch_per_gpu": int,
    "precision": str,
    "n_gpus": int,
    "n_nodes": int,
    "link": str,
    "network": str,
    "algorithm": str,
}


def _warnings(
    formula: Formula, runs: RunTable, seconds: np.ndarray, law: Formula | None
) -> list[tuple[str, ...]]:
    rows = formula_rows(formula, runs)
    found = (
        _out_of_range(formula, rows.columns, len(runs))
        if rows.sums is None
        else _layers_out_of_range(formula, rows)
    )
    for row, precision in enumerate(runs.frame["precision"]):
        if precision not in formula.provenance.get("precisions", [precision]):
            found[row].append(f"no run in {precision} was in training")
    for row in np.flatnonzero(rows.any_per_run(jointly_outside(formula, rows.columns))):
        found[row].append(JOINTLY)
    for row, texts in enumerate(run_warnings(runs)):
        found[row] += texts
    if not handling(formula).covers_multi_gpu:
        spoken = by_law(law, runs)
        for row in np.flatnonzero(runs.frame["n_gpus"].to_numpy() > 1):
            found[row].append(f"{BY_LAW if spoken[row] else ASSUMPTION}; {OF_ONE}")
    for row in np.flatnonzero(~np.isfinite(seconds)):
        found[row].append("the formula is not defined here")
    return [tuple(texts) for texts in found]


def _law_that_speaks(law: Formula | None, runs: RunTable) -> Formula:
    """Return the law; InputError where it does not speak for the way of exchanging of every run."""
    if law is None:
        raise InputError(
            "expected a law of several GPUs beside a measured time on one, got the textbook: leave one out"
        )
    if not by_law(law, runs).all():
        known = ", ".join(law.provenance.get(ALGORITHMS, ()))
        raise InputError(
            f"a measured time on one GPU needs a law that knows the way of exchanging, this knows {known}:"
            " leave the time out for the textbook"
        )
    return law


def _warnings_of_measured(runs: RunTable, single: np.ndarray, law: Formula | None) -> list[tuple[str, ...]]:
    """Warnings of runs on several GPUs whose time on one was measured: what the law has not seen."""
    spoken = _law_that_speaks(law, runs)
    names = [spec.name for spec in spoken.used_features if spec.name != SINGLE_GPU_TIME]
    columns = dict(zip(names, runs.matrix(names).T, strict=True)) | {SINGLE_GPU_TIME: single}
    outside = _out_of_range(spoken, columns, len(runs))
    return [(*texts, *others) for texts, others in zip(outside, run_warnings(runs), strict=True)]


def _out_of_range(formula: Formula, columns: Mapping[str, np.ndarray], count: int) -> list[list[str]]:
    """One list of warnings for each of `count` runs, whose features are `columns`."""
    found = [list[str]() for _ in range(count)]
    for name, outside in formula.out_of_range(columns).items():
        spec = next(spec for spec in formula.used_features if spec.name == name)
        unit = "" if spec.unit.is_dimensionless else f" {spec.unit}"
        low, high = map(show_number, formula.ranges[name])
        for row in np.flatnonzero(outside):
            value = show_number(columns[name][row])
            found[row].append(f"{name} is {value}{unit}, outside the {low} to {high} of training")
    return found


def _layers_out_of_range(formula: Formula, rows: FormulaRows) -> list[list[str]]:
    """One list of warnings per run, for a law of layers: how many of its layers lie outside, and by what."""
    found = [list[str]() for _ in rows.known]
    if rows.sums is None:
        return found
    for name, outside in formula.out_of_range(rows.columns).items():
        low, high = map(show_number, formula.ranges[name])
        # What is 0 takes no part: a pooling layer has no time of a matrix product.
        layers = rows.per_run(rows.sums.apply(1.0 * (outside & (rows.columns[name] != 0))), 0.0)
        for row in np.flatnonzero(layers):
            number = "1 layer" if layers[row] == 1 else f"{layers[row]:.0f} layers"
            found[row].append(f"{name} of {number} lies outside the {low} to {high} of training")
    return found
