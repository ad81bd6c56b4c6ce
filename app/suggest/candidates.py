"""Suggest measurements: the set of configurations whose measurement should improve a formula.

The set is evolved by three scores: how well the measured runs then represent all candidates, the share of the
variance left by the constants that it removes, and its cost. The first leads: among the scores replayed on
runs of ten sources it gave the lowest error (docs/suggest.md). Pinel et al., "Evolving a deep neural network
training time estimator", 2020, also evolve the set to measure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.inputs.run_folder import FRONT_FOLDER
from trainlaw.app.inputs.run_tables import find_table
from trainlaw.app.inputs.used_formula import ONE_GPU, used_formulas
from trainlaw.app.models.doubts import trusted
from trainlaw.app.models.scopes import check_scope, handling
from trainlaw.app.models.user_formula import find_formula
from trainlaw.app.studies.definition import definition_of, read_definition
from trainlaw.app.suggest.options import SuggestOptions
from trainlaw.app.text.steps import OnStep, part_of, unseen
from trainlaw.datasets import DATASETS, RunTable
from trainlaw.datasets.measurements.formula_rows import feature_rows
from trainlaw.evolve.search.subset import evolve_subsets
from trainlaw.formulas import Formula, InputError, load_formula
from trainlaw.formulas.scopes import LAYER, MULTI_GPU_RUN, RUN
from trainlaw.validate.bootstrap import drawn_rows
from trainlaw.validate.design import Design, Representation, standardised_slopes
from trainlaw.validate.error_table import MACRO
from trainlaw.validate.formula_errors import overall_error
from trainlaw.validate.refit import RefittedFormula
from trainlaw.validate.result import OURS

# Formulas of the front that disagree usefully: within a quarter of the least held-out error, and few, since
# each is fitted again to every resample.
_NEAR, _MOST = 1.25, 6


@dataclass(frozen=True, eq=False)
class StudiedFront:
    """A chosen formula, its near equals on the front, the measured runs, and their origin."""

    chosen: Formula
    near_equals: tuple[Formula, ...]
    measured: RunTable
    origin: str


def find_front(options: SuggestOptions, folder: Path) -> StudiedFront:
    """Return the front of the formula of the options: the given one, that in use in `folder`, or built in.

    The runs are those of the study, unless others are given. InputError for a formula without runs on one
    GPU, or whose runs are not known.
    """
    given, runs = options.front, options.runs
    chosen, origin = find_formula(given, folder)
    check_scope(chosen, RUN, LAYER, MULTI_GPU_RUN, origin=origin)
    place = _run_folder(given, folder)
    if runs is None:
        table = _runs_of_study(place, chosen, origin)
    else:
        table = find_table(runs, options.gpu_file, options.cnn_file)
        table = trusted(table, options.trust or runs in DATASETS)
    return StudiedFront(chosen, _near_best(place) if place else (), table, origin)


def _run_folder(given: Path | None, folder: Path) -> Path | None:
    """The run folder that a formula lies in, None where it lies elsewhere."""
    used = used_formulas(folder).get(ONE_GPU) if given is None else given
    if used is None:
        return None
    path = folder / used
    place = path if path.is_dir() else path.parent
    return place if (place / "provenance.json").is_file() else None


def _near_best(place: Path) -> tuple[Formula, ...]:
    """The formulas of a run folder's front whose held-out error is near the best one's, the best first."""
    laws = [load_formula(path) for path in sorted((place / FRONT_FOLDER).glob("*.json"))]
    nearest = sorted(laws, key=_held_out_percent)[:_MOST]
    return tuple(law for law in nearest if _held_out_percent(law) <= _NEAR * _held_out_percent(nearest[0]))


def _held_out_percent(law: Formula) -> float:
    error = overall_error(law, OURS, MACRO)
    return error if math.isfinite(error) else math.inf


def _runs_of_study(place: Path | None, chosen: Formula, origin: str) -> RunTable:
    if place and (definition := place / "study.toml").is_file():
        study = definition_of(read_definition(definition), str(definition))
        gpus, cnns = study.gpu_file, map(Path, study.cnn_file)
        return find_table(study.table, None if not gpus else Path(gpus), cnns)
    table = str(chosen.provenance.get("table", ""))
    if table not in DATASETS:
        raise InputError(f"{origin}: its runs are not known; name the measured ones with --runs")
    return find_table(table)


# Share of the best representation that a cheaper set with no less variance removed must reach.
_NEAR_BEST = 0.98
_RESAMPLES = 4  # with up to seven formulas 35 fits, which take seconds
# Weight of the deviations among the front's formulas, relative to slopes, in the distance of two runs: chosen
# by trial on the pools for tuning (docs/suggest.md).
_DISAGREEMENT_WEIGHT = 0.5
# Groups of GPUs below which runs are resampled one by one.
_LEAST_GROUPS = 3


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations to choose from.

    representation : how well runs stand for them. design : the uncertainty of their times. doubts :
    deviations of the fits of the front, (n, n_fits); the squares of a row sum to the variance of
    ln(predicted seconds). amounts : ln of the formula's features, (n, d). measured : the same of the measured
    runs, (n_measured, d). cost_s : seconds of measuring each, (n,).
    """

    representation: Representation
    design: Design
    doubts: np.ndarray
    amounts: np.ndarray
    measured: np.ndarray
    cost_s: np.ndarray

    def covered(self, rows: Sequence[int]) -> float:
        """Return how much of the features' ranges is covered once these rows are measured, 0 to 1.

        The mean over features. A range spans the measured runs and all candidates.
        """
        taken = np.vstack([self.measured, self.amounts[np.asarray(rows, dtype=np.intp)]])
        whole = np.ptp(np.vstack([self.measured, self.amounts]), axis=0)
        known = whole > 0
        return float(np.mean(np.ptp(taken, axis=0)[known] / whole[known])) if known.any() else 1.0

    def best_set(self, size: int, seed: int = 0) -> list[int]:
        """Return the set of `size` to measure, as positions, the most representative first.

        It is the cheapest of the evolved sets with at least 98 % of the best representation and no less
        variance removed.
        """

        def scores(rows: np.ndarray) -> tuple[float, float, float]:
            chosen: list[int] = rows.tolist()
            removed = self.design.variance_removed(chosen)
            return self.representation.share(chosen), removed, -float(self.cost_s[rows].sum())

        nearest = self.representation.exchanged(self.representation.greedy(size))
        starts = [nearest, self.design.greedy(size)]
        found = evolve_subsets(scores, len(self.cost_s), size, starts, random_seed=seed)
        best = found[0].scores
        near = [
            subset
            for subset in found
            if subset.scores[0] >= _NEAR_BEST * best[0] and subset.scores[1] >= best[1]
        ]
        return self.in_order(max(near, key=lambda subset: subset.scores[2]).rows)

    def in_order(self, rows: Sequence[int]) -> list[int]:
        """Return the rows of a set, each the most representative after those before it."""
        left, ordered = list(rows), list[int]()
        while left:
            worth = [self.representation.share([*ordered, row]) for row in left]
            ordered.append(left.pop(int(np.argmax(worth))))
        return ordered


