"""The rows of the catalog: every registered data set, and what to know before trusting it."""

from dataclasses import replace

import pandas as pd
from trainlaw.datasets.measurements.pairs import profile_pairs
from trainlaw.datasets.sources.dataset import Dataset

_LICENCE = "MIT, Apache-2.0, BSD-3-Clause and CC-BY-4.0, by row"
_COMMIT = "by row, column source_commit"

# Training times on one GPU in fp32, pooled over eleven public sources.
_FP32_COVERAGE = (
    "25 GPUs in 17 groups (Kepler to Ampere, one AMD), {cnns} base CNNs, batch 1 to {batch}, 32 to 380 px, "
    "11 sources, 2016 to 2022; PROFET gives 1,299 rows"
)
_FP32_ANOMALIES = (
    "pytorch-gpu-benchmark and cnn-benchmarks time forward + backward, no optimizer step (timed_parts)",
    "PROFET's AlexNet has stride 1 and its ResNets are pre-activation: not torchvision's",
    "cde-catapult's VGG16 rows are 1.8 times slower than everything else",
    "20 rows stated as fp32 on Ampere ran in tf32 (precision)",
    "K80 is the only Kepler and Radeon Pro VII the only AMD GPU",
    "the V100 of zeus is listed as the 16 GB GPU, but its largest batches need 22 and 31 GB: a larger one",
)
_FP32_NOISE_FLOOR = (
    "PROFET's nine repeats 0.6-2.3 %; same GPU and software on another machine 1 % median, 6.7 % p90; "
    "software versions 9.8 % median; another harness +13 % on the same GPU"
)


def _stated_fp32(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["precision_stated"] == "fp32"]


def _stated_fp32_for_pooling(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["precision_stated"] == "fp32") & (frame["pool"] == 1)]


_FP32 = Dataset(
    name="fp32-2026",
    kind="runs",
    file="runs_single.csv.gz",
    title="one GPU, fp32, without loader-bound rows",
    coverage=_FP32_COVERAGE.format(cnns=28, batch=2048),
    licence=_LICENCE,
    commit=_COMMIT,
    anomalies=_FP32_ANOMALIES,
    noise_floor=_FP32_NOISE_FLOOR,
    select=_stated_fp32_for_pooling,
)
_SINGLE_FP32 = replace(
    _FP32,
    name="single-fp32",
    title="one GPU, fp32, loader-bound rows (pool = 0) included",
    coverage=_FP32_COVERAGE.format(cnns=29, batch=8192)
    + "; with 40 rows of zeus with ShuffleNet on CIFAR images",
    anomalies=(
        *_FP32.anomalies,
        "rows of zeus with pool = 0 wait for the data loader: the time hardly depends on the batch",
    ),
    select=_stated_fp32,
)

# Training times on one GPU in fp32, tf32, mixed precision and fp16.
_ALL_PRECISIONS = Dataset(
    name="precisions",
    kind="runs",
    file="runs_single.csv.gz",
    title="one GPU, all precisions",
    coverage=(
        "30 GPUs; fp32 1,750, mixed 142, tf32 58, fp16 36 rows; the rows in other precisions come from "
        "lambda-tensorflow-benchmark, nvidia-deeplearningexamples, dlperf-oneflow and pytorch-gpu-benchmark"
    ),
    licence=_LICENCE,
    commit=_COMMIT,
    anomalies=(
        "all anomalies of the set single-fp32",
        "vendor-tuned mixed precision in NHWC (nvidia, paddlepaddle) is up to 1.7 times faster than plain",
        "pytorch-gpu-benchmark's fp16 on a GTX 1080 Ti has no fast fp16 units: half the bytes, the fp32 rate",
        "fp32 on Ampere and later is usually tf32 (precision, not precision_stated, says what ran)",
    ),
    noise_floor="software versions 9.8 % median, 18 % p90; lambda-tensorflow-benchmark's repeats 0.7 %",
)

# Training times on 2 to 256 GPUs, with the time on one GPU where it was measured.
_MULTI = Dataset(
    name="multi",
    kind="runs",
    file="runs_multi.csv.gz",
    title="2 to 256 GPUs",
    coverage=(
        "1 to 16 nodes, 20 GPUs, 9 sources; all-reduce, MPI, parameter server and DataParallel; "
        "1,163 rows have the measured time on one GPU"
    ),
    licence=_LICENCE,
    commit=_COMMIT,
    anomalies=(
        "links are assigned from the source's label; rates are nominal, and an unknown link counts as PCIe",
        "RTX 2080 Ti and RTX 3090 without peer access scale badly: real, not noise (peer_access)",
        "VGG16 with DataParallel over PCIe can be slower than on one GPU",
        "azure-batchai-horovod's times are read from bar heights, 0.2 % error; its TCP rate is an estimate",
        "aws-deep-learning-models states no precision, and its speed implies mixed precision",
    ),
    noise_floor="lambda-tensorflow-benchmark's repeats 0.7 %; another machine 1 % median, 6.7 % p90",
)

