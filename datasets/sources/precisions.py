"""Training times on one GPU in fp32, tf32, mixed precision and fp16."""

from trainlaw.datasets.sources.dataset import Dataset

ALL_PRECISIONS = Dataset(
    name="precisions",
    kind="runs",
    file="runs_single.csv.gz",
    title="one GPU, all precisions",
    coverage=(
        "30 GPUs; fp32 1,750, mixed 142, tf32 58, fp16 36 rows; the rows in other precisions come from "
        "lambda-tensorflow-benchmark, nvidia-deeplearningexamples, dlperf-oneflow and pytorch-gpu-benchmark"
    ),
    licence="MIT, Apache-2.0, BSD-3-Clause and CC-BY-4.0, by row",
    commit="by row, column source_commit",
    anomalies=(
        "all anomalies of the set single-fp32",
        "vendor-tuned mixed precision in NHWC (nvidia, paddlepaddle) is up to 1.7 times faster than plain",
        "pytorch-gpu-benchmark's fp16 on a GTX 1080 Ti has no fast fp16 units: half the bytes, the fp32 rate",
        "fp32 on Ampere and later is usually tf32 (precision, not precision_stated, says what ran)",
    ),
    noise_floor="software versions 9.8 % median, 18 % p90; lambda-tensorflow-benchmark's repeats 0.7 %",
)
