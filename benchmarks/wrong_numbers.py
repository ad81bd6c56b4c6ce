"""Ways to a wrong number in a spreadsheet, and how many pass import, check and calibration without a word.

python -m benchmarks.wrong_numbers       about a minute on one thread

Times are those of the built-in formula with a deviation of 15 % per run and 10 % per machine. A way is silent
where neither a question, a fault, a remark nor a warning names it; then the factor between the numbers that
are read and the true ones is printed, in the median and at most.
"""

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.calibration import calibrated_law
from trainlaw.app.models.doubts import remarks, run_doubts
from trainlaw.app.models.law_times import law_seconds
from trainlaw.app.models.plausibility import checked_times
from trainlaw.datasets.measurements.importing import runs_from_frame
from trainlaw.datasets.spreadsheets.answers import SheetAnswers
from trainlaw.datasets.spreadsheets.conversion import read_spreadsheet
from trainlaw.formulas import load_formula

#: The most ways that may be silent, and the largest factor of one.
BARS = (5, 1.4)
_CNNS, _BATCHES = ("resnet50", "vgg16", "mobilenet_v2", "densenet121"), (16, 64)
MACHINES = (("T4", "fp32"), ("RTX 3090", "amp"), ("V100-SXM2-16GB", "fp32"), ("RTX 2080 Ti", "amp"))
_ANOTHER_GPU = {"T4": "V100-SXM2-16GB", "RTX 3090": "T4", "V100-SXM2-16GB": "A100-SXM4-40GB"}
Way = Callable[[pd.DataFrame], pd.DataFrame]


def runs_of(gpu: str, precision: str, others: Mapping[str, object] = MappingProxyType({})) -> pd.DataFrame:
    """Return the true runs of a machine in the columns of the runs schema; others : columns that differ."""
    rows = [(gpu, cnn, batch, precision, 1.0) for cnn in _CNNS for batch in _BATCHES]
    frame = pd.DataFrame(rows, columns=["gpu", "cnn", "batch_per_gpu", "precision", "time_s"])
    return frame.assign(time_s=law_seconds(runs_from_frame(frame.assign(**others), "runs")))


def timed(factor: float) -> Way:
    """Return the way of times that are all longer by a factor."""
    return lambda runs: runs.assign(time_s=factor * runs["time_s"])


def like(**others: object) -> Way:
    """Return the way of times of other runs, such as in another precision."""

    def of_others(runs: pd.DataFrame) -> pd.DataFrame:
        plain, real = (runs_of(runs["gpu"][0], runs["precision"][0], own)["time_s"] for own in ({}, others))
        return runs.assign(time_s=runs["time_s"] * real / plain)

    return of_others


def of_batch(share: float) -> Way:
    """Return the way of batches that are those of several GPUs, a node, or a part of them."""

    def of_share(runs: pd.DataFrame) -> pd.DataFrame:
        real = like(batch_per_gpu=(runs["batch_per_gpu"] * share).astype(int))
        return real(runs)

    return of_share


def exchanged(column: str, one: object, other: object) -> Way:
    """Return the way of two texts of a column under each other's times."""
    return lambda runs: runs.assign(**{column: runs[column].replace({one: other, other: one})})


def one_row(factor: float) -> Way:
    """Return the way of a single time that is another number."""
    return lambda runs: runs.assign(time_s=runs["time_s"].where(runs.index != 3, factor * runs["time_s"]))


def _rate_as_time(runs: pd.DataFrame) -> pd.DataFrame:
    return runs.assign(time_s=1e-3 * runs["batch_per_gpu"] / runs["time_s"])


def _other_precision(runs: pd.DataFrame) -> pd.DataFrame:
    return like(precision="fp32" if runs["precision"][0] == "amp" else "amp")(runs)


def _other_gpu(runs: pd.DataFrame) -> pd.DataFrame:
    return like(gpu=_ANOTHER_GPU.get(runs["gpu"][0], "T4"))(runs)


