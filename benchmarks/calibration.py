"""Errors of held-out GPU groups after calibration with a few of their runs, by precision and number of runs.

A set is the runs of one source on one GPU in one precision.

python -m benchmarks.calibration       some minutes on one thread

Each GPU group of the default table is held out once: the constants of the built-in formula are fitted
without it, and so are the covariances of factors, so that no number of the calibration has seen the group;
its form has. Then k random runs of a set calibrate the formula, which predicts the other runs of the set.
"""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.scopes import formula_rows
from trainlaw.datasets import RunTable, load
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.formulas import Formula, load_formula
from trainlaw.validate.baselines.inputs import rows_drawn
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.refit import RefittedFormula
from trainlaw.validate.time_covariances import time_covariances
from trainlaw.validate.time_factors import time_factors

from tools.time_covariances import sets_of

NUMBERS_OF_RUNS = (1, 3, 5)
DRAWS = 20
_MOST_ROWS_PER_GROUP = 250
# Smaller sets say little of what remains after calibration.
_LEAST_RUNS = 13
#: Bars by number of runs: mean error, percent, and percent of the sets that lose more than half a point.
BARS = {1: (14.8, 8.0), 3: (12.8, 8.0), 5: (11.5, 8.0)}
_HARM = 0.5


def laws_without(
    formula: Formula,
    rows: FormulaRows,
    seconds: np.ndarray,
    groups: np.ndarray,
    parts: np.ndarray | None = None,
) -> dict[str, Formula]:
    """Return the formula fitted without each GPU group, or without each of other parts of the runs, by name.

    groups, parts : names, (n_runs,).
    """
    X, found = pd.DataFrame(dict(rows.columns)), {}
    held_out = groups if parts is None else parts
    for group in np.unique(held_out):
        training = np.flatnonzero(held_out != group)
        training = training[rows_drawn(groups[training], _MOST_ROWS_PER_GROUP)]
        fitted = RefittedFormula(formula).fit(X.iloc[training], seconds[training], groups[training])
        found[str(group)] = fitted.formula_
    return found


def errors_of(
    law: Formula,
    rows: FormulaRows,
    seconds: np.ndarray,
    count: int,
    *,
    draws: int,
    seed: int,
    covariances: pd.DataFrame | None = None,
) -> tuple[float, float]:
    """Return the errors before and after calibration with `count` runs, percent, means over draws."""
    before, after = [], []
    for draw in range(draws):
        order = np.random.default_rng([seed, count, draw]).permutation(len(seconds))
        few, rest = order[:count], order[count:]
        factors = time_factors(law, _some(rows, few), seconds[few], covariances)
        calibrated, unseen = replace(law, expression=factors.apply(law)), _some(rows, rest)
        before.append(mape_percent(seconds[rest], unseen.predict(law)))
        after.append(mape_percent(seconds[rest], unseen.predict(calibrated)))
    return float(np.mean(before)), float(np.mean(after))


def _some(rows: FormulaRows, chosen: np.ndarray) -> FormulaRows:
    columns = {name: values[chosen] for name, values in rows.columns.items()}
    return FormulaRows(columns, np.ones(len(next(iter(columns.values()))), dtype=bool))


def measured(draws: int = DRAWS) -> pd.DataFrame:
    """Return one row per set and number of runs: set, precision, runs, before, after."""
    table, law = load("default", RunTable), load_formula(BUILT_IN)
    rows, seconds = formula_rows(law, table), table.seconds
    labels = table.labels()
    groups = labels["gpu_group"].to_numpy(str)
    held_out = laws_without(law, rows, seconds, groups)
    priors, sets, found = {}, sets_of(table), []
    for group, fitted in held_out.items():
        rest = groups != group
        priors[group] = time_covariances(fitted, _some(rows, rest), seconds[rest], sets[rest], groups[rest])
    for key, inside in labels.groupby(["source", "gpu", "precision"]).indices.items():
        group = groups[inside[0]]
        part = held_out[group], _some(rows, inside), seconds[inside]
        for count in NUMBERS_OF_RUNS if len(inside) >= _LEAST_RUNS else ():
            seed, prior = int(inside[0]), priors[group]
            errors = errors_of(*part, count, draws=draws, seed=seed, covariances=prior)
            found.append((" ".join(key), key[2], count, *errors))
    return pd.DataFrame(found, columns=["set", "precision", "runs", "before", "after"])


def main() -> None:
    """Print the mean over sets by precision and number of runs, and whether the bars hold."""
    found = measured(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS)
    print(found.groupby(["precision", "runs"])[["before", "after"]].mean().round(1).to_string())
    for count, part in found.groupby("runs"):
        harm = part["after"] - part["before"]
        error, worse = BARS[int(str(count))]
        print(
            f"{count} runs, {len(part)} sets: {part['before'].mean():.1f} -> {part['after'].mean():.1f} % "
            f"(at most {error}); {100 * (harm > _HARM).mean():.0f} % of sets lose more than {_HARM} (at most "
            f"{worse:g} %), at worst {harm.max():+.1f}"
        )


if __name__ == "__main__":
    main()
