"""Predictions with what belongs to them: unit, interval, warnings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from trainlaw.app.error_tables import interval_of
from trainlaw.app.quantities import show_number, show_seconds
from trainlaw.app.run_folder import newest_formula
from trainlaw.datasets import RunTable
from trainlaw.formulas import Formula, InputError, load_formula

BUILT_IN = Path(__file__).with_name("builtin") / "formula.json"


@dataclass(frozen=True)
class Prediction:
    """One predicted configuration; times in s; `low_s` and `high_s` bound the interval, None without one."""

    cnn: str
    gpu: str
    batch_per_gpu: int
    time_s: float
    low_s: float | None
    high_s: float | None
    warnings: tuple[str, ...]

    @property
    def samples_per_second(self) -> float:
        """Throughput of one GPU, in samples per second."""
        return self.batch_per_gpu / self.time_s

    def interval_text(self, level: float) -> str:
        """The interval in words; `level` is its probability.

        >>> Prediction("vgg16", "V100", 8, 0.1, 0.08, 0.125, ()).interval_text(0.9)
        '90 % interval 80 ms to 125 ms'
        """
        if self.low_s is None or self.high_s is None:
            return "no interval: too few GPU groups were held out"
        return f"{100 * level:g} % interval {show_seconds(self.low_s)} to {show_seconds(self.high_s)}"


def find_formula(given: Path | None, folder: Path) -> tuple[Formula, str]:
    """The formula to use: the given file, else the newest run's in `folder`, else the built-in one.

    given : a `formula.json` or a run folder.
    Returns the formula and where it came from, in words.
    Raises InputError where there is none or the file is faulty.
    """
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


def predict_runs(formula: Formula, runs: RunTable) -> list[Prediction]:
    """Predicts every configuration of a table.

    formula : a law of the iteration time; runs : configurations, times are not needed.
    Returns one prediction per row of `runs`; its time is nan where the formula is not defined.
    """
    names = [spec.name for spec in formula.used_features]
    columns = {name: column for name, column in zip(names, runs.matrix(names).T, strict=True)}
    seconds = formula.predict(columns, dict(runs.labels()))
    factor = interval_of(formula)
    frame, times = runs.frame, seconds.tolist()
    warnings = _warnings(formula, columns, seconds)
    described = zip(frame["cnn"], frame["gpu"], frame["batch_per_gpu"], times, warnings, strict=True)
    return [
        Prediction(
            str(cnn), str(gpu), int(batch), time_s, time_s / factor if factor else None,
            time_s * factor if factor else None, texts,
        )
        for cnn, gpu, batch, time_s, texts in described
    ]  # fmt: skip


def _warnings(
    formula: Formula, columns: Mapping[str, np.ndarray], seconds: np.ndarray
) -> list[tuple[str, ...]]:
    outside = formula.out_of_range(columns)
    found: list[list[str]] = [[] for _ in seconds]
    for spec in formula.used_features:
        if spec.name not in outside:
            continue
        low, high = formula.ranges[spec.name]
        for row in np.flatnonzero(outside[spec.name]):
            value, unit = columns[spec.name][row], "" if spec.unit.is_dimensionless else f" {spec.unit}"
            found[row].append(
                f"{spec.name} is {show_number(value)}{unit}, outside the {show_number(low)} to "
                f"{show_number(high)} of training"
            )
    for row in np.flatnonzero(~np.isfinite(seconds)):
        found[row].append("the formula is not defined here")
    return [tuple(texts) for texts in found]
