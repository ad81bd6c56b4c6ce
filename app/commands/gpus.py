"""`trainlaw gpus`: the known GPUs, the specifications of one, and the links between them."""

from typing import Annotated

import typer
from trainlaw.app.commands.options import GpuFile

app = typer.Typer(
    help="Show the known GPUs and links, and their specifications.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_gpus(
    search: Annotated[
        str, typer.Argument(help="Show only GPUs whose name, chip or generation contains this text.")
    ] = "",
    gpu_file: GpuFile = None,
) -> None:
    """List the GPUs: name, chip, generation, memory, peak rate, bandwidth.

    \b
    Examples:
      trainlaw gpus list
      trainlaw gpus list ampere
      trainlaw gpus list --gpu-file my-gpus.csv
    """
    from trainlaw.app.inputs.resolve import known_gpus
    from trainlaw.app.terminal.catalog import known_with_prefix
    from trainlaw.app.text.tables import text_table

    wanted = search.lower()
    rows = [
        [
            gpu.gpu, gpu.chip or "-", gpu.generation or "-", known_with_prefix(gpu.memory_bytes, "B", 3),
            known_with_prefix(gpu.peak_fp32_flop_per_s, "FLOP/s", 3),
            known_with_prefix(gpu.bandwidth_byte_per_s, "B/s", 3),
        ]
        for gpu in known_gpus(gpu_file).gpus
        if any(wanted in text.lower() for text in (gpu.gpu, gpu.chip, gpu.generation, *gpu.aliases))
    ]  # fmt: skip
    header = ["GPU", "chip", "generation", "memory", "peak fp32", "bandwidth"]
    print(text_table(header, rows, indent="") if rows else f"no GPU matches {search!r}")


@app.command("show")
def show_gpu(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the GPU, as torch, nvidia-smi or its data sheet print it; or a hypothetical GPU."
        ),
    ],
    gpu_file: GpuFile = None,
) -> None:
    """Show all specifications of one GPU, each with its unit and source.

    Hypothetical GPUs are written in one line: "GPU with 2x SPEC, SPEC=NUMBER". SPEC is a name of this table
    or the beginning of one; "2x peak" doubles all peak rates. A file of custom GPUs needs the columns gpu,
    sm_count, core_count, boost_clock_hz, peak_fp32_flop_per_s, memory_bytes and bandwidth_byte_per_s for a
    new GPU, and only the name and what differs for a known one.

    \b
    Examples:
      trainlaw gpus show "NVIDIA A100-SXM4-40GB"
      trainlaw gpus show "A100-SXM4-40GB with 2x bandwidth"
      trainlaw gpus show "My GPU" --gpu-file my-gpus.csv
    """
    from trainlaw.app.inputs.resolve import known_gpus
    from trainlaw.app.terminal.catalog import gpu_text
    from trainlaw.datasets.hardware.hypothetical import wanted_gpu

    print(gpu_text(wanted_gpu(name, known_gpus(gpu_file))))


@app.command("links")
def list_links(
    search: Annotated[
        str, typer.Argument(help="Show only links whose name or kind contains this text.")
    ] = "",
) -> None:
    """List the links between GPUs and between nodes: rate, latency, and the source of each figure.

    \b
    Examples:
      trainlaw gpus links
      trainlaw gpus links nvlink
    """
    from trainlaw.app.terminal.catalog import links_text
    from trainlaw.datasets.hardware.links import links

    wanted = search.lower()
    known = [link for link in links().values() if link.link != "none"]
    chosen = [link for link in known if wanted in f"{link.link} {link.kind}".lower()]
    print(links_text(chosen) if chosen else f"no link matches {search!r}")
