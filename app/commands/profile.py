"""`trainlaw profile`: measure training iterations on this machine, as rows that a study takes."""

import sys
from dataclasses import dataclass
from pathlib import Path

from trainlaw.app.inputs.declared import flag, option

_EXIT_INTERRUPTED = 130


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


def profile_command(
    *,
    asked: ProfileOptions,
    host: bool = flag("Measure in seconds how long this host takes to launch a layer's kernels.", "--host"),
) -> None:
    """Measure CNN training iterations on this machine.

    An iteration consists of forward pass, loss, backward pass and parameter update on random images; with
    --forward only the forward pass is measured, in evaluation mode. The CNNs
    are built from trainlaw's layer graphs and run on a CPU or GPU, in one process. Each configuration becomes
    a row of the file. Configurations in the file are not measured again, so an interruption loses only one.
    Needs torch: pip install 'trainlaw[profile]';
    only --host does without.
    """
    from trainlaw.app.commands.profile_jobs import host_text, run_profile

    if host:
        print(host_text())
        return
    try:
        print(run_profile(asked))
    except KeyboardInterrupt:
        print(
            f"trainlaw: interrupted; {asked.out} keeps what was measured; the same command continues",
            file=sys.stderr,
        )
        raise SystemExit(_EXIT_INTERRUPTED) from None
