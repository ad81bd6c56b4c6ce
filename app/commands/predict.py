"""`trainlaw predict`: the time of one configuration, of many, or on every GPU."""

from pathlib import Path
from typing import Annotated

import typer


def predict_command(
    cnn: Annotated[str | None, typer.Option(help="Name of the CNN (`trainlaw cnn list`).")] = None,
    gpu: Annotated[str | None, typer.Option(help="Name of the GPU (`trainlaw gpus list`).")] = None,
    batch: Annotated[int | None, typer.Option(help="Images per iteration on the GPU.", min=1)] = None,
    pixels: Annotated[
        int | None, typer.Option(help="Height and width of an image; default: the CNN's own.", min=1)
    ] = None,
    all_gpus: Annotated[bool, typer.Option("--all-gpus", help="Every known GPU, fastest first.")] = False,
    runs: Annotated[
        Path | None, typer.Option(help="CSV with the columns cnn, gpu, batch_per_gpu: many at once.")
    ] = None,
    formula: Annotated[
        Path | None,
        typer.Option(help="formula.json or run folder; default: the newest run here, else the built-in one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Predict the time of a training iteration, with an interval and warnings.

    \b
    Examples:
      trainlaw predict --cnn resnet50 --gpu "A100-SXM4-40GB" --batch 64
      trainlaw predict --cnn vgg16 --batch 32 --all-gpus
      trainlaw predict --runs plans.csv --json
    """
    from trainlaw.app.predict import find_formula, predict_runs
    from trainlaw.app.show_predictions import predictions_json, predictions_text
    from trainlaw.app.wanted import wanted_runs

    law, origin = find_formula(formula, Path.cwd())
    wanted = wanted_runs(cnn=cnn, gpu=gpu, batch=batch, pixels=pixels, all_gpus=all_gpus, file=runs)
    predictions = predict_runs(law, wanted)
    if all_gpus:
        predictions.sort(key=lambda prediction: prediction.time_s)
    print(predictions_json(law, predictions) if as_json else predictions_text(law, origin, predictions))
