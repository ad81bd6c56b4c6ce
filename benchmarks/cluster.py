"""How a study scales with the workers of a cluster: a simulation from measured times and sizes of tasks.

python -m benchmarks.cluster [--of runs] [--split gpu] [--seeds 3] [--latency-ms 5] [--megabytes-per-s 100]

One fold of the kind's table is fitted here by every estimator for the times; tables, tasks and results are
pickled for the sizes. The simulation hands tasks out in the order of a study: folds first, then generations
that are held out, which wait for the folds; the search on all rows runs meanwhile.

Where a search has several islands, their times and sizes between two exchanges are measured, too. The last
column is the time of a study that sends each island to another worker, where there are enough of them.
"""

import argparse
import heapq
import pickle
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.splits import defined_splits
from trainlaw.app.text.tables import text_table
from trainlaw.datasets import load
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.validate.guard import fold_secrets
from trainlaw.validate.study import FoldTable, FoldTask, run_fold

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000)
OURS = "trainlaw"
# The scheduler of dask takes about this long per task (its documentation, "Efficiency").
SCHEDULER_SECONDS = 1e-3
_FEW = 200  # formulas


@dataclass(frozen=True)
class Load:
    """The tasks of a study.

    folds, generations : seconds of each task. table_bytes : what each worker needs once. task_bytes : of one
    task and its result. islands : of each search, None where it has only one.
    """

    folds: tuple[float, ...]
    generations: tuple[float, ...]
    on_all_rows: float
    table_bytes: int
    task_bytes: int
    islands: "Islands | None" = None


@dataclass
class Islands:
    """An executor that advances the islands of a search here and measures them.

    exchanges : so far. together_s, apart_s : seconds of all islands one after another, and of the slowest
    between each two exchanges. moved_bytes : of islands, on their way to workers and back.
    """

    exchanges: int = 0
    together_s: float = 0.0
    apart_s: float = 0.0
    moved_bytes: int = 0

    def map(self, function, arguments, islands, *further):
        """Return the results of `function` for each island, in order."""
        seconds, found = [], []
        for each in zip(arguments, islands, *further, strict=True):
            began = time.process_time()
            found.append(function(*each))
            seconds.append(time.process_time() - began)
            self.moved_bytes += len(pickle.dumps(each[1])) + len(pickle.dumps(found[-1]))
        self.exchanges += len(seconds) > 1
        self.together_s += sum(seconds)
        self.apart_s += max(seconds)
        return found

    def spread(self, seconds: float, latency_s: float, byte_per_s: float) -> float:
        """Return how long a search of `seconds` takes with each island on another worker."""
        way = self.exchanges * (2 * latency_s + SCHEDULER_SECONDS) + self.moved_bytes / byte_per_s
        return seconds - self.together_s + self.apart_s + way


def measured_load(of: str, split: str, seeds: int) -> Load:
    """Return the load of a study of the kind's table, from one fold that is fitted here."""
    kind = STUDY_KINDS[of]
    table = load(StudyDefinition(**kind.defaults).table)
    rows = kind.rows(table)
    splits = defined_splits(StudyDefinition(split=split), rows.labels, table.name)
    generations = defined_splits(StudyDefinition(split="generation"), rows.labels, table.name)
    against = kind.available_baselines(StudyDefinition(**kind.defaults).against)[0]
    evaluations = StudyDefinition(**kind.defaults).evaluations
    # As every study has them.
    search = kind.search(rows, SearchSettings(evaluations=evaluations, islands=2, population=200))
    shared = FoldTable(rows.X.reset_index(drop=True), rows.groups, rows.labels.astype(str))
    seconds, sizes, first = {}, [], splits[0]
    few = kind.search(rows, SearchSettings(evaluations=_FEW, islands=2, population=200))
    run_fold(_task(first, OURS, few, rows, shared), shared)  # compiles
    for name, factory in {OURS: search, **against}.items():
        task = _task(first, name, factory, rows, shared)
        began = time.process_time()
        outcome = run_fold(task, shared)
        seconds[name] = time.process_time() - began
        sizes.append(len(pickle.dumps(task)) + len(pickle.dumps(outcome)))
    print(
        "seconds of a processor per fit: "
        + ", ".join(f"{name} {value:.2f}" for name, value in seconds.items())
    )
    of_fold = (seconds[OURS],) * seeds + tuple(seconds[name] for name in against)
    return Load(
        of_fold * len(splits),
        (seconds[OURS],) * len(generations),
        seconds[OURS],
        len(pickle.dumps(shared)),
        int(np.mean(sizes)),
        _measured_islands(search(), rows, first.train),
    )