WAYS: dict[str, Way] = {
    "ms as s": timed(1e3),
    "s as ms": timed(1e-3),
    "us as ms": timed(1e3),
    "minutes as s": timed(1 / 60),
    "images/s as ms": _rate_as_time,
    "steps/s as s": lambda runs: runs.assign(time_s=1.0 / runs["time_s"]),
    "ms as images/s": lambda runs: runs.assign(time_s=1e-3 * runs["batch_per_gpu"] / runs["time_s"]),
    "images/s as steps/s": lambda runs: runs.assign(time_s=runs["time_s"] / runs["batch_per_gpu"]),
    "s per image": lambda runs: runs.assign(time_s=runs["time_s"] / runs["batch_per_gpu"]),
    "sum of 10 steps": timed(10),
    "sum of 100 steps": timed(100),
    "two steps accumulated": timed(2),
    "four steps accumulated": timed(4),
    "an epoch": timed(500),
    "forward only": timed(1 / 3),
    "forward and loss, slow": timed(0.4),
    "batch of 2 GPUs": of_batch(1 / 2),
    "batch of 4 GPUs": of_batch(1 / 4),
    "batch of a node of 8": of_batch(1 / 8),
    "micro-batch of 2": of_batch(2),
    "throughput of 2 GPUs": timed(1 / 2),
    "throughput of 8 GPUs": timed(1 / 8),
    "other precision": _other_precision,
    "other GPU": _other_gpu,
    "images of 160 px": like(input_size_px=160),
    "images of 320 px": like(input_size_px=320),
    "CNNs exchanged": exchanged("cnn", "vgg16", "mobilenet_v2"),
    "batches exchanged": exchanged("batch_per_gpu", 16, 64),
    "one row in ms": one_row(1e3),
    "one row times 4": one_row(4),
}


def measured() -> pd.DataFrame:
    """Return a row per way and machine: way, gpu, whether it is said, and the factors median and most."""
    law, found, random = load_formula(BUILT_IN), [], np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for gpu, precision in MACHINES:
            plain = runs_of(gpu, precision)
            noise = np.exp(random.normal(0.0, 0.1) + random.normal(0.0, 0.15, len(plain)))
            true = plain.assign(time_s=plain["time_s"] * noise)
            for name, way in {"as it is": timed(1.0), **WAYS}.items():
                path = Path(folder) / "runs.csv"
                wrong = way(true)
                wrong.to_csv(path, index=False)
                said = SheetAnswers()
                made = checked_times(read_spreadsheet(path, said), said)
                texts = [issue.text for issue in made.issues]
                if made.table is not None and not texts:
                    texts += [*(own.text for own in run_doubts(made.table)), *remarks(made.table)]
                    texts += calibrated_law(law, made.table).warnings
                same = wrong.merge(true, on=["gpu", "cnn", "batch_per_gpu", "precision"], how="left")
                factors = np.exp(np.abs(np.log(same["time_s_x"] / same["time_s_y"])))
                row = (
                    name,
                    gpu,
                    bool(texts),
                    float(factors.median()),
                    float(factors.max()),
                    "; ".join(texts),
                )
                found.append(row)
    return pd.DataFrame(found, columns=["way", "gpu", "said", "median", "most", "texts"])


def main() -> int:
    """Print the silent ways, and the true tables that are doubted; return 1 where a bar is missed."""
    table = measured()
    is_true = table["way"] == "as it is"
    silent = table[~table["said"] & ~is_true]
    for row in silent.itertuples():
        print(f"silent: {row.way}, {row.gpu}: {row.median:.2f} in the median, {row.most:.2f} at most")
    for row in table[table["said"] & is_true].itertuples():
        print(f"a true table is doubted: {row.gpu}: {row.texts}")
    worst = float(silent["median"].max()) if len(silent) else 1.0
    print(f"{len(silent)} of {(~is_true).sum()} ways are silent, the worst by {worst:.2f}")
    return int(len(silent) > BARS[0] or worst > BARS[1])


if __name__ == "__main__":
    sys.exit(main())
