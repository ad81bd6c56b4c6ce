"""Suggested compared with random choice on measured runs, as a Markdown table for docs/suggest.md.

python -m benchmarks.suggestion            PROFET's runs are the pool, the form comes from ten other sources
python -m benchmarks.suggestion tuning     the reverse, on which the objectives were chosen
python -m benchmarks.suggestion few        as the first, with five initial runs instead of ten

For each seed some configurations (or architectures) are held out on all GPUs, a few other runs count as
measured, the rest is the pool. Each strategy chooses, the constants of one and the same form are fitted to
what is then measured, and the held-out runs give the error. The form comes from a search on runs of other
sources, so that nothing of it knows the pool or the held-out runs. --cluster ADDRESS runs it on a cluster.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from trainlaw.app.studies.clusters import Place, task_place
from trainlaw.app.studies.skeleton import RUN_SKELETON
from trainlaw.app.suggest.candidates import Candidates, make_candidates
from trainlaw.datasets import TARGET, RunTable, feature_specs, load
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import Formula, InputError
from trainlaw.validate.bootstrap import mean_interval
from trainlaw.validate.design import Design
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.refit import RefittedFormula
from trainlaw.validate.workers import run_tasks

RANDOM, SUGGESTED = "random", "suggested"
SOURCE = "profet"
#: Labels whose rows are held out together, on all GPUs.
HELD_OUT = ("configuration", "cnn")
_FRONT_MEMBERS = 5
_REPEATS = 30


@dataclass(frozen=True)
class ReplaySettings:
    """The settings of a replay, apart from its runs.

    sizes : how many runs are chosen. seeds : repetitions with other held-out and measured runs. held_out :
    `HELD_OUT`, a third of them. start : runs that are measured at first. draws : random choices per seed,
    whose mean error counts. evaluations : of the search for the form.
    """

    sizes: tuple[int, ...] = (5, 10, 20)
    seeds: int = 20
    held_out: str = "configuration"
    start: int = 10
    draws: int = 5
    evaluations: int = 50_000


@dataclass(frozen=True, eq=False)
class Replay:
    """A finished replay.

    errors : `seed`, `size`, `strategy`, `error_percent` (MAPE on held-out runs), `cost_s` (seconds that
    measuring takes by the times measured); size 0 is the start. form : whose constants were fitted. rows :
    runs of the pool's source, of other sources.
    """

    errors: pd.DataFrame
    form: Formula
    rows: tuple[int, int]
    settings: ReplaySettings

    def differences(self, level: float = 0.95) -> pd.DataFrame:
        """Return per size and strategy the mean error, and the paired difference to random choice.

        Columns `size`, `strategy`, `error_percent`, `difference_percent`, `low`, `high` (bootstrap over
        seeds at `level`), `wins` (seeds with a lower error), `cost_s` (mean of a set).
        """
        errors = self.errors.pivot(index="seed", columns=["size", "strategy"], values="error_percent")
        costs = self.errors.groupby(["size", "strategy"])["cost_s"].mean()
        rows = []
        for size, strategy in zip(*map(errors.columns.get_level_values, (0, 1)), strict=True):
            found = errors[size, strategy]
            at_random = errors[size, RANDOM] if (size, RANDOM) in errors else found
            mean, low, high = mean_interval(found - at_random, level, resamples=2000)
            wins = int((found < at_random).sum())
            rows.append((size, strategy, found.mean(), mean, low, high, wins, costs[size, strategy]))
        names = "size strategy error_percent difference_percent low high wins cost_s"
        return pd.DataFrame(rows, columns=names.split())


@dataclass(frozen=True, eq=False)
class _Runs:
    """Features (n, k), seconds (n,), GPU groups (n,), and labels of rows held out together (n,)."""

    X: pd.DataFrame
    y: np.ndarray
    groups: np.ndarray
    units: np.ndarray

    def part(self, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
        """Features, seconds and groups of some rows."""
        return self.X.iloc[rows], self.y[rows], self.groups[rows]


@dataclass(frozen=True, eq=False)
class _Stage:
    """One seed: rows measured, to choose from, and held out; the fit before any choice."""

    runs: _Runs
    measured: np.ndarray
    pool: np.ndarray
    held_out: np.ndarray
    candidates: Candidates
    generator: np.random.Generator = field(repr=False)


def replayed(
    runs: RunTable,
    inside: np.ndarray,
    settings: ReplaySettings,
    place: Place | None = None,
) -> Replay:
    """Replay suggestions on the runs `inside`, bool (n_runs,), with a form searched on the other runs.

    place : where the search and the seeds run; None for this process.
    InputError where there are too few runs on either side.
    """
    where, others = place or Place(), runs.where(~inside)
    data = (
        others.features(RUN_SKELETON.names),
        others.seconds,
        others.labels()["gpu_group"].to_numpy(dtype=str),
    )
    ((form, members),) = run_tasks(_searched, [settings.evaluations], shared=data, **where)
    own = _runs_of(runs.where(inside), settings.held_out)
    least = settings.start + max(settings.sizes)
    if len(own.y) < 3 * least:
        raise InputError(f"expected at least {3 * least} runs to replay on, got {len(own.y)}")
    shared = (own.X, own.y, own.groups, own.units)
    tasks = [(seed, form, members, settings) for seed in range(settings.seeds)]
    found = list(run_tasks(_replayed_seed, tasks, shared=shared, **where))
    rows = [row for part in sorted(found) for row in part]
    errors = pd.DataFrame(rows, columns=["seed", "size", "strategy", "error_percent", "cost_s"])
    return Replay(errors, form, (len(own.y), int((~inside).sum())), settings)


def _replayed_seed(
    task: tuple[int, Formula, tuple[Formula, ...], ReplaySettings],
    X: pd.DataFrame,
    y: np.ndarray,
    groups: np.ndarray,
    units: np.ndarray,
) -> list[tuple[int, int, str, float, float]]:
    """The rows of one seed; a function of plain data, which can be sent elsewhere."""
    seed, form, members, settings = task
    stage = _stage(_Runs(X, y, groups, units), form, members, settings, seed)
    return [(seed, *row) for row in _errors(stage, form, settings, seed)]


def _searched(
    evaluations: int, X: pd.DataFrame, seconds: np.ndarray, groups: np.ndarray
) -> tuple[Formula, tuple[Formula, ...]]:
    """The formula that a search chooses on these runs, and those of its front that hold out best."""
    settings = SearchSettings(evaluations=evaluations, islands=2, population=200)
    search = FormulaRegressor(feature_specs(RUN_SKELETON.names), TARGET, settings)
    search.fit(X, seconds, groups=groups)
    members = sorted(search.front_, key=lambda member: member.validation_loss or np.inf)[:_FRONT_MEMBERS]
    return search.formula_, tuple(member.formula for member in members)


def _runs_of(runs: RunTable, held_out: str) -> _Runs:
    labels, frame = runs.labels(), runs.frame
    # The same configuration on another GPU would give away the held-out one.
    keys = frame[["cnn", "input_size_px", "n_classes", "batch_per_gpu"]].astype(str).agg("|".join, axis=1)
    units = labels["cnn_base"] if held_out == "cnn" else keys
    groups = labels["gpu_group"].to_numpy(dtype=str)
    return _Runs(runs.features(RUN_SKELETON.names), runs.seconds, groups, units.to_numpy(dtype=str))


def _stage(
    runs: _Runs, form: Formula, members: tuple[Formula, ...], settings: ReplaySettings, seed: int
) -> _Stage:
    generator = np.random.default_rng(seed)
    units = generator.permutation(np.unique(runs.units))
    held_out = np.isin(runs.units, units[: max(1, len(units) // 3)])
    rest = generator.permutation(np.flatnonzero(~held_out))
    measured, pool = rest[: settings.start], rest[settings.start :]
    fitted = RefittedFormula(form).fit(*runs.part(measured))
    X = runs.X.iloc[pool]
    cost_s = _REPEATS * fitted.predict(X)
    candidates = make_candidates(fitted, members, runs.part(measured), X, cost_s, seed=seed)
    return _Stage(runs, measured, pool, np.flatnonzero(held_out), candidates, generator)


def _errors(
    stage: _Stage, form: Formula, settings: ReplaySettings, seed: int
) -> Iterator[tuple[int, str, float, float]]:
    """Size, strategy, error of the held-out runs in percent, and seconds of measuring the set."""

    def error(chosen: list[int]) -> float:
        rows = np.concatenate([stage.measured, stage.pool[np.asarray(chosen, dtype=np.intp)]])
        fitted = RefittedFormula(form).fit(*stage.runs.part(rows))
        predicted = fitted.predict(stage.runs.X.iloc[stage.held_out])
        return mape_percent(stage.runs.y[stage.held_out], predicted)

    yield 0, "start", error([]), 0.0
    for size in settings.sizes:
        for strategy, sets in _choices(stage, size, settings.draws, seed).items():
            costs = [_REPEATS * stage.runs.y[stage.pool[chosen]].sum() for chosen in sets]
            yield size, strategy, float(np.mean([error(s) for s in sets])), float(np.mean(costs))


def _choices(stage: _Stage, size: int, draws: int, seed: int) -> Mapping[str, list[list[int]]]:
    """The sets that each strategy chooses, as positions in the pool; random choice several times."""
    candidates, amount = stage.candidates, len(stage.pool)
    scale = np.maximum(candidates.amounts.std(axis=0), 1e-9)
    return {
        RANDOM: [stage.generator.choice(amount, size, replace=False).tolist() for _ in range(draws)],
        "space-filling": [space_filling(candidates.measured / scale, candidates.amounts / scale, size)],
        SUGGESTED: [candidates.best_set(size, seed)],
        "representation": [candidates.representation.greedy(size)],
        "least variance": [candidates.design.greedy(size)],
        "disagreement": [Design(candidates.doubts, candidates.design.noise).greedy(size)],
    }


def space_filling(measured: np.ndarray, candidates: np.ndarray, size: int) -> list[int]:
    """Return `size` candidates, each the farthest from all rows measured or chosen before it (maximin).

    measured, candidates : positions, shapes (n_measured, d) and (n_candidates, d), on comparable scales.

    >>> space_filling(np.array([[0.0]]), np.array([[1.0], [4.0], [5.0]]), 2)
    [2, 0]
    """
    nearest = np.full(len(candidates), np.inf)
    for row in measured:
        nearest = np.minimum(nearest, np.square(candidates - row).sum(axis=1))
    chosen: list[int] = []
    for _ in range(min(size, len(candidates))):
        nearest[chosen] = -np.inf
        best = int(np.argmax(nearest))
        chosen.append(best)
        nearest = np.minimum(nearest, np.square(candidates - candidates[best]).sum(axis=1))
    return chosen


def replay_of(held_out: str, tuning: bool = False, start: int = 10, place: Place | None = None) -> Replay:
    """Return the replay with PROFET's runs as pool, or with those of all other sources if `tuning`."""
    runs = load("fp32-2026")
    inside = (runs.frame["source"] == SOURCE).to_numpy() != tuning
    return replayed(runs, inside, ReplaySettings(held_out=held_out, start=start), place=place)


