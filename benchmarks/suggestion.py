"""Suggested compared with random choice on measured runs, as a Markdown table for docs/suggest.md.

python -m benchmarks.suggestion            PROFET's runs are the pool, the form comes from ten other sources
python -m benchmarks.suggestion tuning     the reverse, on which the objectives were chosen
python -m benchmarks.suggestion few        as the first, with five initial runs instead of ten

--cluster ADDRESS runs it on a dask cluster, as `trainlaw suggest --simulate` does.
"""

import argparse

from trainlaw.app.studies.clusters import Place, task_place
from trainlaw.app.suggest.replay import HELD_OUT, RANDOM, Replay, ReplaySettings, replayed
from trainlaw.datasets import load

SOURCE = "profet"


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
