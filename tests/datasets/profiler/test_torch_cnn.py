"""Torch modules of all networks: parameters and shapes of the graph; forward and backward really run."""

import pytest
from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.zoo import build, zoo_names
from trainlaw.datasets.profiler.configurations import Configuration
from trainlaw.formulas.errors import InputError

pytest.importorskip("torch", reason="the extra 'profile' brings torch")

import torch
from trainlaw.datasets.profiler.torch_cnn import TorchCnn, TorchStep, layer_module

SIZES = (8, 12, 16, 24, 32, 40, 48, 64, 75, 96, 128, 160, 192, 224, 331)


def smallest(name):
    """The network on the smallest of some sizes at which it can be built."""
    for size in SIZES:
        try:
            return build(name, size, 10)
        except InputError:
            continue
    raise AssertionError(f"{name} cannot be built")


def shapes_on_meta(cnn, batch=2):
    seen = {}
    with torch.device("meta"):
        network = TorchCnn(cnn)
        for position, node in zip(network.kept, network.nodes, strict=True):
            node.register_forward_hook(
                lambda module, given, made, position=position: seen.__setitem__(position, tuple(made.shape))
            )
        image = cnn.layers[0]
        scores = network(torch.empty(batch, image.out_channels, image.out_height, image.out_width))
    return network, seen, scores


def learned(network):
    """Blurring convolutions have weights that nothing learns."""
    return [parameter for parameter in network.parameters() if parameter.requires_grad]


def check_against_graph(cnn):
    network, seen, scores = shapes_on_meta(cnn)
    assert sum(p.numel() for p in learned(network)) == sum(layer.parameters for layer in cnn.layers)
    for position, shape in seen.items():
        layer = cnn.layers[position]
        assert shape == (2, layer.out_channels, layer.out_height, layer.out_width), layer
    # The softmax at each end belongs to the loss.
    assert len(seen) == len(cnn.layers) - len(network.outputs)
    assert all(score.shape == (2, cnn.n_classes) for score in scores)


@pytest.mark.parametrize("name", zoo_names())
def test_module_has_the_parameters_and_shapes_of_the_graph(name):
    check_against_graph(build(name))


@pytest.mark.parametrize("name", zoo_names())
def test_forward_and_backward_run_on_the_smallest_input(name):
    cnn = smallest(name)
    step = TorchStep(cnn, Configuration("cpu", 1, "fp32", name, cnn.input_size_px, 10, 2))
    torch.set_flush_denormal(True)
    step.forward()
    step.backward()
    # Two images of some pixels make normalisations explode in the deepest nets, so gradients may be infinite.
    assert step._loss.isfinite()
    assert all(p.grad.shape == p.shape for p in learned(step.network))
    step.update()
    step.finish()


def small_net(add):
    net = CnnBuilder()
    x = add(net, net.input(4, 15, 13))
    net.elementwise(net.dense(x, 10), "softmax")
    return Cnn("own", "own", "own", 15, 10, net.layers)


ODD_LAYERS = {
    "same padding, even": lambda net, x: net.conv(x, 6, 4, 2, padding="same"),
    "dilated": lambda net, x: net.conv(x, 6, 3, dilation=2, bias=True),
    "one-sided": lambda net, x: net.conv(x, 6, 3, 2, padding=((0, 1), (1, 0))),
    "transposed": lambda net, x: net.conv_transpose(x, 6, 4, 2, padding=1, output_padding=1, bias=True),
    "transposed, same": lambda net, x: net.conv_transpose(x, 6, 3, 2, padding="same"),
    "average, same": lambda net, x: net.pool(x, "average_pool", 3, 2, padding="same"),
    "max, ceil": lambda net, x: net.pool(x, "max_pool", 2, 2, ceil=True),
    "max, one-sided": lambda net, x: net.pool(x, "max_pool", 3, 2, padding=((0, 1), (0, 1))),
    "adaptive up": lambda net, x: net.adaptive_pool(net.pool(x, "max_pool", 5), "average_pool", 6, 6),
    "adaptive max": lambda net, x: net.adaptive_pool(net.pool(x, "max_pool", 5), "max_pool", 4, 4),
    "shift only": lambda net, x: net.elementwise(x, "batchnorm", vector_parameters=4),
    "no parameters": lambda net, x: net.elementwise(x, "batchnorm"),
    "group norm": lambda net, x: net.elementwise(x, "groupnorm", groups=2, vector_parameters=8),
    "instance norm": lambda net, x: net.elementwise(x, "instancenorm", vector_parameters=8),
    "one scale for all": lambda net, x: net.elementwise(x, "scale", vector_parameters=1),
    "prelu": lambda net, x: net.elementwise(x, "prelu", vector_parameters=4),
    "pieces": lambda net, x: net.concat(net.slice(x, 1, 9, 9), net.slice(x, 2, 9, 9)),
    "flat pieces": lambda net, x: net.concat(net.slice(x, 1, 3, 3), x, flat=True),
    "upsampled": lambda net, x: net.upsample(x, 20, 30),
    "all activations": lambda net, x: net.elementwise(
        net.elementwise(net.elementwise(x, "elu"), "softplus"), "softmax"
    ),
}


@pytest.mark.parametrize("add", ODD_LAYERS.values(), ids=ODD_LAYERS)
def test_layers_that_the_zoo_does_not_have(add):
    check_against_graph(small_net(add))


def test_slices_of_one_layer_follow_each_other():
    net = CnnBuilder()
    x = net.input(5, 2)
    net.concat(net.slice(x, 3), net.slice(x, 2))
    images = torch.randn(1, 5, 2, 2)
    (scores,) = TorchCnn(Cnn("own", "own", "own", 2, 20, net.layers))(images)
    assert torch.equal(scores, images.flatten(1))


def test_shuffle_interleaves_groups():
    net = CnnBuilder()
    net.channel_shuffle(net.input(6, 1), 2)
    shuffled = layer_module(net.layers[1])(torch.arange(6.0).view(1, 6, 1, 1))
    assert shuffled.flatten().tolist() == [0, 3, 1, 4, 2, 5]


def test_a_wrong_number_of_parameters_is_refused():
    net = CnnBuilder()
    net.elementwise(net.input(4, 8), "layernorm", vector_parameters=3)
    with pytest.raises(InputError, match="expected 3 learned elements"):
        layer_module(net.layers[1])
