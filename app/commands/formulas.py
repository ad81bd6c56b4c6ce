"""`trainlaw show` and `trainlaw export`: explain a formula, or write it in another form."""

from pathlib import Path
from typing import TYPE_CHECKING

from trainlaw.app.commands.options import FormulaName, GpuFile, Json, Label, refuse
from trainlaw.app.inputs.declared import argument, flag, option

if TYPE_CHECKING:
    from trainlaw.datasets import RunTable
    from trainlaw.formulas import Formula

_SHOWN = ("resnet50", "V100-SXM2-16GB", 64)  # the configuration of `show`, where none is asked for


def export_command(
    formula: FormulaName = None,
    to: Path | None = option(
        "File to write; its suffix determines the format: .xlsx .html .py .mjs .json .tex; "
        "with --bare .py .js .c .R .jl.",
        "--out",
    ),
    bare: bool = flag("Function of features instead of names.", "--bare"),
    label: Label = None,
    overwrite: bool = flag("Replace the file if it exists.", "--overwrite"),
) -> None:
    """Export a formula to the format that the suffix of the file determines.

    A formula of iterations on one GPU becomes a program in Python or JavaScript that predicts from the names
    of CNN and GPU, with the tables that it needs (docs/exports.md). Other formulas, and all with --bare,
    become a function of their features.
    """
    from trainlaw.app.exports.formats import export_formula
    from trainlaw.app.models.user_formula import find_formula, with_groups

    if to is None:
        refuse("expected --out FILE, such as --out formula.xlsx")
    found, origin = find_formula(formula, Path.cwd())
    export_formula(with_groups(found, label), to, overwrite, bare)
    print(f"formula: {origin}\n{to} written")


def use_command(
    formula: Path | None = argument("Run folder or formula.json; without one, show what is in use."),
    built_in: bool = flag("Use the built-in formulas again.", "--built-in"),
) -> None:
    """Choose the formula that all commands use by default in this folder, or show it.

    The choice is stored in the file .trainlaw.json of the current folder. A scaling formula is used together
    with the formula for one GPU.
    """
    from trainlaw.app.inputs.used_formula import use_built_in, use_formula
    from trainlaw.app.models.user_formula import find_formulas, formula_file, purpose_of
    from trainlaw.formulas import load_formula

    if formula is not None and built_in:
        refuse("expected a formula or --built-in, got both")
    if built_in:
        use_built_in(Path.cwd())
    elif formula is not None:
        file = formula_file(formula)
        use_formula(file, purpose_of(load_formula(file), str(file)), Path.cwd())
    choice = find_formulas(None, "", Path.cwd())
    print(f"one GPU: {choice.origin}\nseveral GPUs: {choice.scaling_origin}")


def show_command(
    formula: FormulaName = None,
    cnn: str = option("CNN for which the shares of the terms are computed.", default=_SHOWN[0]),
    gpu: str = option("GPU for which the shares of the terms are computed.", default=_SHOWN[1]),
    batch: int = option("Images per iteration.", default=_SHOWN[2], min=1),
    gpu_file: GpuFile = None,
    most: int | None = option(
        "Show the formula of the front with at most N constants.", "--constants", min=1
    ),
    everything: bool = flag(
        "Also print forms, every term as a sentence, sensitivities, proofs, symbols and errors.", "--all"
    ),
    as_json: Json = False,
) -> None:
    """Print a formula, its largest terms in one configuration and its stated error."""
    from functools import partial

    from trainlaw.app.inputs.requests import DEFAULT_SETUP, one_run
    from trainlaw.app.inputs.resolve import known_gpus
    from trainlaw.app.models.settings import setup_for
    from trainlaw.app.models.user_formula import find_formula, formula_of_size
    from trainlaw.app.terminal.formula import describe
    from trainlaw.app.terminal.progress import shown_steps

    here = Path.cwd()
    found, origin = formula_of_size(formula, here, most) if most else find_formula(formula, here)
    if as_json:
        from trainlaw.app.terminal.as_json import formula_json

        print(formula_json(found, origin))
        return
    setup = setup_for(found, DEFAULT_SETUP)
    run = partial(one_run, cnn, gpu, batch, setup=setup, gpus=known_gpus(gpu_file))
    with shown_steps() as on_step:
        text = describe(found, origin, run, everything, on_step)
    asked = (cnn, gpu, batch) != _SHOWN
    print("\n".join([text, *(_warnings(found, run()) if asked else [])]))


def _warnings(formula: "Formula", run: "RunTable") -> list[str]:
    """Return what a prediction of the configuration warns of."""
    from trainlaw.app.models.scopes import handling
    from trainlaw.app.predictions.predict import predict_runs
    from trainlaw.formulas.scopes import MULTI_GPU

    if formula.scope == MULTI_GPU or not handling(formula).is_predictable:
        return []
    return [f"warning: {warning}" for warning in predict_runs(formula, run)[0].warnings]
