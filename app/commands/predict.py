"""`trainlaw predict`: the time of one configuration, of many, or on every GPU."""

from math import isnan
from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import (
    Fabric,
    Format,
    FormulaFile,
    GpuFile,
    Link,
    Out,
    OutputFormat,
    Pixels,
    ScalingFormula,
    check_new_files,
    print_or_write,
)


def _refuse_profile(value: object) -> None:
    """Point to the command that predicts from a profile; it was part of this one."""
    from trainlaw.formulas import InputError

    if value is not None:
        raise InputError(
            "prediction from a profile is a command now: trainlaw predict-from-profile, with the same options"
        )


def predict_command(
    cnn: Annotated[str | None, typer.Option(help="Name of the CNN (`trainlaw cnn list`), or a file.")] = None,
    gpu: Annotated[str | None, typer.Option(help="Name of the GPU (`trainlaw gpus list`).")] = None,
    batch: Annotated[int | None, typer.Option(help="Images per iteration on each GPU.", min=1)] = None,
    pixels: Pixels = None,
    precision: Annotated[str | None, typer.Option(help="fp32, tf32, amp, fp16, ...; default: fp32.")] = None,
    gpus: Annotated[
        int | None, typer.Option(help="GPUs that train together, each with its own batch.", min=1)
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="Nodes that the GPUs are spread over.", min=1)] = None,
    link: Link = None,
    fabric: Fabric = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Collective algorithm: ring, tree, ...; default: ring.")
    ] = None,
    scaling_formula: ScalingFormula = None,
    single_gpu_seconds: Annotated[
        float | None,
        typer.Option(help="Measured time on one GPU, for the scaling formula to start from.", min=1e-9),
    ] = None,
    all_gpus: Annotated[bool, typer.Option("--all-gpus", help="Every known GPU, fastest first.")] = False,
    runs: Annotated[
        Path | None,
        typer.Option("--from", help="CSV with the columns cnn, gpu, batch_per_gpu: many at once."),
    ] = None,
    gpu_file: GpuFile = None,
    formula: FormulaFile = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Group of constants that differ by group: LABEL=GROUP, such as harness=nvidia."),
    ] = None,
    form: Format = OutputFormat.table,
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    out: Out = None,
    anchor_profile: Annotated[str | None, typer.Option(hidden=True, callback=_refuse_profile)] = None,
    anchor_gpu: Annotated[str | None, typer.Option(hidden=True, callback=_refuse_profile)] = None,
    anchor_seconds: Annotated[str | None, typer.Option(hidden=True, callback=_refuse_profile)] = None,
    anchor_steps: Annotated[str | None, typer.Option(hidden=True, callback=_refuse_profile)] = None,
) -> None:
    """Predict the time of a training iteration, with an interval and warnings.

    For several GPUs, the formula gives the time on one and a scaling formula, evolved on measured runs, the
    time on several; collective algorithms that did not occur in its training, such as tree, are computed by
    the textbook.

    \b
    Examples:
      trainlaw predict --cnn resnet50 --gpu "A100-SXM4-40GB" --batch 64
      trainlaw predict --cnn resnet50 --gpu V100-SXM2-16GB --batch 64 --gpus 8 --nodes 2
      trainlaw predict --cnn vgg16 --gpu V100-SXM2-16GB --batch 32 --gpus 8 --single-gpu-seconds 0.142
      trainlaw predict --cnn vgg16 --batch 32 --all-gpus
      trainlaw predict --formula mine.json --cnn vgg16 --gpu T4 --batch 32 --label harness=nvidia
      trainlaw predict --from plans.csv --format csv --out times.csv
    """
    from trainlaw.app.inputs.requests import RunRequest, Setup, check_request, requested_runs
    from trainlaw.app.models.user_formula import find_formulas, parse_label_options, with_groups
    from trainlaw.app.predictions.predict import predict_runs
    from trainlaw.app.terminal.predictions import predictions_csv, predictions_json, predictions_text

    check_new_files([out])
    setup = Setup(precision, gpus, nodes, link, fabric, algorithm)
    request = RunRequest(cnn, gpu, batch, pixels, all_gpus, runs, gpu_file, setup)
    check_request(request, single_gpu_seconds)
    choice = find_formulas(formula, scaling_formula or "", Path.cwd())
    used, origin = with_groups(choice.formula, parse_label_options(label)), choice.origin
    predictions = predict_runs(used, requested_runs(request), choice.scaling, single_gpu_seconds)
    if single_gpu_seconds and choice.scaling is not None:
        used, origin = choice.scaling, choice.scaling_origin
    if all_gpus:
        predictions.sort(key=lambda prediction: (isnan(prediction.time_s), prediction.time_s))
    if as_json or form is OutputFormat.json:
        text = predictions_json(used, predictions)
    elif form is OutputFormat.csv:
        text = predictions_csv(predictions).rstrip("\n")
    else:
        text = predictions_text(used, origin, predictions)
    number = "1 prediction" if len(predictions) == 1 else f"{len(predictions)} predictions"
    print_or_write(text, out, f"{number} by {origin}")
