"""The options of `trainlaw profile`, which the command declares and its jobs read."""

from dataclasses import dataclass
from pathlib import Path

from trainlaw.app.inputs.declared import flag, option


@dataclass(frozen=True)
class ProfileOptions:
    """Configurations to measure and when to stop; lists are texts with commas, `interval` is in percent."""

    cnns: str = option(
        "CNNs, separated by commas (`trainlaw cnn list`).",
        "--cnn",
        default="resnet18,mobilenet_v2,squeezenet1_1",
    )
    batch: str = option("Images per iteration, separated by commas.", default="8,32")
    input_px: str = option(
        "Sides of an image in pixels, separated by commas; default: that of each CNN.", "--pixels", default=""
    )
    precision: str = option(
        "fp32, tf32, default (PyTorch's own), amp, bf16; on a CPU amp casts to bf16.", default="fp32"
    )
    stack: str = option(
        "eager or channels_last, how activations are stored, separated by commas.", default="eager"
    )
    forward: bool = flag("Measure forward passes (inference) instead of iterations.", "--forward")
    classes: int | None = option("Number of classes; default: that of each CNN.", min=1, max=10**6)
    device: str = option("auto, cpu or cuda.", default="auto")
    threads: str = option("Threads on a CPU, separated by commas; default: all cores.", default="")
    plan: Path | None = option(
        "CSV of configurations instead of --cnn, --batch, --pixels, --precision, --stack."
    )
    out: Path = option("CSV file of runs; further files are written next to it.", default=Path("runs.csv"))
    limit_seconds: float = option(
        "Time limit for one configuration, including warm-up.", default=10.0, min=0.1, max=86400.0
    )
    interval: float = option(
        "Repeat until the 95 % interval of the median is at most this wide, in percent.",
        default=2.0,
        min=0.01,
    )
    micro: bool = flag("Measure achieved rates instead of iterations: matrix products, copies.", "--micro")
