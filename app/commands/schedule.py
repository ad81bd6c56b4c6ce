"""`trainlaw schedule`: the layers of a CNN on several streams of one GPU."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import Format, GpuFile, Out, OutputFormat, Pixels, check_new_files


class Phase(StrEnum):
    """What is scheduled."""

    training = "training"
    forward = "forward"


def schedule_command(
    cnn: Annotated[str, typer.Option(help="Name of the CNN (`trainlaw cnn list`), or a file.")],
    gpu: Annotated[str, typer.Option(help="Name of the GPU (`trainlaw gpus list`).")],
    streams: Annotated[
        int, typer.Option(help="Streams, 1 to 128; smaller numbers are shown too.", min=1)
    ] = 4,
    batch: Annotated[int, typer.Option(help="Images per iteration.", min=1)] = 32,
    pixels: Pixels = None,
    phase: Annotated[
        Phase, typer.Option(help="A whole iteration, or the forward pass alone.")
    ] = Phase.training,
    event: Annotated[
        float, typer.Option(help="Cost in seconds of waiting for a task of another stream.", min=0)
    ] = 5e-6,
    gpu_file: GpuFile = None,
    formula: Annotated[
        Path | None,
        typer.Option(
            "--formula", "--law", help="formula.json for the time of one layer; default: the built-in one."
        ),
    ] = None,
    gantt: Annotated[Path | None, typer.Option(help="Write the schedule as a Gantt chart (SVG).")] = None,
    form: Format = OutputFormat.table,
    out: Out = None,
) -> None:
    """Schedule the layers of a CNN on streams: makespan, speed-up, critical path, Gantt chart.

    A formula gives the time of each layer, and its thread blocks the share of the GPU that it occupies.
    Layers run concurrently where the graph permits it and their shares fit into the GPU; the most urgent goes
    first. Large batches fill a GPU with one layer, so little is gained there.

    \b
    Examples:
      trainlaw schedule --cnn inception_v3 --gpu V100-SXM2-16GB --streams 4
      trainlaw schedule --cnn googlenet --gpu V100-SXM2-16GB --batch 4 --phase forward --gantt googlenet.svg
      trainlaw schedule --cnn inception_v3 --gpu T4 --format csv --out layers.csv
    """
    from trainlaw.app.inputs.resolve import known_gpus, named_cnn
    from trainlaw.app.models.builtin import LAYER_FORMULA
    from trainlaw.app.predictions.streams import plan_streams
    from trainlaw.app.terminal.streams import gantt_svg, plan_csv, plan_json, plan_text
    from trainlaw.datasets.hardware.hypothetical import wanted_gpu
    from trainlaw.formulas import load_formula
    from trainlaw.formulas.files import write_text_atomically

    check_new_files([out, gantt])
    layer_formula = load_formula(formula or LAYER_FORMULA)
    target = wanted_gpu(gpu, known_gpus(gpu_file))
    plan = plan_streams(
        named_cnn(cnn, pixels),
        target,
        batch,
        streams,
        phase=phase.value,
        event_s=event,
        formula=layer_formula,
    )
    text = {
        OutputFormat.table: lambda: plan_text(plan, layer_formula),
        OutputFormat.csv: lambda: plan_csv(plan),
        OutputFormat.json: lambda: plan_json(plan),
    }[form]().rstrip("\n")
    if gantt is not None:
        write_text_atomically(gantt, gantt_svg(plan))
    if out is not None:
        write_text_atomically(out, text + "\n")
    for path in filter(None, (out, gantt)):
        print(f"{path} written")
    if out is None:
        print(text)
