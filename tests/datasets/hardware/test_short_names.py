"""GPUs as people write them: without the product line, with a memory size that leaves one."""

import pytest
from trainlaw.datasets import find_gpu
from trainlaw.formulas.errors import UnknownNameError

FOUND = {
    "3090": "RTX 3090", "1080ti": "GTX 1080 Ti", "A6000": "RTX A6000", "RX 7900 XTX": "Radeon RX 7900 XTX",
    "P100 12GB": "P100-PCIE-12GB", "3080 12GB": "RTX 3080 12GB", "2080 Ti": "RTX 2080 Ti",
}  # fmt: skip
SEVERAL = {
    "3080": ("RTX 3080", "RTX 3080 12GB"),
    "4060 Ti": ("RTX 4060 Ti 16GB", "RTX 4060 Ti 8GB"),
    "RTX 6000": ("Quadro RTX 6000", "RTX 6000 Ada"),
    "A100 80GB": ("A100-PCIE-80GB", "A100-SXM4-80GB"),
    "V100 (16GB)": ("V100-DGXS-16GB", "V100-PCIE-16GB", "V100-SXM2-16GB"),
}


@pytest.mark.parametrize("text", FOUND)
def test_a_name_that_one_gpu_can_have_is_found(text):
    assert find_gpu(text).gpu == FOUND[text]


@pytest.mark.parametrize("text", [*SEVERAL, "GTX 3090", "100", "A", "RTX"])
def test_a_name_that_several_can_have_or_none_is_refused_with_its_candidates(text):
    with pytest.raises(UnknownNameError) as caught:
        find_gpu(text)
    assert set(SEVERAL.get(text, ())) <= set(caught.value.candidates)
    assert all(repr(name) in str(caught.value) for name in caught.value.candidates)
