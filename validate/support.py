"""Sources of measurements that support each time of a formula, and amounts that resampled groups support.

A term that matters in the runs of one source only may describe that source rather than GPUs.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.formulas.algebra.units import SECOND
from trainlaw.formulas.formula import Formula

#: Key of the shares of inclusion, and of the sources, in the `errors` of a formula.
SUPPORT, SOURCES = "support", "supporting_sources"
# A time matters in a run where one per cent more of it is at least this many per cent of the run.
LEAST_PART = 0.05
# A source supports a time with this many runs in which it matters, or with all of fewer.
LEAST_RUNS = 5
_STEP = 1e-6  # of a numeric slope: errors of step and rounding are both below 1e-6


def supporting_sources(
    formula: Formula, rows: FormulaRows, sources: npt.ArrayLike
) -> dict[str, tuple[str, ...]]:
    """Return by time feature the sources, sorted, in whose runs it makes a part of the formula's time.

    formula : of seconds. rows : the training runs as rows of the formula. sources : of each run,
    (n_runs,). Features that are not times are left out.
    """
    owners, found = np.asarray(sources).astype(str), {}
    whole = rows.predict(formula)
    for spec in formula.used_features:
        if spec.unit == SECOND:
            longer = rows.predict(formula, {spec.name: 1.0 + _STEP})
            matters = (longer / whole - 1.0) / _STEP >= LEAST_PART
            found[spec.name] = tuple(
                name
                for name in np.unique(owners).tolist()
                if matters[owners == name].sum() >= min(LEAST_RUNS, (owners == name).sum())
            )
    return found


def sources_json(
    formula: Formula, rows: FormulaRows, sources: npt.ArrayLike
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the entry of `supporting_sources` for a formula's errors; {} where there is one source."""
    return {SOURCES: supporting_sources(formula, rows, sources)} if len(np.unique(sources)) > 1 else {}


def weakly_supported(formula: Formula) -> dict[str, tuple[str, ...]]:
    """Return the times that matter in the runs of one or two sources only, with these sources."""
    known = formula.errors.get(SOURCES, {})
    return {name: tuple(found) for name, found in known.items() if 0 < len(found) < 3}


class Support(NamedTuple):
    """In which share of the choices on resampled groups an amount or a factor, by its feature, is kept."""

    name: str
    share: float


def support_of(formula: Formula) -> tuple[Support, ...]:
    """Return the shares of inclusion that a formula carries, the largest first; empty where it has none."""
    return tuple(Support(name, float(share)) for name, share in formula.errors.get(SUPPORT, ()))
