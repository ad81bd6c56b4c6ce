"""One training iteration in torch: CNN, random images and labels, loss, gradients, optimizer."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn import functional
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.profiler.configurations import Configuration
from trainlaw.datasets.profiler.torch_cnn import TorchCnn

_LEARNING_RATE = 1e-3
_MOMENTUM = 0.9


class TorchStep:
    """A training iteration of a configuration, as `timing.TrainingStep`.

    `wrap` wraps the CNN for calls, such as DistributedDataParallel.
    """

    def __init__(
        self,
        cnn: Cnn,
        configuration: Configuration,
        wrap: Callable[[nn.Module], nn.Module] = lambda network: network,
    ) -> None:
        """Build CNN, optimizer and a batch on the configuration's device; seeded."""
        torch.manual_seed(0)
        device, self._precision = torch.device(configuration.device), configuration.precision
        dtype = torch.bfloat16 if self._precision == "bf16" else torch.float32
        with device:
            self.network = TorchCnn(cnn).to(dtype)
            self.images, self.labels = random_batch(cnn, configuration.batch, dtype)
        self._last = list(self.network.parameters())[-1]
        self.called = wrap(self.network)
        self.optimizer = torch.optim.SGD(self.network.parameters(), _LEARNING_RATE, _MOMENTUM)
        half = torch.float16 if device.type == "cuda" else torch.bfloat16
        self._half = half if self._precision == "amp" else None
        self._device_type = device.type
        # bf16 has the exponents of fp32: only fp16 needs scaled gradients.
        self._scaler = torch.amp.GradScaler(device.type, enabled=self._half == torch.float16)
        self._loss = torch.zeros(())

    def casting(self) -> AbstractContextManager[object]:
        """Return the context in which the forward pass casts to 16 bits, or one that does nothing."""
        return torch.autocast(self._device_type, self._half) if self._half else nullcontext()

    def forward(self) -> None:
        """Compute the loss of the batch."""
        with self.casting():
            scores = self.called(self.images)
            self._loss = scores_loss(scores, self.labels)

    def backward(self) -> None:
        """Compute the gradients."""
        self._scaler.scale(self._loss).backward()

    def update(self) -> None:
        """Update the weights and clear the gradients."""
        self._scaler.step(self.optimizer)
        self._scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def finish(self) -> None:
        """Wait until the weights are updated, by reading one of the last of them."""
        self._last.flatten()[0].item()


def random_batch(cnn: Cnn, batch: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return normally distributed images (batch, channels, side, side) and labels (batch,) for a CNN."""
    image = cnn.layers[0]
    images = torch.randn(batch, image.out_channels, image.out_height, image.out_width, dtype=dtype)
    return images, torch.randint(cnn.n_classes, (batch,))


def scores_loss(scores: tuple[Tensor, ...], labels: Tensor) -> Tensor:
    """Return the cross entropy of each output's scores, summed (auxiliary outputs count too)."""
    return torch.stack([functional.cross_entropy(each, labels) for each in scores]).sum()