def _measured_islands(estimator, rows, train: np.ndarray) -> Islands | None:
    """Measure the islands of a search; None where it has only one."""
    if not isinstance(estimator, FormulaRegressor):
        # Searches within a skeleton have one island.
        return None
    estimator.executor = islands = Islands()
    estimator.fit(rows.X.iloc[train], rows.seconds[train], rows.groups[train])
    return islands if islands.exchanges else None


def _task(split, name, factory, rows, shared) -> FoldTask:
    secrets = fold_secrets(shared.X, rows.seconds, split)
    return FoldTask(split.name, name, factory, split.train, split.test, rows.seconds[split.train], secrets)


def spread(load: Load, workers: int, latency_s: float, byte_per_s: float) -> Load:
    """Return the load of a study that spreads the islands of its searches over idle workers."""

    def faster(seconds: Sequence[float]) -> tuple[float, ...]:
        if load.islands is None or workers < 2 * len(seconds):
            return tuple(seconds)
        apart = load.islands.spread(load.on_all_rows, latency_s, byte_per_s)
        return tuple(apart if each == load.on_all_rows else each for each in seconds)

    on_all_rows, *folds = faster((load.on_all_rows, *load.folds))
    return replace(load, on_all_rows=on_all_rows, folds=tuple(folds), generations=faster(load.generations))


def simulated(load: Load, workers: int, latency_s: float, byte_per_s: float) -> tuple[float, float]:
    """Return seconds and bytes moved of a study on a number of workers."""
    # Workers pass the table on, so its copies double in each round.
    rounds = int(np.ceil(np.log2(workers + 1)))
    ready = rounds * load.table_bytes / byte_per_s
    free = [ready] * workers
    heapq.heapify(free)
    now, ended = 0.0, ready
    for number, phase in enumerate(((load.on_all_rows, *load.folds), load.generations)):
        if number:
            # Generations wait for all folds.
            free = [max(moment, ended) for moment in free]
            now = ended
        for seconds in phase:
            now += SCHEDULER_SECONDS
            begin = max(heapq.heappop(free), now) + latency_s
            end = begin + load.task_bytes / byte_per_s + seconds
            heapq.heappush(free, end)
            ended = max(ended, end)
    tasks = 1 + len(load.folds) + len(load.generations)
    return ended, float(min(workers, tasks) * load.table_bytes + tasks * load.task_bytes)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print time, speed-up and bytes moved for 1 to 1,000 workers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", default="runs", choices=STUDY_KINDS)
    parser.add_argument("--split", default="gpu")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--latency-ms", type=float, default=5.0)
    parser.add_argument("--megabytes-per-s", type=float, default=100.0)
    options = parser.parse_args(arguments)
    load_of_study = measured_load(options.of, options.split, options.seeds)
    tasks = 1 + len(load_of_study.folds) + len(load_of_study.generations)
    print(
        f"{tasks} tasks, table {load_of_study.table_bytes / 1e6:.1f} MB, "
        f"task and result {load_of_study.task_bytes / 1e3:.0f} kB"
    )
    if islands := load_of_study.islands:
        print(
            f"islands: {islands.exchanges} exchanges, {islands.moved_bytes / 1e6:.1f} MB moved, "
            f"{islands.together_s:.1f} s together, {islands.apart_s:.1f} s apart"
        )
    rows, one = [], 0.0
    for workers in WORKERS:
        place = workers, 1e-3 * options.latency_ms, 1e6 * options.megabytes_per_s
        seconds, moved = simulated(load_of_study, *place)
        apart, _ = simulated(spread(load_of_study, *place), *place)
        one = one or seconds
        rows.append([workers, f"{seconds:.1f}", f"{one / seconds:.1f}", f"{moved / 1e6:.0f}", f"{apart:.1f}"])
    print(text_table(["workers", "time, s", "speed-up", "moved, MB", "islands apart, s"], rows))


if __name__ == "__main__":
    main()
