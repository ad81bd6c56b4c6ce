import pytest
from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.memory import training_memory


def small_net():
    net = CnnBuilder()
    x = net.conv(net.input(3, 8), 4, 3)
    x = net.elementwise(net.elementwise(x, "batchnorm", vector_parameters=8), "relu")
    x = net.elementwise(net.pool(x, "max_pool", 2), "dropout")
    net.elementwise(net.dense(x, 5), "softmax")
    return Cnn("net", "net", "net", 8, 5, net.layers)


def test_a_small_net_is_estimated_as_by_hand():
    # Kept: image, outputs of convolution, activation and dropout, scores; masks, indices.
    memory = training_memory(small_net(), 2)
    assert memory.activations == 2 * (4 * (192 + 256 + 256 + 64 + 5) + 8 * 64 + 1 * 64)
    assert memory.weights == memory.gradients == memory.optimizer == 4 * (108 + 8 + 325)
    assert memory.working == 2 * 4 * 512
    assert memory.workspace == 2 * 4 * 27 * 64
    assert memory.total == memory.needed + memory.working + memory.workspace + memory.context


@pytest.mark.parametrize(("precision", "size"), [("amp", 4), ("fp16", 2), ("tf32", 4)])
def test_gradients_are_as_wide_as_weights_and_not_as_activations(precision, size):
    assert training_memory(small_net(), 1, precision).gradients == size * (108 + 8 + 325)
