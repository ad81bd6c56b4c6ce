"""The error of the memory estimate where docs/atlas.md has no row of it."""

import pytest


def median(memory_ratios, **values):
    for column, value in values.items():
        memory_ratios = memory_ratios[memory_ratios[column] == value]
    assert len(memory_ratios) >= 6
    return memory_ratios["ratio"].median()


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
@pytest.mark.parametrize("gpu", ["H100-SXM5-80GB", "L40S"])
def test_single_precision_is_within_two_percent_on_nvidia(memory_ratios, gpu, precision):
    assert median(memory_ratios, gpu=gpu, cnn="convnext_large", precision=precision) == pytest.approx(
        1, abs=0.02
    )


def test_reading_images_is_seven_percent_and_keeping_them_is_not_estimated(memory_ratios):
    nvidia = memory_ratios[memory_ratios["gpu"] != "Instinct MI325X"]
    assert median(nvidia, cnn="resnet50", data="real") == pytest.approx(0.93, abs=0.01)
    # The whole synthetic set lies on the GPU there, which is no part of a training step.
    assert median(nvidia, cnn="resnet50", data="synthetic") < 0.6
