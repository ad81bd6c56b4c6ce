"""`trainlaw calibrate`: fit a formula to one machine with a few runs measured on it."""

import sys
from contextlib import redirect_stdout
from pathlib import Path

from trainlaw.app.commands.options import CnnFiles, FormulaFile, GpuFile, Json, Trust
from trainlaw.app.inputs.declared import argument, flag, option


def calibrate_command(
    table: str = argument(
        "CSV or Excel file of runs on one GPU, or a built-in table with --gpu.", default=...
    ),
    gpu: str | None = option("Only runs on GPUs with the chip and number of multiprocessors of this GPU."),
    precision: str | None = option("Only runs in this precision: fp32, tf32, amp, ..."),
    layout: str | None = option("Only runs in this layout: nchw or channels_last."),
    columns_are: str | None = option(
        "Headings of columns of times name gpu, batch, ...: read TABLE as `data import` does.",
        metavar="KINDS",
    ),
    constant: list[str] | None = option(
        "Value of a column for all rows, OURS=VALUE: read TABLE as `data import` does.", "--set"
    ),
    unit: str | None = option("Unit of the times: read TABLE as `data import` does."),
    formula: FormulaFile = None,
    to: Path | None = option("Folder to write; default: trainlaw-run, or the next free number.", "--out"),
    overwrite: bool = flag("Replace the folder if it is a run folder.", "--overwrite"),
    gpu_file: GpuFile = None,
    cnn_file: CnnFiles = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Calibrate a formula to a GPU: runs measured on it correct the constants and narrow the interval.

    Each time in the formula is multiplied by a factor; a few runs change mainly the times that dominate them.
    With a built-in table and --gpu, the runs are those measured by others. The folder gets formula.json,
    formula.xlsx, page.html, calibration.csv and provenance.json.
    """
    from trainlaw.app.inputs.run_folder import check_target, free_run_folder, new_run_folder
    from trainlaw.app.inputs.run_tables import any_table, runs_of
    from trainlaw.app.inputs.spreadsheets import chosen_pairs, words_of
    from trainlaw.app.models.calibration import calibrated_law
    from trainlaw.app.models.coverage import in_sample_warning
    from trainlaw.app.models.doubts import remarks, trusted
    from trainlaw.app.models.user_formula import find_formula
    from trainlaw.app.report.run_files import write_calibration_files
    from trainlaw.app.terminal.calibration import calibration_json, calibration_text
    from trainlaw.app.terminal.output import print_fitted
    from trainlaw.app.terminal.progress import shown_steps
    from trainlaw.app.terminal.spreadsheets import imported_runs
    from trainlaw.datasets import DATASETS
    from trainlaw.datasets.spreadsheets.answers import SheetAnswers

    check_target(target := to or free_run_folder(Path.cwd()), overwrite)
    given, origin = find_formula(formula, Path.cwd())
    printed = redirect_stdout(sys.stderr if as_json else sys.stdout)
    with shown_steps() as on_step, new_run_folder(target, overwrite) as folder, printed:
        on_step("reading the runs", 0.0)
        if columns_are or constant or unit:
            pairs, kinds = chosen_pairs("--set", constant, "OURS=VALUE"), words_of(columns_are)
            pairs |= {"precision": precision} if precision else {}
            answers = SheetAnswers(constants=pairs, unit=unit or "", columns_are=kinds, trust=trust)
            found = imported_runs(Path(table), answers, gpu_file, cnn_file)
        else:
            found = any_table(table, gpu_file=gpu_file, cnn_files=cnn_file)
        runs = runs_of(found, gpu, precision, layout)
        runs = runs if table in DATASETS else trusted(runs, trust)
        on_step("fitting the factors", 0.2)
        law = calibrated_law(given, runs, remarks(runs))
        on_step("writing the workbook and the page", 0.4)
        write_calibration_files(law, given, runs, folder, {"command": "trainlaw calibrate", "law": origin})
    warnings = [line.removeprefix("warning: ") for line in in_sample_warning(given, runs) if line]
    if as_json:
        return print(calibration_json(law, given, origin, target, warnings))
    print(calibration_text(law, given, origin))
    for text in warnings:
        print_fitted(f"warning: {text}")
    print(f"{target} written; use it with --formula {target}")
