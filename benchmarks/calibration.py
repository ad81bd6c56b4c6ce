"""Errors of held-out GPU groups after calibration with a few of their runs, by precision and number of runs.

python -m benchmarks.calibration       some minutes on one thread

Each GPU group of the default table is held out once: the constants of the built-in formula are fitted
without it, so that no number of the formula has seen the group; its form has. Then k random runs of the group
and a precision calibrate the formula, which predicts the other runs of that precision.
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
from trainlaw.validate import RefittedFormula
from trainlaw.validate.baselines.inputs import rows_drawn
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.time_factors import time_factors

NUMBERS_OF_RUNS = (1, 3, 5)
DRAWS = 20
_MOST_ROWS_PER_GROUP = 250
#: Bars: points that calibration may cost on average in any precision; percent that three runs must gain.
MOST_WORSE, LEAST_GAIN = 0.5, 15.0


def laws_without(
    formula: Formula, rows: FormulaRows, seconds: np.ndarray, groups: np.ndarray
) -> dict[str, Formula]:
    """Return the formula fitted without each GPU group, by its name."""
    X, found = pd.DataFrame(dict(rows.columns)), {}
    for group in np.unique(groups):
        others = np.flatnonzero(groups != group)
        others = others[rows_drawn(groups[others], _MOST_ROWS_PER_GROUP)]
        fitted = RefittedFormula(formula).fit(X.iloc[others], seconds[others], groups[others])
        found[str(group)] = fitted.formula_
    return found


def errors_of(
    law: Formula, rows: FormulaRows, seconds: np.ndarray, count: int, *, draws: int, seed: int
) -> tuple[float, float]:
    """Return the errors before and after calibration with `count` runs, percent, means over draws."""
    before, after = [], []
    for draw in range(draws):
        order = np.random.default_rng([seed, count, draw]).permutation(len(seconds))
        few, rest = order[:count], order[count:]
        factors = time_factors(law, _some(rows, few), seconds[few])
        calibrated, others = replace(law, expression=factors.apply(law)), _some(rows, rest)
        before.append(mape_percent(seconds[rest], others.predict(law)))
        after.append(mape_percent(seconds[rest], others.predict(calibrated)))
    return float(np.mean(before)), float(np.mean(after))


def _some(rows: FormulaRows, chosen: np.ndarray) -> FormulaRows:
    columns = {name: values[chosen] for name, values in rows.columns.items()}
    return FormulaRows(columns, np.ones(len(chosen), dtype=bool))


def measured(draws: int = DRAWS) -> pd.DataFrame:
    """Return one row per GPU group, precision and number of runs: group, precision, runs, before, after."""
    table, law = load("default", RunTable), load_formula(BUILT_IN)
    rows, seconds = formula_rows(law, table), table.seconds
    labels = table.labels()
    groups, precisions = (labels[name].to_numpy(str) for name in ("gpu_group", "precision"))
    found = []
    for group, held_out in laws_without(law, rows, seconds, groups).items():
        for precision in np.unique(precisions[groups == group]):
            inside = np.flatnonzero((groups == group) & (precisions == precision))
            for count in NUMBERS_OF_RUNS:
                if len(inside) > count:
                    part = held_out, _some(rows, inside), seconds[inside]
                    found.append(
                        (
                            group,
                            str(precision),
                            count,
                            *errors_of(*part, count, draws=draws, seed=int(inside[0])),
                        )
                    )
    return pd.DataFrame(found, columns=["group", "precision", "runs", "before", "after"])


def main() -> None:
    """Print the mean over GPU groups by precision and number of runs, and whether the bars hold."""
    found = measured(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS)
    by_precision = found.groupby(["precision", "runs"])[["before", "after"]].mean()
    overall = found.groupby("runs")[["before", "after"]].mean()
    overall.index = pd.MultiIndex.from_product([["all"], overall.index])
    means = pd.concat([by_precision, overall])
    means["gain_percent"] = 100 * (1 - means["after"] / means["before"])
    print(means.round(1).to_string())
    worst = float((means["after"] - means["before"]).max())
    gains = means.xs(3, level=1)["gain_percent"]
    print(f"largest increase {worst:+.1f} points (at most {MOST_WORSE}); least gain of three runs "
          f"{gains.min():.1f} % (at least {LEAST_GAIN:g}), in all {gains['all']:.1f} %")  # fmt: skip


if __name__ == "__main__":
    main()
