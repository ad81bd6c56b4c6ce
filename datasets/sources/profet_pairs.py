"""PROFET: an operation profile on an anchor GPU, and the step time of the same workload on a target GPU."""

from trainlaw.datasets.measurements.pairs import profile_pairs
from trainlaw.datasets.sources.dataset import Dataset

PROFET_PAIRS = Dataset(
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
