"""The Python facade: study, predict, plan, list, load, calibrate and export, as `trainlaw.study`, ..."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from trainlaw.app.explain.shares import explanations
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.frames import are_single, asked_runs, cnns, compare, gpus, plan
from trainlaw.app.inputs.requests import DEFAULT_SETUP, stated
from trainlaw.app.inputs.run_folder import check_target, new_run_folder
from trainlaw.app.law import Law, calibrate, formula_of, load_formula
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, SCALING_FORMULA
from trainlaw.app.models.settings import setup_for
from trainlaw.app.predictions.predict import Prediction, predict_runs, predicted_blocks, run_seconds
from trainlaw.app.report.run_files import write_run_files
from trainlaw.app.studies.definition import definition_of, read_study_table
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.study import study_table
from trainlaw.app.text.python_names import naming_arguments
from trainlaw.app.times import one_time, single_run
from trainlaw.evolve import FormulaRegressor
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.scopes import FORWARD

__all__ = [
    "FormulaRegressor",
    "Law",
    "calibrate",
    "cnns",
    "compare",
    "export",
    "gpus",
    "load_formula",
    "plan",
    "predict",
    "predict_many",
    "seconds",
    "study",
]


@naming_arguments
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
    runs = read_study_table(definition, trust)
    outcome = study_table(runs, definition, workers, cluster=cluster)
    if into is not None:
        with new_run_folder(Path(into), overwrite) as folder:
            write_run_files(outcome, folder, {"command": "trainlaw.study", "workers": cluster or workers})
    return outcome


@overload
def predict(cnn: str, gpu: str, batch: int, **settings: Any) -> Prediction: ...


@overload
def predict(
    cnn: pd.DataFrame | str | Sequence[str],
    gpu: str | Sequence[str] | None = None,
    batch: int | Sequence[int] | None = None,
    **settings: Any,
) -> pd.DataFrame: ...


@naming_arguments
def predict(
    cnn: pd.DataFrame | str | Sequence[str],
    gpu: str | Sequence[str] | None = None,
    batch: int | Sequence[int] | None = None,
    *,
    formula: Formula | str | Path | None = None,
    explain: bool = False,
    **settings: Any,
) -> Prediction | pd.DataFrame:
    """Predict the time of one training iteration, or of many at once.

    Parameters
    ----------
    cnn : str, sequence of str or DataFrame
        Name of a CNN (`trainlaw cnn list`) or a file with one (.onnx, layer table); or a frame
        with the columns `cnn`, `gpu`, `batch` and those of settings that differ from row to row.
    gpu : str or sequence of str
        Name of a GPU (`trainlaw gpus list`), as drivers print it.
    batch : int or sequence of int
        Images per GPU and iteration.
    formula : Formula, str, Path or None
        The formula for one GPU, or its name as in `load_formula`; None for the built-in one.
    explain : bool
        Whether to say what the time is made of: `explanation`, a mapping as `trainlaw predict --explain
        --json` prints it.
    **settings : object
        One value, or a sequence as long as those of CNN, GPU and batch (one of length 1 goes for all rows):

        - pixels: side of the square input image; classes: their number; None for the CNN's usual ones.
        - precision: "fp32", "tf32", "amp" or "fp16"; None for PyTorch's default for convolutions on the GPU,
          which `notes` of the result then say.
        - n_gpus, n_nodes: GPUs in all, and nodes that hold them, None for usual servers with the GPU; several
          GPUs are predicted by the built-in scaling formula. allocation: GPUs of each node where nodes
          differ, such as "4,2,1", in place of both. link, fabric, algorithm: of the all-reduce. bucketed:
          whether gradients are reduced in buckets, as PyTorch does (True), or tensor by tensor.
        - layout: "nchw" or "channels_last". compilation: "eager", "xla" or "inductor". tuned: whether
          training runs in a vendor's container with fused kernels. stack: kernels of 16-bit convolutions,
          "eager", "channels_last", "fused" or "unknown"; None for what the three imply.
        - timed_parts: "forward" for the forward pass alone, inference at large batches, by the formula of
          forward passes, and in amp unless another precision is given.
        - host_launch_s: seconds that the host needs to launch the kernels of one layer.

    Returns
    -------
    Prediction or DataFrame
        Of single values `seconds`, `interval` (its two ends in seconds, or None), `images_per_second`, the
        memory needed in bytes, and `warnings`. Otherwise a row each, with the columns of `trainlaw predict
        --format csv`; `notes` and `warnings` are tuples of texts.

    Raises
    ------
    UnknownNameError
        If the CNN, the GPU or the precision is unknown; the message suggests names.

    Examples
    --------
    >>> prediction = predict("resnet50", "V100-SXM2-16GB", 64)
    >>> 0.1 < prediction.seconds < 0.4
    True
    >>> table = predict("resnet50", ["T4", "V100-SXM2-16GB"], 64, precision=["fp32", "amp"])
    >>> bool(table["time_s"][0] > table["time_s"][1])
    True
    """
    chosen, scaling = _formula_for(formula, settings), formula_of(SCALING_FORMULA)
    say = explanations if explain else None
    if isinstance(cnn, str) and isinstance(gpu, str) and isinstance(batch, Integral) and are_single(settings):
        # Numbers of NumPy are one value too.
        run = single_run(chosen, cnn, gpu, batch if isinstance(batch, bool) else int(batch), settings)
        return predict_runs(chosen, run, scaling, explain=say)[0]
    are_single(settings)
    usual = stated(setup_for(chosen, DEFAULT_SETUP))
    blocks, rows, index = asked_runs(cnn, gpu, batch, settings, usual)
    table = pd.concat([*predicted_blocks(chosen, blocks, scaling, explain=say)], ignore_index=True)
    repeats = len(rows) != len(table) or (rows != np.arange(len(rows))).any()
    return (table.take(rows) if repeats else table).set_axis(index)


@naming_arguments
def seconds(
    cnn: str, gpu: str, batch: int, *, formula: Formula | str | Path | None = None, **settings: Any
) -> float:
    """Predict the time of one iteration as a number, for programs that ask often.

    The first call for a CNN, a GPU and settings takes milliseconds, a further one 20 microseconds.

    Parameters
    ----------
    cnn, gpu : str
        Names, as for `predict`.
    batch : int
        Images per GPU and iteration.
    formula : Formula, str, Path or None
        As for `predict`; load that of a file once, by `load_formula`.
    **settings : object
        One value each, as for `predict`.

    Returns
    -------
    float
        Seconds; nan where the formula is not defined.

    Raises
    ------
    UnknownNameError
        If the CNN, the GPU or a setting is unknown.
    InputError
        If a value is faulty.

    Examples
    --------
    >>> from math import isclose
    >>> isclose(seconds("resnet50", "T4", 64), predict("resnet50", "T4", 64).seconds)
    True
    """
    if settings and not are_single(settings):
        raise InputError("expected one value of each setting, got sequences: use predict_many")
    return one_time(_formula_for(formula, settings), cnn, gpu, batch, settings)


@naming_arguments
def predict_many(
    cnn: pd.DataFrame | str | Sequence[str],
    gpu: str | Sequence[str] | None = None,
    batch: int | Sequence[int] | None = None,
    *,
    formula: Formula | str | Path | None = None,
    **settings: Any,
) -> NDArray[np.float64]:
    """Predict the times of many iterations as numbers, without intervals and warnings.

    Parameters
    ----------
    cnn : DataFrame, str or sequence of str
        As for `predict`: sequences of one length, single values for all rows, or a frame.
    gpu : str or sequence of str, optional
        As for `predict`.
    batch : int or sequence of int, optional
        Images per iteration and GPU.
    formula : Formula, str or Path, optional
        As for `predict`.
    **settings : object
        As for `predict`.

    Returns
    -------
    ndarray, shape (n_rows,)
        Seconds; nan where the formula is not defined.

    Raises
    ------
    UnknownNameError, InputError
        As `predict`.

    Examples
    --------
    >>> times = predict_many("resnet50", "T4", [32, 64])
    >>> bool(times[1] == seconds("resnet50", "T4", 64))
    True
    """
    chosen = _formula_for(formula, settings)
    are_single(settings)
    usual = stated(setup_for(chosen, DEFAULT_SETUP))
    blocks, rows, _ = asked_runs(cnn, gpu, batch, settings, usual)
    scaling = formula_of(SCALING_FORMULA)
    return np.concatenate([run_seconds(chosen, runs, scaling) for runs in blocks])[rows]


def _formula_for(formula: Formula | str | Path | None, settings: Mapping[str, object]) -> Formula:
    """Return a formula, the built-in one of forward passes or of iterations where None is named."""
    if formula is None:
        return BUILT_IN_FORMULAS[FORWARD if settings.get("timed_parts") == FORWARD else "built-in"]()
    return formula_of(formula)


@naming_arguments
def export(formula: Formula, path: str | Path, overwrite: bool = False, *, bare: bool = False) -> Path:
    """Write a formula in the format of the file's suffix.

    Parameters
    ----------
    formula : Formula
        Any formula, such as that of `load_formula`.
    path : str or Path
        File to write: .xlsx, .html, .py, .mjs, .json, .tex; with `bare` .py, .js, .c, .R, .jl.
    overwrite : bool
        Whether to replace the file if it exists.
    bare : bool
        Whether a program is a function of features; by default it takes names of CNN and GPU where the
        formula is of iterations on one GPU.

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
    export_formula(formula, Path(path), overwrite, bare)
    return Path(path)
