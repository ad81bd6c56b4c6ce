"""Views and files of a fitted search: a table, sympy, LaTeX, plots, and a file without pickle."""

import json
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from trainlaw.evolve.sklearn_contract import SklearnRegressor, not_fitted, target_vector
from trainlaw.formulas import FeatureSpec, Formula, InputError, ParetoFront, ScoredFormula
from trainlaw.formulas.algebra.sympy_bridge import to_sympy
from trainlaw.formulas.errors import optional_package, shown
from trainlaw.formulas.files.codec import finite_number, flag, listed, optional, record, text, whole
from trainlaw.formulas.files.text_files import json_of, read_text, write_text_atomically
from trainlaw.formulas.printers.latex import latex_equation

FORMAT = "trainlaw-estimator-1"
_PLOTS = "plots"  # the extra with matplotlib


class FittedViews(SklearnRegressor):
    """Views of the front that `fit` found; positions count from 0, the simplest formula."""

    features: tuple[FeatureSpec, ...] | None
    target: FeatureSpec | None
    formula_: Formula
    front_: ParetoFront
    features_: tuple[FeatureSpec, ...]
    target_: FeatureSpec
    n_features_in_: int
    evaluations_: int
    generations_: int

    @property
    def equations_(self) -> Any:
        """The front as a data frame: complexity, loss, validation_loss, equation, is_chosen; needs pandas."""
        chosen = self._formula_at(None).expression
        texts = [member.formula.text() for member in self.front_]
        rows = [{**row, "equation": text} for row, text in zip(self.front_.to_rows(), texts, strict=True)]
        columns = ["complexity", "loss", "validation_loss", "equation"]
        table = optional_package("pandas", "data").DataFrame(rows, columns=columns)
        return table.assign(is_chosen=[member.formula.expression == chosen for member in self.front_])

    def sympy(self, index: int | None = None) -> Any:
        """Return a formula of the front as a sympy expression in symbols named as the features.

        index : position in `equations_`, None for the chosen formula.
        """
        return to_sympy(self._formula_at(index).expression)

    def latex(self, index: int | None = None, digits: int | None = 3) -> str:
        """Return a formula of the front as a LaTeX equation, without dollar signs.

        index : position in `equations_`, None for the chosen formula. digits : significant digits of the
        constants, None for exact ones.
        """
        return latex_equation(self._formula_at(index), digits)

    def plot_front(self, ax: Any = None) -> Any:
        """Draw loss against complexity of the front and return the axes; the chosen formula is marked.

        ax : matplotlib axes to draw on, None for a new figure.
        """
        chosen, axes = self._formula_at(None).expression, _axes(ax)
        axes.step(
            [m.complexity for m in self.front_], [m.loss for m in self.front_], where="post", marker="o"
        )
        for member in self.front_:
            if member.formula.expression == chosen:
                axes.plot(member.complexity, member.loss, "s", color="tab:red", label="chosen")
        axes.set(xlabel="complexity", ylabel="loss on training rows", yscale="log")
        axes.legend()
        return axes

    def plot_predictions(self, X: ArrayLike, y: ArrayLike, ax: Any = None) -> Any:
        """Draw predicted against measured targets with the diagonal, and return the axes.

        Axes are logarithmic where all values are positive. X : features in their units, (n_rows, n_features).
        y : measured target in its unit, (n_rows,). ax : matplotlib axes to draw on, None for a new figure.
        """
        predicted = self.predict(X)
        measured, axes = target_vector(y, predicted.size), _axes(ax)
        unit = "" if self.target_.unit.is_dimensionless else f" [{self.target_.unit}]"
        axes.plot(measured, predicted, ".", alpha=0.5)
        ends = [float(np.nanmin([measured, predicted])), float(np.nanmax([measured, predicted]))]
        axes.plot(ends, ends, color="grey", linewidth=1)
        axes.set(xlabel=f"measured{unit}", ylabel=f"predicted{unit}")
        if ends[0] > 0:
            axes.set(xscale="log", yscale="log")
        return axes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted formulas as JSON; `load` reads them, in any version of Python and without pickle.

        path : file to write; an existing one is replaced.
        """
        chosen = self._formula_at(None)
        members = [
            {
                "loss": member.loss,
                "complexity": member.complexity,
                "validation_loss": member.validation_loss,
                "formula": member.formula.to_json(),
            }
            for member in self.front_
        ]
        value = {
            "format": FORMAT,
            "formula": chosen.to_json(),
            "front": members,
            "has_specs": self.features is not None,
            "evaluations": self.evaluations_,
            "generations": self.generations_,
        }
        write_text_atomically(path, json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the fitted estimator in a file that `save` wrote, ready to predict; it may come from anyone.

        Its settings are not kept, but the provenance of its formulas has them. Raises InputError for another
        file.
        """
        try:
            found = _SAVED(json_of(read_text(path), Path(path).name), "a saved estimator")
            if found["format"] != FORMAT:
                raise InputError(f"expected the format {FORMAT!r}, got {shown(found['format'])}")
            return cls._restored(found)
        except InputError as error:
            raise InputError(f"{Path(path).name}: {error}") from None

    @classmethod
    def _restored(cls, found: dict[str, Any]) -> Self:
        estimator = cls()
        estimator.formula_, estimator.front_ = found["formula"], ParetoFront(tuple(found["front"]))
        estimator.features_, estimator.target_ = estimator.formula_.features, estimator.formula_.target
        estimator.n_features_in_ = len(estimator.features_)
        estimator.evaluations_, estimator.generations_ = found["evaluations"], found["generations"]
        if found["has_specs"]:
            estimator.features, estimator.target = estimator.features_, estimator.target_
        return estimator

    def _formula_at(self, index: int | None) -> Formula:
        """Return the formula of a position, or the chosen one; raises InputError where there is none."""
        if not hasattr(self, "formula_"):
            raise not_fitted(self)
        if index is None:
            return self.formula_
        if not -len(self.front_) <= index < len(self.front_):
            raise InputError(f"expected a position below {len(self.front_)} in the front, got {index}")
        return self.front_[index].formula


def _formula(value: object, place: str) -> Formula:
    return Formula.from_json(value)


_MEMBER = record(
    {
        "formula": _formula,
        "loss": finite_number,
        "complexity": whole,
        "validation_loss": optional(finite_number),
    },
    closed=True,
)
_SAVED = record(
    {
        "format": text,
        "formula": _formula,
        "front": listed(lambda value, place: ScoredFormula(**_MEMBER(value, place))),
        "evaluations": whole,
        "generations": whole,
        "has_specs": flag,
    },
    closed=True,
)


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    return optional_package("matplotlib.pyplot", _PLOTS).subplots()[1]
