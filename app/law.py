"""Formulas as users hold them: loaded by name, calibrated, shown as terms, sympy, LaTeX and plots."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from trainlaw.app.explain.shares import term_times
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.inputs.run_tables import any_table
from trainlaw.app.models.calibration import calibrated_law
from trainlaw.app.models.doubts import remarks, trusted
from trainlaw.app.models.settings import setup_for
from trainlaw.app.models.user_formula import find_formula
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.text.python_names import naming_arguments
from trainlaw.datasets import DATASETS, RunTable
from trainlaw.datasets.measurements.formula_rows import feature_rows
from trainlaw.datasets.measurements.importing import runs_from_frame
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.evolve import FormulaRegressor
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.algebra.sympy_bridge import to_sympy
from trainlaw.formulas.errors import optional_package
from trainlaw.formulas.printers.latex import latex_equation
from trainlaw.validate.time_factors import time_factors


class Law(Formula):
    """A formula that can be calibrated: what `load_formula` and `calibrate` return."""

    __slots__ = ()

    @classmethod
    def of(cls, formula: Formula) -> Self:
        """Return a formula as a law, with the same fields."""
        return cls(**{field.name: getattr(formula, field.name) for field in fields(formula)})

    def calibrate(
        self,
        X: RunTable | str | Path | pd.DataFrame,
        y: Sequence[float] | np.ndarray | None = None,
        *,
        trust: bool = False,
    ) -> "Law":
        """Return this law calibrated to a machine, as `trainlaw.calibrate` does; X : its table.

        >>> from trainlaw.datasets import load
        >>> law = load_formula().calibrate(load("fp32-2026").where(gpu="T4", cnn="inception_v3"))
        >>> law.provenance["calibrated"]["runs"]
        14
        """
        return calibrate(self, X, y, trust=trust)

    def sympy(self) -> Any:
        """Return the formula as a sympy expression in its features, grouped constants at their default.

        sympy's `lambdify` makes a function of it for numpy, torch, JAX and others, which is the way to
        compute gradients or to put the formula into a model.

        >>> from sympy import lambdify
        >>> from trainlaw.datasets import load
        >>> law = load_formula("short")
        >>> names = [spec.name for spec in law.used_features]
        >>> seconds = lambdify(names, law.sympy(), modules="numpy")  # or "torch", "jax"
        >>> features = load("fp32-2026").features(names)
        >>> bool(abs(seconds(*features.to_numpy().T) / law.predict(features) - 1).max() < 1e-9)
        True
        """
        return to_sympy(self.ungrouped)

    def latex(self, digits: int | None = 3) -> str:
        """Return the formula as a LaTeX equation without dollar signs.

        digits : significant ones of the constants, None for exact constants.

        >>> load_formula().latex().startswith("t")
        True
        """
        return latex_equation(self, digits)

    @naming_arguments
    def shares(
        self, cnn: str, gpu: str, batch: int, *, pixels: int | None = None, **settings: Any
    ) -> pd.DataFrame:
        """Return what an iteration's time is made of, a row per term, the largest first.

        Columns `term`, `meaning`, `time_s` in seconds (0 on a side of a maximum that is not the largest) and
        `share` of the sum. Arguments and errors as for `trainlaw.predict`; InputError also where the formula
        takes no names.

        >>> table = load_formula().shares("resnet50", "T4", 64, precision="amp")
        >>> float(round(table["share"].sum(), 6))
        1.0
        """
        setup = setup_for(self, Setup(**settings))
        (terms,) = term_times(self, one_run(cnn, gpu, batch, pixels, setup))
        rows = [(one.term.name, one.term.sentence, one.seconds, one.share) for one in terms]
        return pd.DataFrame(rows, columns=["term", "meaning", "time_s", "share"])

    @naming_arguments
    def plot(
        self,
        cnn: str,
        gpu: str,
        batches: Sequence[int] = (8, 16, 32, 64, 128, 256),
        ax: Any = None,
        **settings: Any,
    ) -> Any:
        """Draw time per iteration against batch, with the 90 % interval as a band, and return the axes.

        batches : images per iteration. ax : axes of matplotlib, None for a new figure. Other arguments as for
        `trainlaw.predict`. MissingDependencyError where matplotlib is not installed.
        """
        axes = ax or optional_package("matplotlib.pyplot", "plots").subplots()[1]
        setup = setup_for(self, Setup(**settings))
        found = [predict_runs(self, one_run(cnn, gpu, batch, None, setup))[0] for batch in batches]
        low, high = zip(*(row.interval or (row.seconds, row.seconds) for row in found), strict=True)
        axes.fill_between(batches, low, high, alpha=0.2)
        axes.plot(batches, [row.seconds for row in found], marker="o", label=f"{cnn} on {gpu}")
        axes.set(xlabel="images per iteration", ylabel="s per iteration", xscale="log", yscale="log")
        axes.legend()
        return axes


@naming_arguments
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


@naming_arguments
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
        Runs on one GPU: a table, a file of runs, or a frame with the columns of one (docs/your-runs.md). With
        `y`: a frame with a column per feature.
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
    law = formula_of(formula)
    if y is not None:
        if not isinstance(table, pd.DataFrame):
            raise InputError("expected a data frame of features together with y, got only one of them")
        rows = feature_rows(table, [spec.name for spec in law.used_features])
        targets = np.asarray(y, dtype=float)
        if targets.shape != (len(table),) or not (np.isfinite(targets) & (targets > 0)).all():
            raise InputError(f"expected y as {len(table)} positive numbers, one per row")
        expression = time_factors(law, rows, targets).apply(law)
        return Law.of(replace(law, expression=expression, errors={}))
    if isinstance(table, pd.DataFrame):
        table = runs_from_frame(table, "the frame")
    runs = table if isinstance(table, RunTable) else any_table(str(table))
    if runs.name not in DATASETS:
        trusted(runs, trust)
    return Law.of(calibrated_law(law, runs, remarks(runs)).formula)


def formula_of(formula: Formula | FormulaRegressor | str | Path) -> Formula:
    """Return a formula, that of an estimator, or one by name, which for a built-in one is always the same."""
    if isinstance(formula, FormulaRegressor):
        return formula.formula_
    return formula if isinstance(formula, Formula) else find_formula(Path(formula), Path.cwd())[0]