# The atlas: every public measurement of CNN training that may be passed on, on one GPU and on several.
_ATLAS_COMMIT = (
    "by row, column source_commit; not recorded for 313 runs of pytorch-gpu-benchmark and 64 of "
    "pytorch-gpu-benchmark-lamikr (RTX 2060 Max-Q)"
)
_ATLAS_ANOMALIES = (
    "all anomalies of the set precisions",
    "a run with pool = 0 says why in pool_reason",
    "what a time includes differs by source (timed_parts): pytorch-gpu-benchmark times no optimizer",
    "batch 12 with many small layers measures the host's launches rather than the GPU",
    "milabench's rates are means over a node that runs one job per GPU; batch 1 is host-bound",
    "timm's CNNs differ from torchvision's of the same name, and have separate names",
    "Radeon 680M and 780M share the host's memory: their bandwidth is that of the processor's specification",
)
_ATLAS_NOISE_FLOOR = (
    "the same protocol, GPU, CNN and batch on another host: median |ln| 0.10 to 0.17; "
    "`trainlaw data noise atlas` lists every pair of sources"
)


def _for_pooling(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["pool"] == 1]


_ATLAS_ALL = Dataset(
    name="atlas-all",
    kind="runs",
    file="atlas_single.csv.gz",
    title="one GPU, every shipped run, those that are not pooled included",
    coverage=(
        "46 GPUs from Kepler to Hopper and GCN to CDNA 3, four precisions, both layouts, 2016 to 2025, "
        "21 sources"
    ),
    licence=_LICENCE,
    commit=_ATLAS_COMMIT,
    anomalies=_ATLAS_ANOMALIES,
    noise_floor=_ATLAS_NOISE_FLOOR,
)
_ATLAS_MULTI_ALL = replace(
    _ATLAS_ALL,
    name="atlas-multi-all",
    file="atlas_multi.csv.gz",
    title="2 to 256 GPUs, every shipped run, those that are not pooled included",
    commit="by row, column source_commit; not recorded for 645 runs of pytorch-gpu-benchmark",
    coverage="23 GPUs, 1 to 16 nodes, 14 sources; all-reduce, MPI, parameter server and DataParallel",
    anomalies=(
        *_ATLAS_ANOMALIES[:4],
        "links are assigned from the source's label; rates are nominal, and an unknown link counts as PCIe",
    ),
)
_DEFAULT = replace(
    _ATLAS_ALL, name="default", title="one GPU, all precisions and layouts", select=_for_pooling
)
_ATLAS_SETS = (
    _DEFAULT,
    replace(_DEFAULT, name="atlas"),
    _ATLAS_ALL,
    replace(_ATLAS_MULTI_ALL, name="atlas-multi", title="2 to 256 GPUs, all precisions", select=_for_pooling),
    _ATLAS_MULTI_ALL,
)

# Single convolution and dense layers of Justus et al. 2018, forward and in training, on six GPUs.
_CDE_LAYERS = Dataset(
    name="cde-layers",
    kind="layers",
    file="layers_cde.csv.gz",
    title="single convolution and dense layers, forward and training",
    coverage="60,000 layers on GTX 1080 Ti, K40, K80, M60, P100 and V100; half convolutions, half training",
    licence="Apache-2.0",
    commit="e649f32d354d8246411b6adafdc65b46811dd111",
    anomalies=(
        "training includes the gradient of the input and an update of the input itself",
        "padding and stride are random, and a large part of the layers are unlike those of real CNNs",
        "the place inside the source is its data folder: rows name no file",
    ),
    noise_floor="five repeats of 50 iterations each: time_min_s and time_max_s",
)

# Single convolution and linear layers, forward only, as NeuSight measured them.
_NEUSIGHT_LAYERS = Dataset(
    name="neusight-layers",
    kind="layers",
    file="layers_neusight.csv.gz",
    title="single 3 x 3 convolution and linear layers, forward",
    coverage=(
        "24,662 convolutions on P4, P100, V100, T4 and A100-PCIE-80GB; 8,254 linear layers on these, "
        "A100-PCIE-40GB, L4 and H100"
    ),
    licence="MIT",
    commit="not recorded",
    anomalies=(
        "fp32 without tf32, forward only",
        "each time is a mean of the fastest samples, so it has no spread",
        "the commit of the source was not recorded",
    ),
    noise_floor="not stated by the source",
)

# PROFET: an operation profile on an anchor GPU, and the step time of the same workload on a target GPU.
_PROFET_PAIRS = Dataset(
    name="profet-pairs",
    kind="pairs",
    file="profet_profiles.csv.gz",
    title="operation profile on an anchor GPU -> step time on a target GPU",
    coverage="3,684 pairs of K80, M60, T4 and V100; 15 CNNs, batch 16 to 256, 32 to 256 px; 65 operations",
    licence="MIT",
    commit="ace81bf245608908b2971d049bd6c85a8eb9ba80",
    anomalies=(
        "operation times are of one step: the source's profiles cover two",
        "time_s is the iteration time of the unprofiled run",
        "AlexNet has stride 1 and ResNets are pre-activation: not torchvision's",
    ),
    noise_floor="nine repeats of a workload differ by 0.6-2.3 %",
    select=profile_pairs,
)

SHIPPED = (
    *_ATLAS_SETS,
    # Published figures name the tables that they were computed on, whatever becomes the default later.
    _FP32,
    _SINGLE_FP32,
    _ALL_PRECISIONS,
    _MULTI,
    replace(_ALL_PRECISIONS, name="precisions-2026"),
    _PROFET_PAIRS,
    _CDE_LAYERS,
    _NEUSIGHT_LAYERS,
)
