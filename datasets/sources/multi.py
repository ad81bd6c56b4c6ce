"""Training times on 2 to 256 GPUs, with the time on one GPU where it was measured."""

from trainlaw.datasets.sources.dataset import Dataset

MULTI = Dataset(
    name="multi",
    kind="runs",
    file="runs_multi.csv.gz",
    title="2 to 256 GPUs",
    coverage=(
        "1 to 16 nodes, 20 GPUs, 9 sources; all-reduce, MPI, parameter server and DataParallel; "
        "1,163 rows have the measured time on one GPU"
    ),
    licence="MIT, Apache-2.0, BSD-3-Clause and CC-BY-4.0, by row",
    commit="by row, column source_commit",
    anomalies=(
        "links are assigned from the source's label; rates are nominal, and an unknown link counts as PCIe",
        "RTX 2080 Ti and RTX 3090 without peer access scale badly: real, not noise (peer_access)",
        "VGG16 with DataParallel over PCIe can be slower than on one GPU",
        "azure-batchai-horovod's times are read from bar heights, 0.2 % error; its TCP rate is an estimate",
        "aws-deep-learning-models states no precision, and its speed implies mixed precision",
    ),
    noise_floor="lambda-tensorflow-benchmark's repeats 0.7 %; another machine 1 % median, 6.7 % p90",
)
