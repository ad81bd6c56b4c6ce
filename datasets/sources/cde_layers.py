"""Single convolution and dense layers of Justus et al. 2018, forward and in training, on six GPUs."""

from trainlaw.datasets.sources.dataset import Dataset

CDE_LAYERS = Dataset(
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