@dataclass(frozen=True)
class Suggestion:
    """One configuration to measure and why.

    row : its position in the pool. predicted_s : time of an iteration. cost_s : of measuring it. represents :
    share of the distance between candidates and measured runs that it removes, after those before it.
    uncertainty, disagreement : relative, of its prediction: by the formula's constants, and among the
    formulas of the front fitted to resampled runs. new : features beyond the measured ranges, with the
    factor beyond, the farthest first.
    """

    row: int
    predicted_s: float
    cost_s: float
    represents: float
    uncertainty: float
    disagreement: float
    new: tuple[tuple[str, float], ...]

    @property
    def percents(self) -> tuple[float, ...]:
        """What it represents, its uncertainty and the disagreement, in percent."""
        return tuple(100 * share for share in (self.represents, self.uncertainty, self.disagreement))


@dataclass(frozen=True)
class Suggestions:
    """Configurations in the order of their worth.

    covered : share of the features' ranges, before and after. represented, removed : shares
    that they remove of the distance between candidates and measured runs, and of the variance of the
    predicted times.
    """

    members: tuple[Suggestion, ...]
    covered: tuple[float, float]
    represented: float
    removed: float


def suggested_runs(
    front: StudiedFront,
    pool: RunTable,
    size: int,
    repeats: int = 30,
    *,
    seed: int = 0,
    on_step: OnStep = unseen,
) -> Suggestions:
    """Return the `size` configurations of `pool` to measure next.

    repeats : iterations of a measurement, warm-up included. on_step : called when a step begins.
    InputError where the formula has no time for a measured run or a configuration, or the pool is smaller
    than `size`.
    """
    if size > len(pool):
        raise InputError(f"expected to choose at most the {len(pool)} configurations of the pool, got {size}")
    on_step("features", 0.0)
    both = front.measured.merged(pool)
    layers = handling(front.chosen).cnn_layers(both)
    used = {spec.name for law in (front.chosen, *front.near_equals) for spec in law.used_features}
    X, of_pool = both.features(None if layers else sorted(used)), np.arange(len(both)) >= len(front.measured)
    y, groups = front.measured.seconds, front.measured.labels()["gpu_group"].to_numpy(dtype=str)
    fitted = RefittedFormula(front.chosen, layers).fit(X[~of_pool], y, groups)
    predicted = fitted.predict(X)
    measured = X[~of_pool], y, groups
    cost_s = repeats * predicted[of_pool]
    candidates = make_candidates(
        fitted, front.near_equals, measured, X[of_pool], cost_s, seed=seed, on_step=part_of(on_step, 0.2, 0.8)
    )
    on_step("choosing the set", 0.8)
    chosen = candidates.best_set(size, seed)
    return _suggestions(
        candidates, chosen, predicted[of_pool], [s.name for s in fitted.formula_.used_features]
    )