def markdown(replay: Replay) -> str:
    """Return a line per strategy: error, and difference from random choice with 95 % interval, by size."""
    table = replay.differences()
    sizes = replay.settings.sizes
    header = ["chosen by", *(f"k = {size}" for size in sizes)]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for strategy in table.loc[table["size"] == sizes[0], "strategy"]:
        cells = []
        for size in sizes:
            (row,) = table[(table["size"] == size) & (table["strategy"] == strategy)].itertuples()
            against = f", {row.difference_percent:+.2f} ({row.low:+.2f} to {row.high:+.2f})"
            cells.append(f"{row.error_percent:.2f}{'' if strategy == RANDOM else against}")
        lines.append(f"| {strategy} | {' | '.join(cells)} |")
    start = table.loc[table["size"] == 0, "error_percent"].item()
    return "\n".join([f"form: {replay.form.text()}", f"error at the start: {start:.2f} %", "", *lines])


def main() -> None:
    """Print a table for each kind of held-out runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=("tuning", "few"), default=[])
    parser.add_argument("--cluster", default="", help="tcp://HOST:PORT, local:N or a TOML file")
    given = parser.parse_args()
    start = 5 if "few" in given.parts else 10
    with task_place(given.cluster) as place:
        for held_out in HELD_OUT:
            replay = replay_of(held_out, "tuning" in given.parts, start, place)
            print(f"\nheld out: {held_out}\n\n{markdown(replay)}")


if __name__ == "__main__":
    main()
