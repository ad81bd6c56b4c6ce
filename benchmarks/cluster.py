"""How a study scales with the workers of a cluster: a simulation from measured times and sizes of tasks.

python -m benchmarks.cluster [--split gpu] [--seeds 3] [--latency-ms 5] [--megabytes-per-s 100]

One fold of the default table is fitted here by every estimator for the times; tables, tasks and results are
pickled for the sizes. The simulation hands tasks out in the order of a study: folds first, then generations
that are held out, which wait for the folds; the search on all rows runs meanwhile.
"""

import argparse
import heapq
import pickle
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.splits import defined_splits
from trainlaw.app.text.tables import text_table
from trainlaw.datasets import load
from trainlaw.evolve import SearchSettings
from trainlaw.validate.guard import fold_secrets
from trainlaw.validate.study import FoldTable, FoldTask, run_fold

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000)
OURS = "trainlaw"
# The scheduler of dask takes about this long per task (its documentation, "Efficiency").
SCHEDULER_SECONDS = 1e-3


@dataclass(frozen=True)
class Load:
    """The tasks of a study.

    folds, generations : seconds of each task. table_bytes : what each worker needs once. task_bytes : of one
    task and its result.
    """

    folds: tuple[float, ...]
    generations: tuple[float, ...]
    on_all_rows: float
    table_bytes: int
    task_bytes: int


def measured_load(split: str, seeds: int) -> Load:
    """Return the load of a study of the default table, from one fold that is fitted here."""
    kind, table = STUDY_KINDS["runs"], load("default")
    rows = kind.rows(table)
    splits = defined_splits(StudyDefinition(split=split), rows.labels, table.name)
    generations = defined_splits(StudyDefinition(split="generation"), rows.labels, table.name)
    against = kind.available_baselines(StudyDefinition(**kind.defaults).against)[0]
    search = kind.search(rows, SearchSettings(evaluations=StudyDefinition(**kind.defaults).evaluations))
    shared = FoldTable(rows.X.reset_index(drop=True), rows.groups, rows.labels.astype(str))
    seconds, sizes, first = {}, [], splits[0]
    run_fold(_task(first, OURS, search, rows, shared), shared)  # compiles
    for name, factory in {OURS: search, **against}.items():
        task = _task(first, name, factory, rows, shared)
        outcome = run_fold(task, shared)
        seconds[name] = outcome.took_seconds
        sizes.append(len(pickle.dumps(task)) + len(pickle.dumps(outcome)))
    print("seconds per fit: " + ", ".join(f"{name} {value:.2f}" for name, value in seconds.items()))
    of_fold = (seconds[OURS],) * seeds + tuple(seconds[name] for name in against)
    return Load(
        of_fold * len(splits),
        (seconds[OURS],) * len(generations),
        seconds[OURS],
        len(pickle.dumps(shared)),
        int(np.mean(sizes)),
    )


def _task(split, name, factory, rows, shared) -> FoldTask:
    secrets = fold_secrets(shared.X, rows.seconds, split)
    return FoldTask(split.name, name, factory, split.train, split.test, rows.seconds[split.train], secrets)


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
    parser.add_argument("--split", default="gpu")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--latency-ms", type=float, default=5.0)
    parser.add_argument("--megabytes-per-s", type=float, default=100.0)
    options = parser.parse_args(arguments)
    load_of_study = measured_load(options.split, options.seeds)
    tasks = 1 + len(load_of_study.folds) + len(load_of_study.generations)
    print(
        f"{tasks} tasks, table {load_of_study.table_bytes / 1e6:.1f} MB, "
        f"task and result {load_of_study.task_bytes / 1e3:.0f} kB"
    )
    rows, one = [], 0.0
    for workers in WORKERS:
        seconds, moved = simulated(
            load_of_study, workers, 1e-3 * options.latency_ms, 1e6 * options.megabytes_per_s
        )
        one = one or seconds
        rows.append([workers, f"{seconds:.1f}", f"{one / seconds:.1f}", f"{moved / 1e6:.0f}"])
    print(text_table(["workers", "time, s", "speed-up", "moved, MB"], rows))


if __name__ == "__main__":
    main()
