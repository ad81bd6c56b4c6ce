"""Ten small modules for the readers, each with its learned elements and MACs counted by hand.

Inputs are 3 x 32 x 32. A convolution of k x k from c to d channels in g groups has d c/g k k weights and as
many MACs a pixel of its output (of its input, if transposed); a batch normalisation has two learned elements
a channel.
"""

import pytest
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.memory import training_memory
from trainlaw.datasets.cnns.readers.onnx_reader import read_onnx
from trainlaw.datasets.cnns.readers.torch_reader import read_torch
from trainlaw.formulas.errors import InputError

from ....rows import each_row

torch = pytest.importorskip("torch", reason="the extra 'profile' brings torch")
nn, functional = torch.nn, torch.nn.functional
SHAPE = (3, 32, 32)


def convolution(inputs, outputs, size, **options):
    return [nn.Conv2d(inputs, outputs, size, bias=False, **options), nn.BatchNorm2d(outputs)]


def pooled(channels):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)]


def plain():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 16 * 16, 10)
    )


def normalised():
    return nn.Sequential(
        *convolution(3, 16, 3, stride=2, padding=1),
        nn.ReLU(inplace=True),
        *convolution(16, 32, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(32, 10),
    )


def grouped():
    return nn.Sequential(
        *convolution(3, 12, 3, padding=1),
        nn.ReLU(),
        *convolution(12, 24, 3, padding=1, groups=3),
        nn.ReLU(),
        nn.AvgPool2d(4),
        nn.Flatten(),
        nn.Linear(24 * 8 * 8, 10),
    )


def depthwise():
    return nn.Sequential(
        *convolution(3, 16, 3, stride=2, padding=1),
        nn.ReLU6(),
        *convolution(16, 16, 5, padding=2, groups=16),
        nn.ReLU6(),
        *convolution(16, 24, 1),
        *pooled(24),
    )


def dilated():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=2, dilation=2),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, dilation=3),
        nn.LeakyReLU(0.1),
        nn.MaxPool2d(3, stride=2, padding=1),
        nn.Flatten(),
        nn.Linear(8 * 13 * 13, 10),
    )


