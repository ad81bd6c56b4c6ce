import pytest
from trainlaw.datasets.cnns.architectures import architecture_lines, built_architecture, without_names
from trainlaw.datasets.cnns.zoo import build, dense_names, zoo_entry, zoo_names
from trainlaw.formulas.errors import InputError

SQUARE = [name for name in (*zoo_names(), *dense_names()) if zoo_entry(name).input_width_px is None]


@pytest.mark.parametrize("name", SQUARE)
def test_lines_give_the_layers_back(name):
    cnn = build(name)
    layers = built_architecture(architecture_lines(cnn), cnn.input_size_px, cnn.n_classes)
    assert without_names(layers) == without_names(cnn.layers)


@pytest.mark.parametrize("name", ["resnet18", "densenet121", "mobilenet_v3_small", "regnet_y_16gf"])
def test_lines_hold_no_sizes(name):
    size = zoo_entry(name).input_size_px
    lines = architecture_lines(build(name, size, 10))
    smaller = build(name, size - 64, 7)
    assert without_names(built_architecture(lines, size - 64, 7)) == without_names(smaller.layers)


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
