"""`trainlaw predict`: the time of one configuration, of many, or on every GPU."""

from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import Fabric, FormulaFile, Law, Link, Out, Pixels
from trainlaw.app.commands.own_files import GpuFile


class Form(StrEnum):
    """How predictions are printed or written."""

    table = "table"
    csv = "csv"
    json = "json"


def predict_command(
    cnn: Annotated[str | None, typer.Option(help="Name of the CNN (`trainlaw cnn list`).")] = None,
    gpu: Annotated[str | None, typer.Option(help="Name of the GPU (`trainlaw gpus list`).")] = None,
    batch: Annotated[int | None, typer.Option(help="Images per iteration on the GPU.", min=1)] = None,
    pixels: Pixels = None,
    precision: Annotated[
        str | None, typer.Option(help="fp32, tf32, amp, fp16, ...; default: fp32, or the file's.")
    ] = None,
    gpus: Annotated[
        int | None, typer.Option(help="GPUs that train together, each with its own batch.", min=1)
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="Nodes that the GPUs are spread over.", min=1)] = None,
    link: Link = None,
    fabric: Fabric = None,
    algorithm: Annotated[
        str | None, typer.Option(help="How gradients are exchanged: ring, tree, ...; default: ring.")
    ] = None,
    law: Law = None,
    single_gpu_seconds: Annotated[
        float | None,
        typer.Option(help="Measured time on one GPU; only the law of several predicts then.", min=1e-9),
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
        typer.Option(help="Where constants differ by group, the group: LABEL=GROUP, such as harness=nvidia."),
    ] = None,
    anchor_profile: Annotated[
        Path | None,
        typer.Option(
            help="Profile of a step on another GPU: PyTorch's table, a Chrome trace, op statistics."
        ),
    ] = None,
    anchor_gpu: Annotated[str | None, typer.Option(help="GPU that the profile was made on.")] = None,
    anchor_seconds: Annotated[
        float | None,
        typer.Option(help="Step on that GPU without the profiler; default: what it says.", min=1e-9),
    ] = None,
    anchor_steps: Annotated[
        int, typer.Option(help="Steps that the profile covers, where it does not say so.", min=1)
    ] = 1,
    form: Annotated[Form, typer.Option("--format", help="How to print it.")] = Form.table,
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    out: Out = None,
) -> None:
    """Predict the time of a training iteration, with an interval and warnings.

    Several GPUs: the time on one by the formula, on several by a law that was evolved on measured runs; for
    ways of exchanging gradients that did not occur there, such as tree, by the textbook.

    \b
    Examples:
      trainlaw predict --cnn resnet50 --gpu "A100-SXM4-40GB" --batch 64
      trainlaw predict --cnn resnet50 --gpu V100-SXM2-16GB --batch 64 --gpus 8 --nodes 2
      trainlaw predict --cnn vgg16 --gpu V100-SXM2-16GB --batch 32 --gpus 8 --single-gpu-seconds 0.142
      trainlaw predict --cnn vgg16 --batch 32 --all-gpus
      trainlaw predict --formula law.json --cnn vgg16 --gpu T4 --batch 32 --label harness=nvidia
      trainlaw predict --from plans.csv --format csv --out times.csv
      trainlaw predict --anchor-profile step.txt --anchor-gpu T4 --gpu V100 --cnn vgg16 --batch 32
    """
    from trainlaw.app.inputs.requests import wanted_runs
    from trainlaw.app.predictions.predict import find_laws, labels_of_options, of_groups, predict_runs
    from trainlaw.app.terminal.predictions import predictions_csv, predictions_json, predictions_text
    from trainlaw.formulas import InputError

    if out is not None and out.exists():
        raise InputError(f"{out} exists; choose another name for --out")
    if anchor_profile is not None or anchor_gpu is not None:
        asked = {"file": anchor_profile, "anchor": anchor_gpu, "target": gpu, "anchor_s": anchor_seconds}
        others = (
            runs, all_gpus, precision, gpus, nodes, link, fabric, algorithm, law, label, single_gpu_seconds,
        )  # fmt: skip
        workload, settings = (cnn, batch, pixels), {"steps": anchor_steps, "formula": formula}
        _from_anchor(asked, workload, settings, gpu_file, any(others), as_json or form is Form.json, out)
        return
    if link and (gpus or 1) == (nodes or 1):
        raise InputError("--link joins the GPUs of one node: ask for more --gpus than --nodes")
    if fabric and (nodes or 1) == 1:
        raise InputError("--fabric joins nodes: ask for several --nodes")
    if single_gpu_seconds and ((gpus or 1) == 1 or all_gpus or runs):
        raise InputError("--single-gpu-seconds is of one configuration on several --gpus of the kind --gpu")
    laws = find_laws(formula, law or "", Path.cwd())
    of_one, origin = of_groups(laws.formula, labels_of_options(label)), laws.origin
    wanted = wanted_runs(
        cnn=cnn, gpu=gpu, batch=batch, pixels=pixels, all_gpus=all_gpus, file=runs, gpu_file=gpu_file,
        precision=precision, n_gpus=gpus, n_nodes=nodes, link=link, network=fabric, algorithm=algorithm,
    )  # fmt: skip
    predictions = predict_runs(of_one, wanted, laws.several, single_gpu_seconds)
    if single_gpu_seconds and laws.several is not None:
        of_one, origin = laws.several, laws.several_origin
    if all_gpus:
        predictions.sort(key=lambda prediction: (isnan(prediction.time_s), prediction.time_s))
    if as_json or form is Form.json:
        text = predictions_json(of_one, predictions)
    elif form is Form.csv:
        text = predictions_csv(predictions).rstrip("\n")
    else:
        text = predictions_text(of_one, origin, predictions)
    number = "1 prediction" if len(predictions) == 1 else f"{len(predictions)} predictions"
    _print_or_write(text, out, f"{number} by {origin}")


def _print_or_write(text: str, out: Path | None, said: str) -> None:
    """Print a text, or write it to a file and say what it holds."""
    from trainlaw.formulas.files import write_text_atomically

    if out is None:
        print(text)
    else:
        write_text_atomically(out, text + "\n")
        print(f"{out}: {said}")


def _from_anchor(
    asked: dict,
    workload: tuple,
    settings: dict,
    gpu_file: Path | None,
    others: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Print or write a prediction from a profile on another GPU."""
    from trainlaw.app.inputs.resolve import known_gpus
    from trainlaw.app.predictions.anchor import Workload, anchor_json, anchor_text, predict_from_anchor
    from trainlaw.formulas import InputError

    if None in (asked["file"], asked["anchor"], asked["target"]):
        raise InputError("expected --anchor-profile, --anchor-gpu and --gpu together, got only some of them")
    if others:
        raise InputError(
            "--anchor-profile predicts one step on one GPU: leave out options of several, and --from"
        )
    gpus = known_gpus(gpu_file)
    prediction = predict_from_anchor(**asked, workload=Workload(*workload), gpus=gpus, **settings)
    text = anchor_json(prediction) if as_json else anchor_text(prediction)
    _print_or_write(text, out, f"1 prediction by {prediction.law}")