def transposed():
    return nn.Sequential(
        nn.Conv2d(3, 8, 4, stride=4),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(6, 4, 4, stride=2, padding=1, groups=2, bias=False),
        nn.BatchNorm2d(4),
        *pooled(4),
    )


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(*convolution(3, 16, 3, padding=1))
        self.left = nn.Sequential(*convolution(16, 16, 3, padding=1))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = functional.relu(self.stem(x))
        x = functional.relu(self.left(x) + x)
        return self.head(x.mean((2, 3)))


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(3, 8, 1)
        self.three = nn.Conv2d(3, 8, 3, padding=1)
        self.wide = nn.Conv2d(3, 4, (1, 5), padding=(0, 2))
        self.head = nn.Linear(20, 10)

    def forward(self, x):
        x = torch.cat([functional.relu(self.one(x)), functional.relu(self.three(x)), self.wide(x)], 1)
        x = functional.max_pool2d(x, 2)
        return self.head(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(*convolution(3, 16, 3, stride=2, padding=1))
        self.squeeze = nn.Conv2d(16, 4, 1)
        self.excite = nn.Conv2d(4, 16, 1)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = functional.silu(self.stem(x))
        gate = torch.sigmoid(self.excite(functional.relu(self.squeeze(functional.adaptive_avg_pool2d(x, 1)))))
        x = functional.hardswish(x * gate)
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Shuffled(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(*convolution(3, 16, 3, stride=2, padding=1))
        self.right = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = functional.relu(self.stem(x))
        kept, x = x.chunk(2, 1)
        x = torch.cat([kept, self.right(x)], 1)
        batch, channels, height, width = x.shape
        x = x.view(batch, 2, channels // 2, height, width).transpose(1, 2).contiguous()
        x = x.view(batch, channels, height, width)
        x = functional.interpolate(x, scale_factor=2.0)
        return self.head(x.mean([2, 3]))


# Hand counts: class -> (learned elements, MACs, layers but the input, the final softmax included).
HAND_COUNTS = {
    plain: (8 * 27 + 8 + 2048 * 10 + 10, 8 * 27 * 1024 + 2048 * 10, 5),
    normalised: (16 * 27 + 32 + 32 * 16 + 64 + 330, 16 * 27 * 256 + 32 * 16 * 256 + 320, 9),
    grouped: (12 * 27 + 24 + 24 * 4 * 9 + 48 + 15370, (12 * 27 + 24 * 4 * 9) * 1024 + 15360, 9),
    depthwise: (
        16 * 27 + 32 + 16 * 25 + 32 + 24 * 16 + 48 + 250,
        (16 * 27 + 16 * 25 + 24 * 16) * 256 + 240,
        11,
    ),
    dilated: (8 * 27 + 8 + 8 * 72 + 8 + 13530, 8 * 27 * 1024 + 8 * 72 * 26 * 26 + 13520, 7),
    transposed: (
        8 * 48 + 8 + 6 * 72 + 6 + 2 * 6 * 16 + 8 + 50,
        8 * 48 * 64 + 6 * 72 * 64 + 2 * 6 * 16 * 256 + 40,
        9,
    ),
    Residual: (16 * 27 + 32 + 16 * 144 + 32 + 170, (16 * 27 + 16 * 144) * 1024 + 160, 10),
    Branching: (32 + 8 * 27 + 8 + 64 + 210, (24 + 8 * 27 + 60) * 1024 + 200, 10),
    Gated: (16 * 27 + 32 + 68 + 80 + 170, 16 * 27 * 256 + 64 + 64 + 160, 13),
    Shuffled: (16 * 27 + 32 + 72 + 170, (16 * 27 + 72) * 256 + 160, 12),
}


def hand_counted(cnn):
    found = counts(cnn)
    return found["params"], found["macs"], found["n_layers"]


@each_row("module", HAND_COUNTS)
def test_a_module_is_counted_as_by_hand(module):
    cnn = read_torch(module(), SHAPE)
    assert hand_counted(cnn) == HAND_COUNTS[module]
    assert cnn.notes == ()


@pytest.mark.parametrize("module", HAND_COUNTS)
def test_an_export_in_training_mode_gives_the_same_counts(module, tmp_path):
    path = tmp_path / "net.onnx"
    try:
        torch.onnx.export(
            module().train(),
            (torch.randn(2, *SHAPE),),
            path,
            training=torch.onnx.TrainingMode.TRAINING,
            do_constant_folding=False,
            opset_version=17,
            dynamo=False,
        )
    except (ImportError, TypeError, AttributeError) as error:
        pytest.skip(f"this torch has no export in training mode: {error}")
    assert counts(read_onnx(path)) == counts(read_torch(module(), SHAPE))


@each_row("module", HAND_COUNTS)
def test_activations_kept_are_those_that_torch_saves(module):
    net, batch, saved = module().train(), 4, {}
    learned = {tensor.untyped_storage().data_ptr() for tensor in (*net.parameters(), *net.buffers())}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in learned:
            saved[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        functional.cross_entropy(net(torch.randn(batch, *SHAPE)), torch.zeros(batch, dtype=torch.long))
    measured = sum(size for size, _ in saved.values())
    estimated = training_memory(read_torch(net, SHAPE), batch).activations
    # What is left are batch statistics and the class labels, a few hundred bytes.
    assert estimated == pytest.approx(measured, rel=0.005)


def test_reading_leaves_the_module_as_it_was():
    net = normalised().eval()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    read_torch(net, SHAPE)
    assert not any(part.training for part in net.modules())
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert {value.device.type for value in net.state_dict().values()} == {"cpu"}


class Functions(nn.Module):
    """Functions of torch that the ten nets do not use."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(3)
        self.mix = nn.Linear(3, 6)
        self.slope = nn.PReLU(6)
        self.scale = nn.Parameter(torch.ones(6, 1, 1))
        self.groups = nn.GroupNorm(2, 6)

    def forward(self, x):
        x = self.mix(self.norm(x.permute(0, 2, 3, 1))).permute(0, 3, 1, 2)
        x = self.slope(x) * self.scale
        x = functional.pad(self.groups(x), (1, 2, 3, 4))
        x = functional.avg_pool2d(x, 3, 2, ceil_mode=True)
        x = nn.functional.channel_shuffle(x, 3)
        x = torch.cat([x[:, :2], x.narrow(1, 2, 4)], dim=1)
        x += 1
        x = functional.adaptive_max_pool2d(x, (4, 2))
        return torch.softmax(x.amax((2, 3)), dim=1)


def test_functions_beside_the_layers_are_followed():
    cnn = read_torch(Functions(), SHAPE, name="functions")
    kinds = "layernorm linear prelu scale groupnorm pad average_pool channel_shuffle slice slice concat scale"
    assert [layer.kind for layer in cnn.layers[1:]] == [*kinds.split(), "max_pool", "max_pool", "softmax"]
    assert [layer.vector_parameters for layer in cnn.layers[3:6]] == [6, 6, 12]
    assert sum(layer.parameters for layer in cnn.layers) == 6 + 24 + 6 + 6 + 12


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1, bias=False)

    def forward(self, x):
        return self.conv(self.conv(x)).mean((2, 3))


def test_shared_weights_are_told():
    assert "holds 81 learned elements, its layers 162" in read_torch(Shared(), SHAPE).notes[0]


class Computing(nn.Module):
    def __init__(self, computed):
        super().__init__()
        self.computed = computed

    def forward(self, x):
        return self.computed(x)


def writing(x):
    y = torch.zeros_like(x)
    y[:, :1] = x[:, :1]
    return y


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Computing(lambda x: torch.linalg.norm(x, dim=1)), "is not supported"),
        (Computing(lambda x: x.view(7, 7)), "forward pass fails on the meta device"),
        (Computing(lambda x: torch.zeros(2, 10)), "output that depends on the input"),
        (Computing(writing), "setitem.*not supported"),
        (nn.Conv1d(3, 4, 3), "forward pass fails|is not supported"),
        (nn.Sequential(nn.Conv2d(4, 4, 3)), "forward pass fails"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_one_line(module, message):
    with pytest.raises(InputError, match=message) as caught:
        read_torch(module, SHAPE)
    assert "\n" not in str(caught.value)
