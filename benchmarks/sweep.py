"""Every known GPU x CNN x batch x precision that fits into memory: how often a formula is absurd.

python -m benchmarks.sweep [formula.json] [--share 0.01] [--seed 0]
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from trainlaw.app.explain.sensitivity import in_raw_columns
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.deployment import HARDWARE, LARGEST_BATCH
from trainlaw.datasets import Gpu, RunTable, built_in_gpus
from trainlaw.datasets.cnns.catalog import cnn_table, find_cnn_counts
from trainlaw.datasets.cnns.memory import MARGIN, step_memory
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.measurements.memory_fit import HELD_PER_SOLD
from trainlaw.datasets.measurements.runs import with_defaults
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import Expression, Formula, evaluate, load_formula, variables

Array = NDArray[np.float64]
BATCHES = tuple(2**power for power in range(LARGEST_BATCH.bit_length()))
USED = tuple(name for name in PRECISIONS if name != "unknown")
# Winograd's F(4 x 4, 3 x 3), the largest saving in use, needs 2.25 times fewer products than stated.
WINOGRAD = 2.25
MORE = 1.1
# A fall smaller than this share of the time is rounding.
ROUNDING = 1e-9
_NEEDED = ("macs", "conv3x3_macs", "batch_per_gpu", "is_tensor_precision")
# Columns by the end of their names.
_WORK = {"pixels": ("macs", "_elements"), "parameters": ("params",)}


@dataclass(frozen=True)
class _Grid:
    """All CNNs x precisions x batches, batches last: columns without those of GPUs, and least bytes."""

    columns: Mapping[str, Array]
    precision: NDArray[np.intp]
    bytes: Array


def sweep(formula: Formula, share: float = 1.0, seed: int = 0) -> dict[str, int]:
    """Return counts of configurations: all that fit, and those that a formula gets wrong, by what is wrong.

    formula : of whole runs, in features of runs. share : of GPU x CNN x precision, drawn at random by `seed`;
    all batches of each are looked at.
    """
    expression = in_raw_columns(formula)
    found: dict[str, int] = {"configurations": 0}
    generator = np.random.default_rng(seed)
    grid = _grid(tuple(sorted({*variables(expression), *_NEEDED})))
    for gpu in built_in_gpus().gpus:
        if gpu.device == "GPU":
            kept = generator.uniform(size=len(grid.bytes) // len(BATCHES)) < share
            for name, count in _of_gpu(expression, grid, gpu, np.repeat(kept, len(BATCHES))).items():
                found[name] = found.get(name, 0) + count
    return found


@cache
def _grid(names: tuple[str, ...]) -> _Grid:
    table = cnn_table()[["cnn", "input_size_px", "n_classes"]]
    shipped = [find_cnn_counts(*key) for key in table.itertuples(index=False, name=None)]
    keys = list(product(shipped, USED))
    rows = [
        {
            "cnn": cnn.cnn,
            "input_size_px": cnn.input_size_px,
            "n_classes": cnn.n_classes,
            "precision": name,
            "batch_per_gpu": batch,
        }
        for (cnn, name), batch in product(keys, BATCHES)
    ]
    fixed = {
        "gpu": "T4",
        "n_gpus": 1,
        "n_nodes": 1,
        "timed_parts": "forward+backward+optimizer",
        "link": "none",
        "network": "none",
    }
    frame = with_defaults(pd.DataFrame(rows).assign(**fixed))
    table = RunTable("sweep", frame, Facts(built_in_gpus()))
    needs = [
        step_memory(cnn.counts["params"], cnn.memory, batch, name, momentum=False).needed
        for (cnn, name), batch in product(keys, BATCHES)
    ]
    columns = {name: table.matrix([name])[:, 0] for name in names if name not in NUMBER_COLUMNS}
    codes = np.array([USED.index(str(name)) for name in frame["precision"]])
    return _Grid(columns, codes, np.array(needs, dtype=np.float64))


def _of_gpu(expression: Expression, grid: _Grid, gpu: Gpu, kept: NDArray[np.bool_]) -> dict[str, int]:
    """Return the counts of one GPU."""
    fits = kept & (grid.bytes <= MARGIN * HELD_PER_SOLD * gpu.memory_bytes)
    columns = {name: column[fits] for name, column in grid.columns.items()}
    rates = np.array([gpu.number(PRECISIONS[name].peak_column) for name in USED])
    columns["peak_flop_per_s"] = rates[grid.precision[fits]]
    number = {name: gpu.number(name) for name in NUMBER_COLUMNS}
    columns |= {
        name: np.full(fits.sum(), number[name]) for name in NUMBER_COLUMNS if name in variables(expression)
    }
    seconds = _seconds(expression, columns)
    found = {
        "configurations": len(seconds),
        "without a value: a specification is not known": int(np.sum(np.isnan(seconds))),
        "not above zero": int(np.sum(seconds <= 0)),
        "faster than the peak": int(np.sum(seconds < (1 - ROUNDING) * _least_seconds(columns))),
        "falls with the batch": _falls(seconds, np.flatnonzero(fits)),
    }
    for name, changed in _changes(columns):
        wrong = _seconds(expression, changed) - seconds
        found[name] = int(np.sum((-wrong if name.startswith("falls") else wrong) > ROUNDING * seconds))
    return found


def _seconds(expression: Expression, columns: Mapping[str, Array]) -> Array:
    values, valid = evaluate(expression, {name: columns[name] for name in variables(expression)})
    return np.where(valid, values, np.nan)


def _least_seconds(columns: Mapping[str, Array]) -> Array:
    saved = (1 - 1 / WINOGRAD) * columns["conv3x3_macs"]
    return 6 * columns["batch_per_gpu"] * (columns["macs"] - saved) / columns["peak_flop_per_s"]


def _falls(seconds: Array, places: NDArray[np.intp]) -> int:
    """Return how often a time is below that of half the batch; places : in the grid, batches last."""
    follows = (np.diff(places) == 1) & (places[1:] % len(BATCHES) != 0)
    return int(np.sum(follows & (np.diff(seconds) < -ROUNDING * seconds[:-1])))


def _changes(columns: Mapping[str, Array]) -> Iterator[tuple[str, dict[str, Array]]]:
    """Yield what must not happen, and the columns with more work or better hardware."""
    for title, endings in _WORK.items():
        grown = {name: columns[name] * MORE for name in columns if name.endswith(endings)}
        yield f"falls with {title}", {**columns, **grown}
    # More layers, as large as the mean of those that are there.
    more = [name for name in columns if name.startswith("n_") or name == "activation_elements"]
    counts = [name for name in more if name not in ("n_gpus", "n_nodes")]
    yield "falls with layers", {**columns, **{name: columns[name] * MORE for name in counts}}
    for change in HARDWARE:
        moved = {name: power for name, power in change.together.items() if name in columns}
        if moved:
            factor = np.full_like(columns["batch_per_gpu"], MORE)
            for name, value in change.fixed.items():
                factor[columns[name] != value] = 1.0
            word = "rises" if change.direction < 0 else "falls"
            better = {name: columns[name] * factor**power for name, power in moved.items()}
            yield f"{word} with {change.name}", {**columns, **better}


def main() -> None:
    """Print the counts of a formula."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formula", nargs="?", type=Path, default=BUILT_IN)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    found = sweep(load_formula(options.formula), options.share, options.seed)
    print("| what | number |\n| --- | --- |")
    print("\n".join(f"| {name} | {count:,} |" for name, count in found.items()))
    print(f"\n{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
