"""Prediction intervals that a formula stores, by class of runs and generation of GPUs."""

import math
from dataclasses import dataclass

from trainlaw.datasets import Gpu
from trainlaw.formulas import Formula
from trainlaw.validate.class_intervals import ClassIntervals
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.run_classes import OTHER_CLASS, run_class


@dataclass(frozen=True)
class Intervals:
    """The prediction intervals that a formula stores, by class of runs (`run_classes`).

    known : for GPUs of a generation with training runs. new : for GPUs of any further generation.
    generations : those with training runs, None where the formula does not say.
    """

    known: ClassIntervals
    new: ClassIntervals
    generations: tuple[str, ...] | None

    def is_new(self, generation: str) -> bool:
        """Return whether no training run is on a GPU of a generation."""
        return self.generations is not None and generation not in self.generations

    def factor(self, kind: str, generation: str) -> float:
        """Return the factor of a class on a GPU of a generation; nan where there is none."""
        factor = (self.new if self.is_new(generation) else self.known).factor(kind)
        return factor if math.isfinite(factor) else math.nan

    def of_run(self, gpu: Gpu, precision: str, stack: str) -> float:
        """Return the factor of the interval of a run; nan where there is none.

        By the run's class, and for a GPU of a generation without training runs by the errors on generations
        that were held out whole.
        """
        return self.factor(run_class(precision, stack, gpu.vendor), gpu.generation)

    def lines(self) -> list[tuple[str, float, float]]:
        """Return each class with its factors, known and new; the last one is for all further classes."""
        names = [*sorted({*self.known.factors, *self.new.factors} - {OTHER_CLASS}), OTHER_CLASS]

        def finite(value: float) -> float:
            return value if math.isfinite(value) else math.nan

        return [(name, finite(self.known.factor(name)), finite(self.new.factor(name))) for name in names]


def intervals_of(formula: Formula) -> Intervals:
    """Return the intervals that a formula stores, one for all runs where it has no classes."""
    stored = formula.errors.get("interval_by_class")
    if not stored:
        one = ClassIntervals({OTHER_CLASS: interval_of(formula) or math.inf}, {}, LEVEL)
        return Intervals(one, one, None)
    generations = formula.provenance.get("generations")
    return Intervals(
        ClassIntervals.from_json(stored),
        ClassIntervals.from_json(formula.errors.get("interval_of_new_generation", stored)),
        None if generations is None else tuple(map(str, generations)),
    )


def interval_of(formula: Formula) -> float | None:
    """Return the factor of the interval that a formula stores (see `ConformalInterval`), or None."""
    factor = formula.errors.get("interval", {}).get("factor")
    return None if factor is None else float(factor)
