"""Training times on one GPU in fp32, pooled over eleven public sources."""

import pandas as pd
from trainlaw.datasets.sources.dataset import Dataset

_COVERAGE = (
    "25 GPUs in 17 groups (Kepler to Ampere, one AMD), {cnns} base CNNs, batch 1 to {batch}, 32 to 380 px, "
    "11 sources, 2016 to 2022; PROFET gives 1,299 rows"
)
_LICENCE = "MIT, Apache-2.0, BSD-3-Clause and CC-BY-4.0, by row"
_COMMIT = "by row, column source_commit"
_ANOMALIES = (
    "pytorch-gpu-benchmark and cnn-benchmarks time forward + backward, no optimizer step (timed_parts)",
    "PROFET's AlexNet has stride 1 and its ResNets are pre-activation: not torchvision's",
    "cde-catapult's VGG16 rows are 1.8 times slower than everything else",
    "20 rows stated as fp32 on Ampere ran in tf32 (precision)",
    "K80 is the only Kepler and Radeon Pro VII the only AMD GPU",
    "the V100 of zeus is listed as the 16 GB GPU, but its largest batches need 22 and 31 GB: a larger one",
)
_NOISE_FLOOR = (
    "PROFET's nine repeats 0.6-2.3 %; same GPU and software on another machine 1 % median, 6.7 % p90; "
    "software versions 9.8 % median; another harness +13 % on the same GPU"
)


def _stated_fp32(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["precision_stated"] == "fp32"]


def _stated_fp32_for_pooling(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["precision_stated"] == "fp32") & (frame["pool"] == 1)]


DEFAULT = Dataset(
    name="default",
    kind="runs",
    file="runs_single.csv.gz",
    title="one GPU, fp32, without loader-bound rows",
    coverage=_COVERAGE.format(cnns=28, batch=2048),
    licence=_LICENCE,
    commit=_COMMIT,
    anomalies=_ANOMALIES,
    noise_floor=_NOISE_FLOOR,
    select=_stated_fp32_for_pooling,
)
SINGLE_FP32 = Dataset(
    name="single-fp32",
    kind="runs",
    file="runs_single.csv.gz",
    title="one GPU, fp32, loader-bound rows (pool = 0) included",
    coverage=_COVERAGE.format(cnns=29, batch=8192) + "; with 40 rows of zeus with ShuffleNet on CIFAR images",
    licence=_LICENCE,
    commit=_COMMIT,
    anomalies=(
        *_ANOMALIES,
        "rows of zeus with pool = 0 wait for the data loader: the time hardly depends on the batch",
    ),
    noise_floor=_NOISE_FLOOR,
    select=_stated_fp32,
)
