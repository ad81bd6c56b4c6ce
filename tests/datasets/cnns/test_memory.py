import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets.cnns import Cnn, CnnBuilder, build, training_memory
from trainlaw.formulas.errors import InputError, UnknownNameError


def small_net():
    net = CnnBuilder()
    x = net.conv(net.input(3, 8), 4, 3)
    x = net.elementwise(net.elementwise(x, "batchnorm", vector_parameters=8), "relu")
    x = net.elementwise(net.max_pool(x, 2), "dropout")
    net.softmax(net.dense(x, 5))
    return Cnn("net", "net", "net", 8, 5, net.layers)


def test_a_small_net_is_estimated_as_by_hand():
    # Kept: image, outputs of convolution, activation and dropout, scores; masks, indices.
    memory = training_memory(small_net(), 2)
    assert memory.activations == 2 * (4 * (192 + 256 + 256 + 64 + 5) + 8 * 64 + 1 * 64)
    assert memory.weights == memory.gradients == memory.optimizer == 4 * (108 + 8 + 325)
    assert memory.working == 2 * 4 * 512
    assert memory.workspace == 2 * 4 * 27 * 64
    assert memory.total == memory.needed + memory.working + memory.workspace + memory.context


@pytest.mark.parametrize(("optimizer", "values"), [("none", 0), ("sgd", 0), ("momentum", 1), ("adam", 2)])
def test_optimizers_keep_values_for_each_parameter(optimizer, values):
    memory = training_memory(small_net(), 1, optimizer=optimizer)
    assert memory.optimizer == values * memory.weights


def test_mixed_precision_keeps_half_the_activations():
    net = build("vgg11", 64, 10)
    whole, mixed = training_memory(net, 8), training_memory(net, 8, precision="amp")
    assert 0.5 < mixed.activations / whole.activations < 0.7
    assert mixed.weights == 1.5 * whole.weights


@given(st.sampled_from(["resnet18", "mobilenet_v2", "densenet121"]), st.integers(1, 64), st.integers(1, 64))
def test_memory_grows_with_the_batch(name, batch, more):
    net = build(name, 64, 10)
    small, large = training_memory(net, batch), training_memory(net, batch + more)
    assert small.activations * (batch + more) == large.activations * batch
    assert small.total < large.total


def test_wrong_settings_are_refused():
    with pytest.raises(UnknownNameError, match="precision"):
        training_memory(small_net(), 1, precision="fp31")
    with pytest.raises(UnknownNameError, match="optimizer"):
        training_memory(small_net(), 1, optimizer="adamm")
    with pytest.raises(InputError, match="batch"):
        training_memory(small_net(), 0)
