"""Single convolution and linear layers, forward only, as NeuSight measured them."""

from trainlaw.datasets.sources.dataset import Dataset

NEUSIGHT_LAYERS = Dataset(
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
