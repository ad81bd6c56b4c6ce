"""Run `trainlaw suggest` with its options: a suggestion, or a replay of suggestions."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trainlaw.app.inputs.resolve import known_gpus
from trainlaw.app.suggest.candidates import suggested_runs
from trainlaw.app.suggest.front import find_front
from trainlaw.app.suggest.pool import cnn_pool, file_pool, whole_numbers, worth_measuring
from trainlaw.app.suggest.replay import ReplaySettings, replayed
from trainlaw.app.suggest.show import plan_csv, replay_csv, replay_text, suggestions_text
from trainlaw.datasets import RunTable, load
from trainlaw.formulas.errors import unknown_name


@dataclass(frozen=True, slots=True)
class SuggestOptions:
    """The options of the command as they are typed; lists are texts with commas."""

    number: int
    pool: Path | None
    gpus: tuple[str, ...]
    cnns: str
    batch: str
    input_px: str
    precision: str
    front: Path | None
    runs: str | None
    gpu_file: Path | None
    cnn_files: tuple[Path, ...]
    repeats: int
    seed: int


def run_suggest(options: SuggestOptions) -> tuple[str, str]:
    """Return what to print and the plan as CSV; InputError for options that contradict each other."""
    front = find_front(
        options.front, Path.cwd(), options.runs, options.gpu_file if options.runs else None,
        options.cnn_files if options.runs else None,
    )  # fmt: skip
    pool, note = worth_measuring(_pool(options), [front.measured])
    found = suggested_runs(front, pool, options.number, options.repeats, options.seed)
    return suggestions_text(found, pool, front, note), plan_csv(found, pool)


def _pool(options: SuggestOptions) -> RunTable:
    gpus = known_gpus(options.gpu_file)
    if options.pool is not None:
        return file_pool(options.pool, gpus, options.gpus)
    names = [name.strip() for name in options.cnns.split(",") if name.strip()]
    return cnn_pool(
        [*names, *map(str, options.cnn_files)],
        whole_numbers(options.batch, "--batch"),
        whole_numbers(options.input_px, "--input"),
        gpus=gpus,
        named=options.gpus,
        precision=options.precision,
    )


def run_replay(source: str, settings: ReplaySettings) -> tuple[str, str]:
    """Return what to print and a CSV of a replay on the built-in runs of one source."""
    runs = load("default")
    inside = (runs.frame["source"] == source).to_numpy()
    if not inside.any():
        raise unknown_name("source", source, sorted(runs.frame["source"].unique()))
    print("searching a formula on the runs of other sources", file=sys.stderr)
    replay = replayed(runs, inside, settings, _seed_reporter(settings.seeds))
    return replay_text(replay, source), replay_csv(replay)


def _seed_reporter(seeds: int) -> Callable[[int], None]:
    def report(seed: int) -> None:
        print(f"seed {seed + 1} of {seeds}", file=sys.stderr)

    return report