#: Features, seconds and GPU groups of measured runs.
Measured = tuple[pd.DataFrame, np.ndarray, np.ndarray]


def make_candidates(
    fitted: RefittedFormula,
    near_equals: Sequence[Formula],
    measured: Measured,
    pool: pd.DataFrame,
    cost_s: np.ndarray,
    *,
    seed: int = 0,
    on_step: OnStep = unseen,
) -> Candidates:
    """Return the candidates with features `pool`, for a formula that was fitted to the measured runs.

    near_equals : further formulas of its front. cost_s : seconds of measuring each candidate. seed : of
    resamples. on_step : called before each fit.
    """
    X, y, _ = measured
    residuals = np.log(fitted.predict(X) / y)
    slopes, spread, noise = standardised_slopes(fitted.log_slopes(X), fitted.log_slopes(pool), residuals)
    both = pd.concat([X, pool])
    doubts = _disagreements(fitted, near_equals, measured, both, seed=seed, on_step=on_step)
    known, unknown = doubts[: len(X)], doubts[len(X) :]
    representation = Representation.of(
        np.hstack([slopes, _DISAGREEMENT_WEIGHT * known]), np.hstack([spread, _DISAGREEMENT_WEIGHT * unknown])
    )
    everything = _amounts(fitted, both)
    # What a CNN lacks is 0, which has no logarithm; a thousandth of the median replaces it.
    least = [1e-3 * np.median(column[column > 0]) if (column > 0).any() else 1.0 for column in everything.T]
    logs: np.ndarray = np.log(np.maximum(everything, least))
    amounts = logs[len(X) :], logs[: len(X)]
    return Candidates(representation, Design(spread, noise), unknown, *amounts, np.asarray(cost_s))


def _amounts(fitted: RefittedFormula, X: pd.DataFrame) -> np.ndarray:
    """The formula's features of each run, (n_runs, d); for a formula of one layer their sums."""
    rows = feature_rows(X, [spec.name for spec in fitted.formula_.used_features], fitted.cnn_layers)
    return np.column_stack([rows.per_run(column) for column in rows.run_features(fitted.formula_).values()])


def _disagreements(
    fitted: RefittedFormula,
    near_equals: Sequence[Formula],
    measured: Measured,
    X: pd.DataFrame,
    *,
    seed: int,
    on_step: OnStep,
) -> np.ndarray:
    """Deviations of ln(predicted seconds) from their mean, over the root of their number, (n_rows, n_fits).

    A fit is one of a formula to the runs or to resampled ones; whole groups are drawn where there are enough.
    """
    known, y, groups = measured
    units = groups if len(np.unique(groups)) >= _LEAST_GROUPS else np.arange(len(y))
    draws = [np.arange(len(y)), *drawn_rows(units, _RESAMPLES, seed)]
    todo, fits = list(product((fitted.formula_, *near_equals), draws)), []
    for number, (formula, rows) in enumerate(todo):
        on_step(f"fit {number + 1} of {len(todo)} to resampled runs", number / len(todo))
        fits.append(RefittedFormula(formula, fitted.cnn_layers).fit(known.iloc[rows], y[rows], groups[rows]))
    with np.errstate(all="ignore"):
        logs = np.column_stack([np.log(fit.predict(X)) for fit in fits])
    # Another formula may have no time where the chosen one has.
    logs = logs[:, np.isfinite(logs).all(axis=0)]
    deviations: np.ndarray = (logs - logs.mean(axis=1, keepdims=True)) / np.sqrt(logs.shape[1])
    return deviations


def _suggestions(
    candidates: Candidates, chosen: Sequence[int], predicted: np.ndarray, names: Sequence[str]
) -> Suggestions:
    disagreement = np.sqrt(np.square(candidates.doubts).sum(axis=1))
    low, high, reached = candidates.measured.min(axis=0), candidates.measured.max(axis=0), 0.0
    members = []
    for number, row in enumerate(chosen):
        amounts = candidates.amounts[row]
        beyond = np.maximum(amounts - high, low - amounts)
        far = sorted(np.flatnonzero(beyond > 0).tolist(), key=lambda place: -beyond[place])
        so_far = candidates.representation.share(chosen[: number + 1])
        members.append(
            Suggestion(
                row=int(row),
                predicted_s=float(predicted[row]),
                cost_s=float(candidates.cost_s[row]),
                represents=so_far - reached,
                uncertainty=float(np.expm1(candidates.design.deviations[row])),
                disagreement=float(np.expm1(disagreement[row])),
                new=tuple((names[place], float(np.exp(beyond[place]))) for place in far),
            )
        )
        reached, low, high = so_far, np.minimum(low, amounts), np.maximum(high, amounts)
    covered = candidates.covered([]), candidates.covered(chosen)
    return Suggestions(tuple(members), covered, reached, candidates.design.variance_removed(chosen))
