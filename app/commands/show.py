"""`trainlaw show`: a formula read term by term."""

from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import FormulaName
from trainlaw.app.commands.own_files import GpuFile

_SEVERAL = 8  # GPUs of the configuration that shows a law of several


def show_command(
    formula: FormulaName = None,
    cnn: Annotated[str, typer.Option(help="CNN for which the shares are computed.")] = "resnet50",
    gpu: Annotated[str, typer.Option(help="GPU for which the shares are computed.")] = "V100-SXM2-16GB",
    batch: Annotated[int, typer.Option(help="Images per iteration.", min=1)] = 64,
    gpu_file: GpuFile = None,
) -> None:
    """Print a formula and read it: forms, terms in words, shares of the time, what moves it, errors.

    \b
    Examples:
      trainlaw show
      trainlaw show trainlaw-run --cnn vgg16 --gpu T4 --batch 32
      trainlaw show xeon-phi-a
    """
    from trainlaw.app.inputs.requests import one_run
    from trainlaw.app.inputs.resolve import known_gpus
    from trainlaw.app.models.builtin import BUILT_IN
    from trainlaw.app.models.custom_features import has_own_features, own_text
    from trainlaw.app.models.multi_gpu import needs_single_gpu_time, with_time_on_one_gpu
    from trainlaw.app.predictions.predict import find_formula
    from trainlaw.app.terminal.formula import formula_text
    from trainlaw.formulas import load_formula

    law, origin = find_formula(formula, Path.cwd())
    if has_own_features(law):
        print(own_text(law, origin))
        return
    if needs_single_gpu_time(law):
        run = one_run(cnn, gpu, batch, gpus=known_gpus(gpu_file), n_gpus=_SEVERAL)
        shown = with_time_on_one_gpu(run, load_formula(BUILT_IN))
        print(formula_text(law, origin, shown))
        print(f"\nshown for {_SEVERAL} GPUs of a node and a ring; one takes what the built-in formula says")
        return
    print(formula_text(law, origin, one_run(cnn, gpu, batch, gpus=known_gpus(gpu_file))))
