"""Processor time and memory of a file of predictions: `python -m benchmarks.many_predictions --rows 1000000`.

The file has random CNNs and GPUs of the built-in runs, batches from 1 to 512 and three precisions, so that
most rows differ. The command runs in a process for itself; imports count.
"""

import argparse
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trainlaw.app.inputs.resolve import named_cnn
from trainlaw.datasets import load
from trainlaw.formulas import TrainlawError

PRECISIONS = ("", "fp32", "amp")


def known_cnns(names: Sequence[str]) -> list[str]:
    """Return the names of CNNs whose layers are known."""
    found = []
    for name in names:
        try:
            named_cnn(name, None)
        except TrainlawError:
            continue  # a CNN of which only sums are known
        found.append(name)
    return found


def write(path: Path, rows: int) -> None:
    """Write configurations, the same for the same number of rows."""
    frame, generator = load("default").frame, random.Random(0)
    gpus, cnns = sorted(set(frame["gpu"])), known_cnns(sorted(set(frame["cnn"])))
    with path.open("w") as file:
        file.write("cnn,gpu,batch_per_gpu,precision\n")
        for _ in range(rows):
            cells = (generator.choice(cnns), generator.choice(gpus), generator.randint(1, 512))
            file.write(",".join(map(str, (*cells, generator.choice(PRECISIONS)))) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print processor seconds, peak memory and the size of both files for each format."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("formats", nargs="*", default=["csv"], help="csv, json or both; csv by default")
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    # `choices` would be compared with the default, or with no format at all, as a whole (3.13, 3.11).
    if not {"csv", "json"}.issuperset(options.formats):
        parser.error(f"expected csv or json, got {', '.join(options.formats)}")
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "asked.csv"
        write(asked, options.rows)
        for form in options.formats:
            out = Path(folder) / f"times.{form}"
            command = [sys.executable, "-m", "trainlaw", "predict", "--from", str(asked), "--out", str(out)]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
            print(
                f"{options.rows} rows to {form}: {seconds:.1f} s of a processor, peak "
                f"{used.ru_maxrss / 2**10:.0f} MiB; {asked.stat().st_size / 2**20:.0f} MiB in, "
                f"{out.stat().st_size / 2**20:.0f} MiB out",
                flush=True,
            )


if __name__ == "__main__":
    main()
