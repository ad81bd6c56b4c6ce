"""`trainlaw predict-from-profile`: the time on a target GPU from a profile on an anchor GPU."""

from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import (
    FormulaFile,
    GpuFile,
    Out,
    OutputFormat,
    Pixels,
    check_new_files,
    print_or_write,
)


def predict_from_profile_command(
    anchor_profile: Annotated[
        Path | None,
        typer.Option(
            "--anchor-profile",
            "--profile",
            help="Profile of an iteration on the anchor GPU: PyTorch's table, a Chrome trace, op statistics.",
        ),
    ] = None,
    anchor_gpu: Annotated[
        str | None, typer.Option(help="Anchor GPU: the one that the profile was made on.")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="Target GPU: the one to predict for.")] = None,
    cnn: Annotated[str | None, typer.Option(help="Name of the profiled CNN, or its file.")] = None,
    batch: Annotated[int | None, typer.Option(help="Images per iteration of the profile.", min=1)] = None,
    pixels: Pixels = None,
    anchor_seconds: Annotated[
        float | None,
        typer.Option(
            help="Time of an iteration on the anchor GPU without the profiler; default: by the profile.",
            min=1e-9,
        ),
    ] = None,
    anchor_steps: Annotated[
        int, typer.Option(help="Iterations that the profile covers, where it does not say so.", min=1)
    ] = 1,
    formula: FormulaFile = None,
    gpu_file: GpuFile = None,
    form: Annotated[OutputFormat, typer.Option("--format", help="table or json.")] = OutputFormat.table,
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    out: Out = None,
) -> None:
    """Predict the time of an iteration on one GPU from a profile of it on another.

    Pairs of GPUs that were measured have their own formulas; others share one that needs --cnn and --batch.

    \b
    Examples:
      trainlaw predict-from-profile --profile step.txt --anchor-gpu T4 --gpu V100 --cnn vgg16 --batch 32
      trainlaw predict-from-profile --profile trace.json --anchor-gpu T4 --gpu K80 --anchor-seconds 0.21
    """
    from trainlaw.app.inputs.resolve import known_gpus
    from trainlaw.app.predictions.anchor import (
        ProfileRequest,
        Workload,
        anchor_json,
        anchor_text,
        predict_from_profile,
    )
    from trainlaw.formulas import InputError

    check_new_files([out])
    if anchor_profile is None or anchor_gpu is None or gpu is None:
        raise InputError("expected --anchor-profile, --anchor-gpu and --gpu together, got only some of them")
    if form is OutputFormat.csv:
        raise InputError("--format csv: one prediction from a profile is printed as table or json")
    request = ProfileRequest(
        anchor_profile, anchor_gpu, gpu, Workload(cnn, batch, pixels), anchor_seconds, anchor_steps, formula
    )
    prediction = predict_from_profile(request, known_gpus(gpu_file))
    text = anchor_json(prediction) if as_json or form is OutputFormat.json else anchor_text(prediction)
    print_or_write(text, out, f"1 prediction by {prediction.formula}")
