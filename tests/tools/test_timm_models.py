"""The shipped CNNs of timm against timm itself, where it is installed."""

import pytest
from trainlaw.datasets.cnns.catalog import keyed_cnn_counts
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.zoo import PREFIX, zoo_entry
from trainlaw.formulas.errors import InputError, MissingDependencyError

from tools import timm_models as tool

# CNNs by the version of timm that their tables are derived with.
SAMPLE = {
    "0.6.12": (
        "convnext_tiny", "efficientnet_cc_b0_4e", "gcresnet33ts", "nf_resnet26", "resnest14d", "skresnet18",
        "tf_efficientnet_b0", "vgg11",
    ),
    "1.0.22": (
        "convformer_s18", "convnext_atto_rms", "convnextv2_atto", "hgnetv2_b0", "mobilenetv4_conv_small",
        "regnety_640", "repvit_m1_1",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def timm_models():
    try:
        installed = tool.timm_package().__version__
    except (InputError, MissingDependencyError) as error:
        pytest.skip(f"needs torch and timm {tool.TIMM_VERSION}: {error}")
    return tool, installed


@pytest.mark.parametrize(("version", "name"), [(key, name) for key in SAMPLE for name in SAMPLE[key]])
def test_shipped_counts_are_derived_again(timm_models, version, name):
    timm_models, installed = timm_models
    if installed != version:
        pytest.skip(f"needs timm {version}, got {installed}")
    size = zoo_entry(PREFIX + name).input_size_px
    cnn = timm_models.read_timm(name, size)
    assert keyed_cnn_counts(PREFIX + name, size).counts == pytest.approx(counts(cnn), rel=1e-12)
    # What is not counted: gains that scale the weights of convolutions without normalisation.
    learned = sum(parameter.numel() for parameter in timm_models._module(name).parameters())
    missing = learned - counts(cnn)["params"]
    assert 0 <= missing <= 0.003 * counts(cnn)["params"]
