"""The Python facade: fit, load, calibrate, export formulas and predict by them, as `trainlaw.study`, ..."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.inputs.requests import Setup, one_run
from trainlaw.app.inputs.run_folder import check_target, new_run_folder
from trainlaw.app.inputs.tables import any_table
from trainlaw.app.models.builtin import SCALING_FORMULA
from trainlaw.app.models.calibration import calibrated_law
from trainlaw.app.models.doubts import trusted
from trainlaw.app.models.user_formula import find_formula
from trainlaw.app.predictions.predict import Prediction, predict_runs
from trainlaw.app.report.run_files import write_run_files
from trainlaw.app.studies.definition import definition_of, read_study_table
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.study import study_table
from trainlaw.datasets import DATASETS, RunTable
from trainlaw.datasets.measurements.formula_rows import feature_rows
from trainlaw.evolve import FormulaRegressor
from trainlaw.formulas import Formula, InputError
from trainlaw.validate.time_factors import time_factors


class Law(Formula):
    """A formula that can be calibrated: what `load_formula` and `calibrate` return."""

    __slots__ = ()

    @classmethod
    def of(cls, formula: Formula) -> Self:
        """Return a formula as a law.

        Parameters
        ----------
        formula : Formula
            Any formula.

        Returns
        -------
        Law
            With the same fields.
        """
        return cls(**{field.name: getattr(formula, field.name) for field in fields(formula)})

    def calibrate(
        self,
        X: RunTable | str | Path | pd.DataFrame,
        y: Sequence[float] | np.ndarray | None = None,
        *,
        trust: bool = False,
    ) -> "Law":
        """Return this law calibrated to a machine with a few runs measured on it; see `trainlaw.calibrate`.

        Parameters
        ----------
        X : RunTable, str, Path or DataFrame
            Runs on one GPU: a table, or a file of runs. With `y`: a frame with a column per feature.
        y : array_like, shape (n_rows,), optional
            Measured target of each row of a frame, in its unit; None for a table of runs, which has times.
        trust : bool
            As for `trainlaw.calibrate`.

        Returns
        -------
        Law
            With corrected constants; this one stays as it is.

        Raises
        ------
        InputError
            As `trainlaw.calibrate`.

        Examples
        --------
        >>> from trainlaw.datasets import load
        >>> runs = load("fp32-2026").where(gpu="T4", cnn="inception_v3")
        >>> law = load_formula().calibrate(runs)
        >>> law.provenance["calibrated"]["runs"]
        14
        """
        return calibrate(self, X, y, trust=trust)


def study(
    table: str | Path = "default",
    *,
    into: str | Path | None = None,
    overwrite: bool = False,
    workers: int = 2,
    cluster: str = "",
    trust: bool = False,
    **options: object,
) -> StudyOutcome:
    """Fit a formula to measured runs and estimate its held-out error, as `trainlaw study` does.

    Parameters
    ----------
    table : str or Path
        Name of a built-in table (`trainlaw data list`) or a CSV file of runs.
    into : str, Path or None
        Folder for formula.json, report.html, the workbook and the tables; None writes nothing.
    overwrite : bool
        Whether to replace `into` if it is a run folder.
    workers : int
        Number of worker processes. More than one needs `if __name__ == "__main__":` in a script.
    cluster : str
        Where to run instead: the address of a dask scheduler, "local:N" or a TOML file; "" for processes.
    trust : bool
        Whether to take times even if the built-in formula or other runs contradict them.
    **options : object
        Further entries of study.toml, such as `split="cnn"`, `seed=1`, `folds=17`, `evaluations=10_000`,
        `against=("null_compute", "cf9")`.

    Returns
    -------
    StudyOutcome
        `formula` with its held-out errors, `front`, `result` with the prediction of every held-out run.

    Raises
    ------
    InputError
        If the table or an option is faulty, or `into` exists.
    """
    definition = definition_of({"table": str(table), **options}, "the arguments of study")
    if into is not None:
        check_target(Path(into), overwrite)
    outcome = study_table(
        read_study_table(definition, trust), definition, workers, lambda signals, total: None,
        lambda progress: None, cluster=cluster,
    )  # fmt: skip
    if into is not None:
        with new_run_folder(Path(into), overwrite) as folder:
            write_run_files(outcome, folder, {"command": "trainlaw.study", "workers": cluster or workers})
    return outcome


def load_formula(name: str | Path = "built-in") -> Law:
    """Load a formula by its built-in name, from a formula.json or from a run folder.

    Parameters
    ----------
    name : str or Path
        Such as "built-in" (the default), "multi", "trainlaw-run" or "trainlaw-run/formula.json".

    Returns
    -------
    Law
        A formula with units, training ranges, held-out errors and provenance, and the method `calibrate`.

    Raises
    ------
    InputError
        If there is no such formula, or the file is faulty.

    Examples
    --------
    >>> load_formula().scope
    'run'
    """
    return Law.of(find_formula(Path(name), Path.cwd())[0])


def predict(
    cnn: str,
    gpu: str,
    batch: int,
    *,
    pixels: int | None = None,
    precision: str | None = None,
    n_gpus: int = 1,
    n_nodes: int = 1,
    allocation: str | None = None,
    bucketed: bool = True,
    layout: str = "nchw",
    compilation: str = "eager",
    tuned: bool = False,
    stack: str | None = None,
    host_launch_s: float | None = None,
    formula: Formula | str | Path | None = None,
) -> Prediction:
    """Predict the time of one training iteration.

    Parameters
    ----------
    cnn : str
        Name of a CNN (`trainlaw cnn list`) or a file with one (.onnx, layer table, Keras JSON).
    gpu : str
        Name of a GPU (`trainlaw gpus list`), as drivers print it.
    batch : int
        Images per GPU and iteration.
    pixels : int or None
        Side of the square input image; None for the CNN's usual one.
    precision : str or None
        "fp32", "tf32", "amp" or "fp16"; None for PyTorch's default for convolutions on the GPU, which `notes`
        of the result then say.
    n_gpus, n_nodes : int
        GPUs in all, and nodes that hold them; several are predicted by the built-in scaling formula.
    allocation : str or None
        GPUs of each node where nodes differ, such as "4,2,1", in place of both numbers.
    bucketed : bool
        Whether gradients are reduced in buckets, as PyTorch does; otherwise tensor by tensor.
    layout, compilation : str
        "nchw" or "channels_last"; "eager", "xla" or "inductor". A warning says which the formula ignores.
    tuned : bool
        Whether training runs in a vendor's container with fused kernels.
    stack : str or None
        Kernels of 16-bit convolutions: "eager", "channels_last", "fused" or "unknown"; None for what layout,
        compilation and `tuned` imply.
    host_launch_s : float or None
        Seconds that the host needs to launch the kernels of one layer; None where it is not known.
    formula : Formula, str, Path or None
        The formula for one GPU, or its name as in `load_formula`; None for the built-in one.

    Returns
    -------
    Prediction
        `seconds`, `interval` (its two ends in seconds, or None), `images_per_second`, the memory needed in
        bytes, and `warnings`.

    Raises
    ------
    UnknownNameError
        If the CNN, the GPU or the precision is unknown; the message suggests names.

    Examples
    --------
    >>> prediction = predict("resnet50", "V100-SXM2-16GB", 64)
    >>> 0.1 < prediction.seconds < 0.4
    True
    """
    setup = Setup(
        precision, n_gpus, n_nodes, allocation=allocation, bucketed=bucketed,
        layout=layout, compilation=compilation, tuned=tuned, stack=stack, host_launch_s=host_launch_s,
    )  # fmt: skip
    chosen = formula if isinstance(formula, Formula) else load_formula(formula or "built-in")
    runs = one_run(cnn, gpu, batch, pixels, setup)
    (prediction,) = predict_runs(chosen, runs, load_formula(SCALING_FORMULA))
    return prediction


def calibrate(
    formula: Formula | FormulaRegressor | str | Path,
    table: RunTable | str | Path | pd.DataFrame,
    y: Sequence[float] | np.ndarray | None = None,
    *,
    trust: bool = False,
) -> Law:
    """Calibrate a formula to a machine with a few runs measured on it, as `trainlaw calibrate` does.

    Parameters
    ----------
    formula : Formula, FormulaRegressor, str or Path
        The formula, an estimator that found one, or its name as in `load_formula`.
    table : RunTable, str, Path or DataFrame
        Runs on one GPU: a table, or a file of runs. With `y`: a frame with a column per feature.
    y : array_like, shape (n_rows,), optional
        Measured target of each row of a frame, in its unit; None for a table of runs, which has times.
    trust : bool
        Whether to take times even if the built-in formula or other runs contradict them.

    Returns
    -------
    Law
        The formula with corrected constants. From runs also with a narrower interval, and
        `provenance["calibrated"]` has the factors and the errors before and after; from a frame without
        stated errors.

    Raises
    ------
    InputError
        If the file is faulty, its times can hardly be right, the formula has no time for one of them, or `y`
        goes with no frame.
    """
    law = _formula_of(formula)
    if isinstance(table, pd.DataFrame) or y is not None:
        return Law.of(_calibrated_to_rows(law, table, y))
    runs = table if isinstance(table, RunTable) else any_table(str(table))
    if runs.name not in DATASETS:
        trusted(runs, trust)
    return Law.of(calibrated_law(law, runs).formula)


def _formula_of(formula: Formula | FormulaRegressor | str | Path) -> Formula:
    if isinstance(formula, FormulaRegressor):
        return formula.formula_
    return formula if isinstance(formula, Formula) else load_formula(formula)


def _calibrated_to_rows(formula: Formula, X: object, y: Sequence[float] | np.ndarray | None) -> Formula:
    """Return a formula with factors on its times, or on the whole, from features and measured targets."""
    if not isinstance(X, pd.DataFrame) or y is None:
        raise InputError("expected a data frame of features together with y, got only one of them")
    rows = feature_rows(X, [spec.name for spec in formula.used_features])
    seconds = np.asarray(y, dtype=float)
    if seconds.shape != (len(X),) or not (np.isfinite(seconds) & (seconds > 0)).all():
        raise InputError(f"expected y as {len(X)} positive numbers, one per row")
    factors = time_factors(formula, rows, seconds)
    return replace(formula, expression=factors.apply(formula), errors={})


def export(
    formula: Formula, path: str | Path, overwrite: bool = False, *, bare: bool = False, prefix: str = ""
) -> Path:
    """Write a formula in the format of the file's suffix.

    Parameters
    ----------
    formula : Formula
        Any formula, such as that of `load_formula`.
    path : str or Path
        File to write: .py, .js, .mjs, .cjs, .c, .h, .sql, .tex, .onnx, .json, .csv, .xlsx, .html,
        .gsheet.xlsx, .gsheet.tsv.
    overwrite : bool
        Whether to replace the file if it exists.
    bare : bool
        Whether Python, JavaScript and C take features; by default they take names of CNN and GPU where the
        formula is of iterations on one GPU.
    prefix : str
        What every name in a .c or .h file begins with; "trainlaw" by default.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    InputError
        If the suffix names no format, the formula has no such form, or the file exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(load_formula(), Path(folder) / "iteration_time.py").name
    'iteration_time.py'
    """
    export_formula(formula, Path(path), overwrite, bare, prefix)
    return Path(path)
