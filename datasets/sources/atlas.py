"""The atlas: every public measurement of CNN training that may be passed on, on one GPU and on several."""

from dataclasses import replace

import pandas as pd
from trainlaw.datasets.sources.dataset import Dataset

_LICENCE = "MIT, Apache-2.0, BSD-3-Clause and CC-BY-4.0, by row"
_COMMIT = "by row, column source_commit; not recorded for 377 runs of pytorch-gpu-benchmark"
_ANOMALIES = (
    "all anomalies of the set precisions",
    "a run with pool = 0 says why in pool_reason",
    "what a time includes differs by source (timed_parts): pytorch-gpu-benchmark times no optimizer",
    "batch 12 with many small layers measures the host's launches rather than the GPU",
    "milabench's rates are means over a node that runs one job per GPU; batch 1 is host-bound",
    "timm's CNNs differ from torchvision's of the same name, and have separate names",
    "Radeon 680M and 780M share the host's memory: their bandwidth is that of the processor's specification",
)
_NOISE_FLOOR = (
    "the same protocol, GPU, CNN and batch on another host: median |ln| 0.10 to 0.17; "
    "`trainlaw data noise atlas` lists every pair of sources"
)


def _for_pooling(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["pool"] == 1]


_ALL = Dataset(
    name="atlas-all",
    kind="runs",
    file="atlas_single.csv.gz",
    title="one GPU, every shipped run, those that are not pooled included",
    coverage=(
        "46 GPUs from Kepler to Hopper and GCN to CDNA 3, four precisions, both layouts, 2016 to 2025, "
        "21 sources"
    ),
    licence=_LICENCE,
    commit=_COMMIT,
    anomalies=_ANOMALIES,
    noise_floor=_NOISE_FLOOR,
)
_MULTI_ALL = replace(
    _ALL,
    name="atlas-multi-all",
    file="atlas_multi.csv.gz",
    title="2 to 256 GPUs, every shipped run, those that are not pooled included",
    coverage="23 GPUs, 1 to 16 nodes, 14 sources; all-reduce, MPI, parameter server and DataParallel",
    anomalies=(
        *_ANOMALIES[:4],
        "links are assigned from the source's label; rates are nominal, and an unknown link counts as PCIe",
    ),
)
ATLAS_SETS = (
    replace(_ALL, name="atlas", title="one GPU, all precisions and layouts", select=_for_pooling),
    _ALL,
    replace(_MULTI_ALL, name="atlas-multi", title="2 to 256 GPUs, all precisions", select=_for_pooling),
    _MULTI_ALL,
)
