"""`trainlaw gpus`: the cards that are known, and the facts of one."""

from typing import Annotated

import typer

app = typer.Typer(
    help="Show the GPUs that are known and their facts.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list")
def list_gpus(
    search: Annotated[
        str, typer.Argument(help="Show only GPUs whose name, chip or generation contains this text.")
    ] = "",
) -> None:
    """List the GPUs: name, generation, memory, peak rate, bandwidth.

    \b
    Examples:
      trainlaw gpus list
      trainlaw gpus list ampere
    """
    from trainlaw.app.plain_tables import text_table
    from trainlaw.app.quantities import show_with_prefix
    from trainlaw.datasets import built_in_gpus

    wanted = search.lower()
    rows = [
        [
            gpu.gpu, gpu.chip, gpu.generation, show_with_prefix(gpu.memory_bytes, "B"),
            show_with_prefix(gpu.peak_fp32_flop_per_s, "FLOP/s"),
            show_with_prefix(gpu.bandwidth_byte_per_s, "B/s"),
        ]
        for gpu in built_in_gpus().gpus
        if any(wanted in text.lower() for text in (gpu.gpu, gpu.chip, gpu.generation, *gpu.aliases))
    ]  # fmt: skip
    header = ["GPU", "chip", "generation", "memory", "peak fp32", "bandwidth"]
    print(text_table(header, rows, indent="") if rows else f"no GPU matches {search!r}")


@app.command("show")
def show_gpu(
    name: Annotated[str, typer.Argument(help="Name of the GPU, as torch, nvidia-smi or its sheet print it.")],
) -> None:
    """Show all facts of one GPU, with units and source.

    \b
    Example:
      trainlaw gpus show "NVIDIA A100-SXM4-40GB"
    """
    from dataclasses import asdict

    from trainlaw.app.show_facts import fact_text
    from trainlaw.datasets import find_gpu

    print(fact_text(asdict(find_gpu(name))))
