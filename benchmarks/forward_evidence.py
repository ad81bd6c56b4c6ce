"""Whether forward passes help to predict training: `python -m benchmarks.forward_evidence [PASSES [SEED]]`.

The skeleton of training is fitted, without a search, to training runs alone and together with forward passes;
each of its parts then has a factor for them. PASSES : of each GPU and stack, all of them by default (a fit
takes 400 at most). What is held out takes its forward passes along.
"""

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from trainlaw.app.studies import skeleton
from trainlaw.app.studies.kinds.kind import study_labels
from trainlaw.app.studies.search import fitted_only
from trainlaw.datasets import RunTable, load
from trainlaw.evolve import Factor, SearchSettings
from trainlaw.evolve.settings import EXPONENTIAL
from trainlaw.validate.splits import grouped_k_fold, newest_gpus_out

# No term of the skeleton uses this feature: here it is 1 for forward passes.
_MARK = "is_tuned_tensor"
_FACTOR = Factor(_MARK, -3.0, 0.5, expected=-1.1, kind=EXPONENTIAL)
Labels = Callable[[pd.DataFrame], np.ndarray]


class _Both(skeleton.SkeletonSearch):
    """The search on both: each part but the copy has a factor for forward passes."""

    usual_brackets = tuple(
        bracket
        if bracket.hole == "hole_copy"
        else replace(bracket, factors=(*bracket.factors, _FACTOR), required=(*bracket.required, _MARK))
        for bracket in skeleton.BRACKETS
    )


class _Rows:
    """Features, seconds, labels and groups of a table."""

    def __init__(self, table: RunTable, is_forward: bool) -> None:
        names = dict.fromkeys((*skeleton.SKELETON_NAMES, "bytes_per_element", "is_tensor_precision"))
        self.X = table.features(names).assign(**{_MARK: float(is_forward)})
        self.labels, self.seconds = study_labels(table), table.seconds
        self.groups = self.labels["gpu_group"].to_numpy(dtype=str)
        if is_forward:
            self.X[list(skeleton.FLOORS)] /= 3
            self.groups = np.char.add(self.groups, table.frame["stack"].to_numpy(dtype=str))


def _drawn(table: RunTable, passes: int, seed: int) -> RunTable:
    """Return that number of forward passes of each GPU and stack, drawn with a seed."""
    groups = table.frame.groupby(["gpu", "stack"]).ngroup().to_numpy()
    random, chosen = np.random.default_rng(seed), np.zeros(len(table), dtype=bool)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        chosen[random.choice(rows, min(passes, len(rows)), replace=False)] = True
    return table.where(chosen)


def errors(training: _Rows, forward: _Rows, folds: list[np.ndarray], of: Labels) -> dict[str, pd.Series]:
    """Return the error of each held-out group in percent, without and with forward passes."""
    own, others = of(training.labels), of(forward.labels)
    found = {name: np.full(len(own), np.nan) for name in ("without", "with")}
    settings = SearchSettings(evaluations=1, max_constants=40)  # the marks add one per part
    for test in folds:
        held = list(set(own[test]))
        rest, passes = ~np.isin(own, held), ~np.isin(others, held)
        X, y, groups = training.X[rest], training.seconds[rest], training.groups[rest]
        alone = fitted_only(skeleton.SkeletonSearch, settings)().fit(X, y, groups)
        both = fitted_only(_Both, settings)().fit(
            pd.concat([X, forward.X[passes]], ignore_index=True),
            np.append(y, forward.seconds[passes]),
            np.append(groups, forward.groups[passes]),
        )
        for name, fit in (("without", alone), ("with", both)):
            ratio = fit.predict(training.X.iloc[test]) / training.seconds[test]
            found[name][test] = 100 * np.abs(ratio - 1)
    by = own if of is not _FAMILY else training.groups
    return {name: pd.Series(error).groupby(by).mean().dropna() for name, error in found.items()}


def _label(name: str) -> Labels:
    return lambda labels: labels[name].to_numpy(dtype=str)


_GPU, _FAMILY, _SOURCE = _label("gpu_group"), _label("cnn_family"), _label("source")


def _parts(labels: np.ndarray) -> list[np.ndarray]:
    """Return five parts of the rows by whole groups, the largest groups apart."""
    order = pd.Series(labels).value_counts().index.to_numpy(dtype=str)
    return [np.flatnonzero(np.isin(labels, order[part::5])) for part in range(5)]


def ways_out(labels: pd.DataFrame) -> dict[str, tuple[list[np.ndarray], Labels]]:
    """Return test rows of each fold, and the labels that they hold out, by the title of the way."""
    newest = newest_gpus_out(labels["gpu_group"], labels["gpu_year"].astype(float))
    return {
        "GPU groups": ([split.test for split in grouped_k_fold(labels["gpu_group"], 5)], _GPU),
        "families of CNNs": (_parts(_FAMILY(labels)), _FAMILY),
        "newest GPUs": ([split.test for split in newest], _GPU),
        "sources": (_parts(_SOURCE(labels)), _SOURCE),
    }


def main(passes: int, seed: int) -> None:
    """Print the mean error over groups for each way to hold out, and how many groups gain or lose."""
    training, table = _Rows(load(), False), load("forward")
    forward = _Rows(_drawn(table, passes, seed) if passes else table, True)
    labels = training.labels
    for title, (folds, of) in ways_out(labels).items():
        found = errors(training, forward, folds, of)
        change = found["with"] - found["without"]
        print(
            f"{title:18s} without {found['without'].mean():.2f} %, with {found['with'].mean():.2f} %; "
            f"{(change < -0.3).sum()} of {len(change)} better by 0.3 points, {(change > 0.3).sum()} worse"
        )


if __name__ == "__main__":
    main(*(int(word) for word in (*sys.argv[1:], "0", "0")[:2]))
