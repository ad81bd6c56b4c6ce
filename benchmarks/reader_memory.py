"""Memory that reading a table takes, as a multiple of the file: `python -m benchmarks.reader_memory`.

Every reader reads a file of many rows in a new process, after a small file of the same kind, so that
what is loaded once does not count. The peak above the memory before it is what the file costs, as a multiple
of the file and of the same table as CSV, which is larger where a file is compressed. Needs /proc.
"""

import argparse
import gzip
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.text.tables import text_table
from trainlaw.datasets import load

FEW = 100
#: Multiples of the table as CSV, and bytes, that no reader may exceed.
MOST_TIMES, MOST_BYTES = 20.0, 2 * 2**30


def runs(number: int) -> pd.DataFrame:
    """Return runs in the four columns that every file of runs has, with short names and times."""
    random = np.random.default_rng(0)
    gpu = random.integers(0, 2, number)
    # No time is measured on both GPUs: such runs would be refused as copies.
    return pd.DataFrame(
        {
            "gpu": np.array(["T4", "K80"], dtype=object)[gpu],
            "cnn": np.array(["vgg16", "alexnet", "resnet50"], dtype=object)[random.integers(0, 3, number)],
            "batch_per_gpu": 2 ** random.integers(0, 9, number),
            "time_s": (2 * random.integers(1, 5_000, number) + gpu) / 10_000,
        }
    )


def layers(number: int) -> pd.DataFrame:
    """Return measured layers in all their columns."""
    frame = load("neusight-layers").frame
    return frame.iloc[np.random.default_rng(0).integers(0, len(frame), number)].reset_index(drop=True)


_READ_RUNS = "from trainlaw.app.inputs.tables import read_runs as read"
_READ_LAYERS = "from trainlaw.datasets.measurements.importing import import_layers as read"
_READ_SHEET = "from trainlaw.datasets.files.grids import read_grids as read"
_IMPORT_SHEET = """
from trainlaw.datasets.spreadsheets.answers import Answers
from trainlaw.datasets.spreadsheets.conversion import read_spreadsheet

def read(path):
    return read_spreadsheet(path, Answers(constants={"precision": "fp32"}, confirmed=True))
"""

#: Reader, maker of rows, most rows that it takes, and suffix, by name.
READERS: Mapping[str, tuple[str, Callable[[int], pd.DataFrame], int, str]] = {
    "runs, CSV": (_READ_RUNS, runs, 1_000_000, ".csv"),
    "runs, CSV, gzip": (_READ_RUNS, runs, 1_000_000, ".csv.gz"),
    "runs, Parquet": (_READ_RUNS, runs, 1_000_000, ".parquet"),
    "runs, Excel": (_READ_RUNS, runs, 200_000, ".xlsx"),
    "layers, CSV": (_READ_LAYERS, layers, 300_000, ".csv"),
    "sheet, CSV": (_READ_SHEET, runs, 190_000, ".csv"),
    "sheet, Excel": (_READ_SHEET, runs, 190_000, ".xlsx"),
    "sheet, imported": (_IMPORT_SHEET, runs, 190_000, ".csv"),
}
_CHILD = """
import sys
from pathlib import Path
{load}

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

read(Path(sys.argv[1]))
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
kept = read(Path(sys.argv[2]))
print(status("VmHWM") - before)
"""


def write(frame: pd.DataFrame, path: Path) -> int:
    """Write a table by the suffix of its path; return the bytes that it has as CSV."""
    data = frame.to_csv(index=False).encode()
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, index=False, engine="xlsxwriter")
    else:
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return len(data)


def peak(name: str, rows: int, folder: Path) -> list[object]:
    """Return rows, bytes of the file, peak, and its multiples of the file and of the same table as CSV."""
    load_reader, make, most, suffix = READERS[name]
    small, large, number = folder / f"small{suffix}", folder / f"large{suffix}", min(rows, most)
    write(make(FEW), small)
    as_csv = write(make(number), large)
    code = _CHILD.format(load=load_reader)
    child = [sys.executable, "-c", code, str(small), str(large)]
    used = int(subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout)
    size = large.stat().st_size
    print(f"{name}: {used / 2**20:.0f} MiB, {used / size:.1f} times the file", file=sys.stderr, flush=True)
    return [name, number, size, used, used / size, used / as_csv]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line per reader; exit status 1 where one takes more than it may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("readers", nargs="*", default=[], metavar="READER", help=", ".join(READERS))
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    table = []
    for name in options.readers or READERS:
        with tempfile.TemporaryDirectory() as folder:
            table.append(peak(name, options.rows, Path(folder)))
    shown = [
        [name, number, f"{size / 2**20:.1f}", f"{used / 2**20:.0f}", f"{times:.1f}", f"{of_csv:.1f}"]
        for name, number, size, used, times, of_csv in table
    ]
    print(text_table(["reader", "rows", "file, MiB", "peak, MiB", "x file", "x CSV"], shown))
    if any(row[-1] > MOST_TIMES or row[3] > MOST_BYTES for row in table):
        raise SystemExit(f"more than {MOST_TIMES:.0f} times the file, or {MOST_BYTES >> 20} MiB")


if __name__ == "__main__":
    main()
