"""Whether forward passes help in two further ways: `python -m benchmarks.forward_transfer`.

Deviation by architecture: a forest learns from the shares of a CNN by how much its forward passes deviate
from their formula; a power of it, fitted to training runs, corrects the times of the skeleton of training.
Forward parts: each part of a formula of forward passes, times a factor per precision fitted to training runs.
Formulas are fitted without a search. A GPU or family that is held out takes its forward passes along.
"""

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from trainlaw.app.studies import skeleton
from trainlaw.app.studies.forward_skeleton import FLOORS, FORWARD_BRACKETS, FORWARD_NAMES, ForwardSearch
from trainlaw.app.studies.search import fitted_only
from trainlaw.datasets import load
from trainlaw.evolve import SearchSettings

from benchmarks.cnn_shares import forest, shares
from benchmarks.forward_evidence import _FAMILY, _GPU, _Rows, ways_out

_SETTINGS = SearchSettings(evaluations=1, max_constants=30)


class _Passes:
    """The forward passes: features, seconds, groups, and shares of their CNNs."""

    def __init__(self) -> None:
        table = load("forward")
        self.table, self.seconds, self.shares = table, table.seconds, shares(table)
        self.names = list(dict.fromkeys((*FORWARD_NAMES, "is_tensor_precision", "bytes_per_element")))
        self.X, labels = table.features(self.names), table.labels()
        self.gpus, self.families = _GPU(labels), _FAMILY(labels)

    def formula(self, rows: np.ndarray) -> ForwardSearch:
        """Return a formula fitted to some passes."""
        search: ForwardSearch = fitted_only(ForwardSearch, _SETTINGS)()
        return search.fit(self.X[rows], self.seconds[rows], self.gpus[rows])


def deviations(passes: _Passes, rows: np.ndarray, of: pd.DataFrame, families: np.ndarray) -> np.ndarray:
    """Return ln(time / formula) by architecture for CNNs with these shares, learned from other families."""
    found, every = np.zeros(len(of)), np.unique(np.r_[families, passes.families])
    part_of = np.random.default_rng(0).permutation(len(every)) % 6
    for part in range(6):
        held = every[part_of == part]
        used = rows & ~np.isin(passes.families, held)
        residual = np.log(passes.seconds[used] / passes.formula(used).predict(passes.X[used]))
        frame = passes.table.frame[used]
        residual -= pd.Series(residual).groupby(frame["stack"].to_numpy()).transform("median").to_numpy()
        eager = (frame["stack"] != "fused").to_numpy()
        model = forest().fit(passes.shares[used][eager], residual[eager])
        test = np.isin(families, held)
        if test.any():
            found[test] = model.predict(of[test])
    return found


def best_power(residual: np.ndarray, deviation: np.ndarray, groups: np.ndarray) -> float:
    """Return the power of the deviations that leaves the least error, mean over groups."""
    powers = np.linspace(-0.5, 1.5, 81)
    errors = [
        pd.Series(np.abs(np.exp(k * deviation - residual) - 1)).groupby(groups).mean().mean() for k in powers
    ]
    return float(powers[np.argmin(errors)])


def parts(search: ForwardSearch, X: pd.DataFrame) -> np.ndarray:
    """Return the time of each part of a formula of forward passes, (n_parts, n_runs)."""
    terms = [[name for name, _ in bracket.terms] for bracket in FORWARD_BRACKETS]
    others = [[name for names in terms if names is not own for name in names] for own in terms]
    return np.array([search.predict(X.assign(**dict.fromkeys((*rest, *FLOORS), 0.0))) for rest in others])


def by_parts(
    times: np.ndarray, classes: np.ndarray, floor: np.ndarray, rest: np.ndarray, rows: _Rows
) -> np.ndarray:
    """Return times of all runs as the parts, each times a factor per class fitted to the runs `rest`."""
    start = np.full(3 * len(times), np.log(3.0))
    weights = 1 / np.sqrt(pd.Series(rows.groups).groupby(rows.groups).transform("size").to_numpy())

    def predicted(logs: np.ndarray) -> np.ndarray:
        return np.maximum((np.exp(logs).reshape(-1, 3)[:, classes] * times).sum(axis=0), floor)

    def residuals(logs: np.ndarray) -> np.ndarray:
        apart = weights * np.log(predicted(logs) / rows.seconds)
        return np.r_[apart[rest], 0.05 * (logs - start)]

    return predicted(least_squares(residuals, start, loss="soft_l1", f_scale=0.35).x)


def main() -> None:
    """Print the mean error over GPU groups or sources for each way to hold out."""
    table, passes = load(), _Passes()
    rows, of = _Rows(table, False), shares(table)
    X = table.features([*passes.names, "host_s", "least_time_s"])
    floor = X[["host_s", "least_time_s"]].max(axis=1).to_numpy()
    classes = (
        (X["is_tensor_precision"] > 0).astype(int) + (X["bytes_per_element"] < 4).astype(int)
    ).to_numpy()
    for title, (folds, label) in ways_out(rows.labels).items():
        held_by = label(rows.labels)
        errors = {name: np.full(len(held_by), np.nan) for name in ("alone", "deviation", "parts", "both")}
        for test in folds:
            rest, held = ~np.isin(held_by, held_by[test]), held_by[test]
            used = ~np.isin(passes.gpus if label is _GPU else passes.families, held)
            fit = fitted_only(skeleton.SkeletonSearch, _SETTINGS)()
            alone = fit.fit(rows.X[rest], rows.seconds[rest], rows.groups[rest]).predict(rows.X)
            apart = deviations(passes, used, of, _FAMILY(rows.labels))
            power = best_power(np.log(rows.seconds / alone)[rest], apart[rest], rows.groups[rest])
            other = by_parts(parts(passes.formula(used), X[passes.names]), classes, floor, rest, rows)
            made = alone, alone * np.exp(power * apart), other, np.sqrt(alone * other)
            for name, times in zip(errors, made, strict=True):
                errors[name][test] = 100 * np.abs(times / rows.seconds - 1)[test]
        by = held_by if label is not _FAMILY else rows.groups
        print(
            title,
            {name: round(pd.Series(error).groupby(by).mean().mean(), 2) for name, error in errors.items()},
        )


if __name__ == "__main__":
    main()
