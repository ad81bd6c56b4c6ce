"""`trainlaw profile`: measure training iterations on this machine, as rows that a study takes."""

from pathlib import Path
from typing import Annotated

import typer

_EXIT_INTERRUPTED = 130


def profile_command(
    cnns: Annotated[
        str, typer.Option("--cnn", help="CNNs, separated by commas (`trainlaw cnn list`).")
    ] = "resnet18,mobilenet_v2,squeezenet1_1",
    batch: Annotated[
        str, typer.Option(help="Images per iteration and process, separated by commas.")
    ] = "8,32",
    input_px: Annotated[
        str,
        typer.Option(
            "--pixels", help="Sides of an image in pixels, separated by commas; default: that of each CNN."
        ),
    ] = "",
    precision: Annotated[
        str, typer.Option(help="fp32, tf32, amp, bf16; on a CPU amp casts to bf16.")
    ] = "fp32",
    stack: Annotated[
        str, typer.Option(help="eager or channels_last, how activations are stored, separated by commas.")
    ] = "eager",
    forward: Annotated[
        bool, typer.Option("--forward", help="Measure forward passes (inference) instead of iterations.")
    ] = False,
    classes: Annotated[
        int | None, typer.Option(help="Number of classes; default: that of each CNN.", min=1, max=10**6)
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[
        str, typer.Option(help="Threads of a process on a CPU, separated by commas; default: all cores.")
    ] = "",
    processes: Annotated[
        str,
        typer.Option(
            help="Numbers of processes that train together, separated by commas; on GPUs one per GPU."
        ),
    ] = "1",
    nodes: Annotated[
        int,
        typer.Option(
            "--nodes", "--nnodes", help="Number of hosts; run the same command on each.", min=1, max=4096
        ),
    ] = 1,
    rendezvous: Annotated[
        str,
        typer.Option(
            "--rendezvous", "--rdzv-endpoint", help="HOST:PORT of one host, to which all hosts connect."
        ),
    ] = "",
    link: Annotated[str, typer.Option(help="Link between the GPUs of a host, such as nvlink3-x12.")] = "",
    network: Annotated[
        str, typer.Option("--fabric", "--network", help="Link between hosts, such as infiniband-hdr.")
    ] = "",
    plan: Annotated[
        Path | None,
        typer.Option(help="CSV of configurations instead of --cnn, --batch, --pixels, --precision, --stack."),
    ] = None,
    out: Annotated[Path, typer.Option(help="CSV file of runs; further files are written next to it.")] = Path(
        "runs.csv"
    ),
    limit_seconds: Annotated[
        float,
        typer.Option(help="Time limit for one configuration, including warm-up.", min=0.1, max=86400.0),
    ] = 10.0,
    interval: Annotated[
        float,
        typer.Option(
            help="Repeat until the 95 % interval of the median is at most this wide, in percent.", min=0.01
        ),
    ] = 2.0,
    layers: Annotated[
        bool, typer.Option("--layers", help="Measure each layer instead of iterations.")
    ] = False,
    micro: Annotated[
        bool,
        typer.Option(
            "--micro", help="Measure achieved rates instead of iterations: matrix products, copies, links."
        ),
    ] = False,
    host: Annotated[
        bool,
        typer.Option(
            "--host", help="Measure in seconds how long this host takes to launch a layer's kernels."
        ),
    ] = False,
) -> None:
    """Measure CNN training iterations on this machine.

    An iteration consists of forward pass, loss, backward pass and parameter update on random images; with
    --forward only the forward pass is measured, in evaluation mode. The CNNs
    are built from trainlaw's layer graphs and run on a CPU or GPU, in one process or several
    (DistributedDataParallel). Each configuration becomes a row of the file. Configurations in the file are
    not measured again, so an interruption loses only one. Needs torch: pip install 'trainlaw[profile]';
    only --host does without.

    \b
    Examples:
      trainlaw profile --cnn resnet18,vgg11 --batch 8,32 --pixels 64 --threads 1,2 --out runs.csv
      trainlaw profile --cnn resnet50 --batch 256 --precision amp --stack eager,channels_last --forward
      trainlaw profile --plan plan.csv --out runs.csv
      trainlaw profile --processes 1,2 --threads 1 --out two.csv
      trainlaw profile --micro --threads 1,2 --out runs.csv
      trainlaw profile --host
    """
    import sys

    from trainlaw.app.commands.profile_jobs import ProfileOptions, host_text, run_profile

    if host:
        print(host_text())
        return
    options = ProfileOptions(
        cnns=cnns, batch=batch, input_px=input_px, precision=precision, classes=classes, device=device,
        threads=threads, processes=processes, nodes=nodes, rendezvous=rendezvous, link=link, network=network,
        plan=plan, out=out, limit_seconds=limit_seconds, interval=interval, layers=layers, micro=micro,
        stack=stack, forward=forward,
    )  # fmt: skip
    try:
        print(run_profile(options))
    except KeyboardInterrupt:
        print(
            f"trainlaw: interrupted; {out} keeps what was measured; the same command continues",
            file=sys.stderr,
        )
        raise typer.Exit(_EXIT_INTERRUPTED) from None
