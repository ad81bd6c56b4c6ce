"""`trainlaw calibrate`: fit a law to one machine with a few runs measured on it."""

from pathlib import Path
from typing import Annotated

import typer
from trainlaw.app.commands.options import CnnFiles, FormulaFile, GpuFile


def calibrate_command(
    table: Annotated[str, typer.Argument(help="CSV or Excel file of 1 to 50 runs on one GPU.")],
    formula: FormulaFile = None,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Folder to write; default: trainlaw-run, or the next free number."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder if it is a run folder.")
    ] = False,
    gpu_file: GpuFile = None,
    cnn_file: CnnFiles = None,
) -> None:
    """Calibrate a law to a machine: a few runs correct its constants and narrow its interval.

    Each time of the law gets a factor; few runs change little, and mostly what they consist of. The folder
    gets formula.json, formula.xlsx, page.html, calibration.csv and provenance.json.

    \b
    Examples:
      trainlaw calibrate my-runs.csv --out my-law
      trainlaw predict --formula my-law --cnn resnet50 --gpu T4 --batch 64
      trainlaw calibrate runs.csv --gpu-file runs-machine.csv --formula trainlaw-run --out my-law
    """
    from trainlaw.app.inputs.run_folder import check_target, free_run_folder, new_run_folder
    from trainlaw.app.inputs.tables import any_table
    from trainlaw.app.models.calibration import calibrated_law
    from trainlaw.app.models.user_formula import find_formula
    from trainlaw.app.report.calibration_files import write_calibration_files
    from trainlaw.app.terminal.calibration import calibration_text
    from trainlaw.app.terminal.progress import shown_steps

    target = to or free_run_folder(Path.cwd())
    check_target(target, overwrite)
    given, origin = find_formula(formula, Path.cwd())
    with shown_steps() as on_step, new_run_folder(target, overwrite) as folder:
        on_step("reading the runs", 0.0)
        runs = any_table(table, gpu_file=gpu_file, cnn_files=cnn_file)
        on_step("fitting the factors", 0.2)
        law = calibrated_law(given, runs)
        on_step("writing the workbook and the page", 0.4)
        write_calibration_files(law, given, runs, folder, {"command": "trainlaw calibrate", "law": origin})
    print(calibration_text(law, given, origin))
    print(f"{target} written; use it with --formula {target}")
