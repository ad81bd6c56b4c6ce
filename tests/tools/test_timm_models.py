"""The shipped CNNs of timm against timm itself, where it is installed."""

import pytest
from trainlaw.datasets.cnns.catalog import keyed_cnn_counts
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.zoo import PREFIX, zoo_entry
from trainlaw.formulas.errors import InputError, MissingDependencyError

from tools import timm_models as tool

SAMPLE = (
    "convnext_tiny", "efficientnet_cc_b0_4e", "gcresnet33ts", "nf_resnet26", "resnest14d", "skresnet18",
    "tf_efficientnet_b0", "vgg11",
)  # fmt: skip


@pytest.fixture(scope="module")
def timm_models():
    try:
        tool.timm_package()
    except (InputError, MissingDependencyError) as error:
        pytest.skip(f"needs torch and timm {tool.TIMM_VERSION}: {error}")
    return tool


@pytest.mark.parametrize("name", SAMPLE)
def test_shipped_counts_are_derived_again(timm_models, name):
    size = zoo_entry(PREFIX + name).input_size_px
    cnn = timm_models.read_timm(name, size)
    assert keyed_cnn_counts(PREFIX + name, size).counts == pytest.approx(counts(cnn), rel=1e-12)
    # What is not counted: gains that scale the weights of convolutions without normalisation.
    learned = sum(parameter.numel() for parameter in timm_models._module(name).parameters())
    missing = learned - counts(cnn)["params"]
    assert 0 <= missing <= 0.003 * counts(cnn)["params"]
