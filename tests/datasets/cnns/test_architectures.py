import pytest
from trainlaw.datasets.cnns.architectures import built_architecture
from trainlaw.formulas.errors import InputError


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["input c3", "conv c8"], "layer 1: cannot read 'conv c8'"),
        (["input c3", "conv cx k3"], "layer 1"),
        (["input c3", "add i-1,-9"], "layer 1"),
        (["input c3", "batchnorm v"], "layer 1"),
        (["input c3", "conv c8 k3 v9"], "layer 1"),
        (["input c3", "conv c8 k99"], "too small"),
    ],
)
def test_malformed_lines_are_refused(lines, message):
    with pytest.raises(InputError, match=message):
        built_architecture(lines, 32, 10)
