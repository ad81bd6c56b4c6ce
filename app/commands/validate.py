"""`trainlaw validate`: the held-out error of a formula that the user writes, next to the baselines."""

from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import CnnFiles, GpuFile


def _scope(of: str) -> str:
    """The scope of the formulas that a kind of study finds."""
    from trainlaw.app.studies.kinds import STUDY_KINDS
    from trainlaw.formulas.errors import unknown_name

    if of not in STUDY_KINDS:
        raise unknown_name("kind of study", of, STUDY_KINDS)
    return STUDY_KINDS[of].scope


def validate_command(
    formula: Annotated[
        str, typer.Option(help="The formula for seconds, in features or short names; or a formula.json.")
    ],
    table: Annotated[
        str, typer.Argument(help="A built-in table (`trainlaw data list`) or a file of your own runs.")
    ] = "default",
    of: Annotated[
        str,
        typer.Option(
            help="What the formula models: runs, or layers, summed over each CNN; as for `trainlaw study`."
        ),
    ] = "runs",
    refit: Annotated[bool, typer.Option("--refit", help="Fit its constants again inside each fold.")] = False,
    split: Annotated[str, typer.Option(help="What is held out, as for `trainlaw study`.")] = "gpu-folds",
    folds: Annotated[int, typer.Option(help="Number of parts of the groups.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="Random seed for assigning groups to folds.", min=0)] = 0,
    against: Annotated[
        str, typer.Option(help="Baselines on the same splits: all, or names separated by commas.")
    ] = "null_compute,roofline",
    gpu_file: GpuFile = None,
    cnn_file: CnnFiles = None,
    into: Annotated[
        Path | None,
        typer.Option(help="Folder to write, as `trainlaw study` does: report, workbook, errors.csv, ..."),
    ] = None,
) -> None:
    """Evaluate your own formula: held-out error per architecture, next to null model and roofline.

    Short names: batch, peak, bandwidth, activations, conv_outputs, im2col, parameters, weights, layers,
    convs, bytes, sms, cores; all others as listed by `trainlaw features`. Functions: sqrt, cbrt, square,
    cube, exp, log, min, max, abs, tanh, ...

    \b
    Examples:
      trainlaw validate --formula "6 * macs * batch / peak / 0.4"
      trainlaw validate --refit --formula "9 * macs * batch / peak + 30 * batch * activations / bandwidth"
      trainlaw validate --formula trainlaw-run/formula.json --split cnn
      trainlaw validate --of layers --formula "2 * compute_s * (1 + 30 / columns) + 9 * output_memory_s"
      trainlaw validate runs.csv --gpu-file runs-machine.csv --formula trainlaw-run/formula.json
    """
    from trainlaw.app.inputs.run_folder import check_target, new_run_folder
    from trainlaw.app.models.user_formula import read_formula, unit_fault
    from trainlaw.app.report.run_files import write_run_files
    from trainlaw.app.studies.definition import definition_of, read_study_table
    from trainlaw.app.studies.study import score_formula
    from trainlaw.app.terminal.formula import equation_text, errors_text, symbols_text

    law = read_formula(formula, _scope(of))
    if into is not None:
        check_target(into, False)
    options = {
        "table": table, "of": of, "split": split, "folds": folds, "seed": seed, "against": against,
        "gpu_file": str(gpu_file or ""), "cnn_file": list(map(str, cnn_file or ())),
    }  # fmt: skip
    wanted = definition_of(options, "validate")
    outcome = score_formula(law, read_study_table(wanted), wanted, refit)
    scored, fault = outcome.formula, unit_fault(law)
    parts = [equation_text(scored), ""]
    parts += [f"warning: units do not agree: {fault}", ""] if fault else []
    parts += [symbols_text(scored), "", errors_text(scored, "your formula")]
    parts += [f"not compared: {name} ({remedy})" for name, remedy in outcome.absent.items()]
    if into is not None:
        with new_run_folder(into, False) as folder:
            write_run_files(outcome, folder, {"command": "trainlaw validate"})
        parts += ["", f"{into}: formula.json, errors.csv, report.html, formula.xlsx and more"]
    print("\n".join(parts))
