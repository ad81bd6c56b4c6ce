"""`trainlaw schedule`: the layers of a network on several streams of one GPU."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import Out, Pixels
from trainlaw.app.commands.own_files import GpuFile


class Phase(StrEnum):
    """What is scheduled."""

    training = "training"
    forward = "forward"


class Form(StrEnum):
    """How the schedule is printed or written."""

    table = "table"
    csv = "csv"
    json = "json"


def schedule_command(
    cnn: Annotated[str, typer.Option(help="Name of the CNN (`trainlaw cnn list`), or a file.")] = ...,
    gpu: Annotated[str, typer.Option(help="Name of the GPU (`trainlaw gpus list`).")] = ...,
    streams: Annotated[int, typer.Option(help="Streams, 1 to 128; fewer are shown, too.", min=1)] = 4,
    batch: Annotated[int, typer.Option(help="Images per iteration.", min=1)] = 32,
    pixels: Pixels = None,
    phase: Annotated[
        Phase, typer.Option(help="A whole iteration, or the forward pass alone.")
    ] = Phase.training,
    event: Annotated[
        float, typer.Option(help="Seconds that waiting for a task of another stream costs.", min=0)
    ] = 5e-6,
    gpu_file: GpuFile = None,
    law: Annotated[
        Path | None, typer.Option(help="formula.json of the time of one layer; default: the built-in one.")
    ] = None,
    gantt: Annotated[Path | None, typer.Option(help="SVG file to write: who runs when.")] = None,
    form: Annotated[Form, typer.Option("--format", help="How to print it.")] = Form.table,
    out: Out = None,
) -> None:
    """Schedule a network's layers on streams: makespan, speed-up, critical path, Gantt chart.

    A law of one layer gives each layer's time, and its thread blocks the share of the GPU that it fills.
    Layers run side by side where the graph lets them and their shares fit into the GPU; the most urgent goes
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
    from trainlaw.formulas import InputError, load_formula
    from trainlaw.formulas.files import write_text_atomically

    for path in filter(None, (out, gantt)):
        if path.exists():
            raise InputError(f"{path} exists; choose another name")
    of_layers = load_formula(law or LAYER_FORMULA)
    card = wanted_gpu(gpu, known_gpus(gpu_file))
    plan = plan_streams(
        named_cnn(cnn, pixels), card, batch, streams, phase=phase.value, event_s=event, law=of_layers
    )
    writers = {Form.table: lambda: plan_text(plan, of_layers), Form.csv: lambda: plan_csv(plan)}
    text = writers.get(form, lambda: plan_json(plan))().rstrip("\n")
    if gantt is not None:
        write_text_atomically(gantt, gantt_svg(plan))
    if out is not None:
        write_text_atomically(out, text + "\n")
    for path in filter(None, (out, gantt)):
        print(f"{path} written")
    if out is None:
        print(text)
