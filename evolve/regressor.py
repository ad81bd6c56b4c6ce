"""The search as a scikit-learn-compatible estimator."""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from deap import base
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.machine.compiler_cache import compiling_seconds
from trainlaw.evolve.search.candidates import Candidate, finish, make_front
from trainlaw.evolve.search.choice import choose
from trainlaw.evolve.search.generation import check_toolbox
from trainlaw.evolve.search.loop import Progress, SearchState, run, search_seconds, start_state
from trainlaw.evolve.search.problem import Problem, make_problem
from trainlaw.evolve.settings import SearchSettings
from trainlaw.evolve.sklearn_contract import (
    SklearnRegressor,
    feature_matrix,
    generic_features,
    group_labels,
    has_names,
    not_fitted,
    target_vector,
    weight_vector,
)
from trainlaw.formulas import (
    DIMENSIONLESS,
    FeatureSpec,
    Formula,
    InputError,
    ParetoFront,
    to_text,
)
from trainlaw.formulas.algebra.sympy_bridge import to_sympy
from trainlaw.formulas.errors import optional_package
from trainlaw.formulas.printers.latex import latex_equation

GENERIC_TARGET = FeatureSpec("y", "y", DIMENSIONLESS, "target")


class FormulaRegressor(SklearnRegressor):
    """Symbolic regression: evolves a closed-form formula of the target in the features.

    Parameters
    ----------
    features : tuple of FeatureSpec, optional
        Specs of the columns of `X`; None for columns without units (then the search is not typed).
    target : FeatureSpec, optional
        Spec of `y`; None for a target without unit.
    settings : SearchSettings, optional
        Settings of the search; None for the defaults. Their fields may be keywords instead:
        `FormulaRegressor(evaluations=2000, random_seed=1)`.
    progress : callable, optional
        Called with a `Progress` after each generation.
    scope : str, optional
        What the formula models, one of `SCOPES`; None means "custom" without specs of the features, and
        otherwise "run".
    toolbox : deap.base.Toolbox, optional
        Operators in place of those of the search, with DEAP's signatures: any of `mate(a, b)`,
        `mutate(tree)`, `select(trees, k)` and `survive(trees, k)`. Parameters named `pset`, `grammar` and
        `random` are filled in with the primitive set, the grammar and the search's generator. Only operators
        that draw from that generator keep the result the same for the same seed.

    Attributes
    ----------
    formula_ : Formula
        The chosen formula.
    front_ : ParetoFront
        Front of training loss and complexity.
    candidates_ : list of Candidate
        All polished formulas with their held-out losses.
    evaluations_, generations_ : int
        Work done.
    interrupted_ : bool
        Whether the user ended the search before its budget was spent; a study then keeps no such fit.
    logbook_ : deap.tools.Logbook
        A record per island and generation: `island`, `gen`, `nevals`, `best` and `median` loss, `size`.
    hall_of_fame_ : deap.tools.ParetoFront
        The trees that no other one beat in both score and complexity, as the search left them.
    """

    candidates_: list[Candidate]
    _defaults = MappingProxyType({"settings": SearchSettings()})

    def __init__(
        self,
        features: tuple[FeatureSpec, ...] | None = None,
        target: FeatureSpec | None = None,
        settings: SearchSettings | None = None,
        progress: Callable[[Progress], None] | None = None,
        *,
        scope: str | None = None,
        toolbox: base.Toolbox | None = None,
        **search: Any,
    ) -> None:
        """Store the arguments; `search` are fields of the settings."""
        self.features = features
        self.target = target
        self.settings = self._with_fields(settings or SearchSettings(), search) if search else settings
        self.progress = progress
        self.scope = scope
        self.toolbox = toolbox

    def __getstate__(self) -> dict[str, Any]:
        """Return the pickled fields: the types of trees live in this process alone, unlike formulas."""
        return {name: value for name, value in vars(self).items() if name != "hall_of_fame_"}

    # Positional as everywhere in scikit-learn.
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> "FormulaRegressor":
        """Search for formulas and return the estimator itself.

        Parameters
        ----------
        X : array_like, shape (n_rows, n_features)
            Features in their units, or a data frame with a column per feature name.
        y : array_like, shape (n_rows,)
            Target in its unit.
        groups : array_like, shape (n_rows,), optional
            Group labels: formulas are selected by their transfer to unseen groups.
        sample_weight : array_like, shape (n_rows,), optional
            Weights, none negative; by default 1.

        Returns
        -------
        FormulaRegressor
            The estimator itself.

        Raises
        ------
        InputError
            If a table has the wrong shape or content, or no valid formula is found.
        """
        began = time.monotonic()
        problem, spent = self._problem(X, y, groups, sample_weight)
        began += spent
        with problem.machine.until(began + search_seconds(None, problem)):
            state = start_state(problem)
        state = run(state, problem, self.progress, began=began)
        limit = problem.settings.limit_seconds
        with problem.machine.until(math.inf if limit is None else began + limit):
            self._conclude(problem, state)
        starved = _starved(problem, state)
        if starved:
            warnings.warn(starved, UserWarning, stacklevel=2)
        return self

    def predict(self, X: ArrayLike, *, index: int | None = None) -> NDArray[np.float64]:
        """Return the target in its unit, (n_rows,), nan where the formula is not valid.

        X : features in their units, (n_rows, n_features), as in `fit`. index : position of the formula in
        `equations_`, None for the chosen one. Raises InputError if `X` has the wrong shape or content, or
        `fit` was not called.
        """
        formula = self._formula_at(index)
        is_named = hasattr(self, "feature_names_in_") or has_names(self.features_)
        columns = feature_matrix(X, self.features_ if is_named else None, fitting=False)
        if columns.shape[1] != len(self.features_):
            raise InputError(
                f"X has {columns.shape[1]} features, but {type(self).__name__} is expecting "
                f"{len(self.features_)} features as input"
            )
        named = {spec.name: columns[:, i] for i, spec in enumerate(self.features_)}
        return np.broadcast_to(formula.predict(named), columns.shape[0]).copy()

    @property
    def equations_(self) -> Any:
        """The front as a data frame: complexity, loss, validation_loss, equation, is_chosen; needs pandas."""
        chosen = self._formula_at(None).expression
        table = optional_package("pandas", "data").DataFrame(self.front_.to_rows())
        texts = [member.formula.text() for member in self.front_]
        is_chosen = [member.formula.expression == chosen for member in self.front_]
        return table.drop(columns="formula").assign(equation=texts, is_chosen=is_chosen)

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

    def _formula_at(self, index: int | None) -> Formula:
        """Return the formula of a position, or the chosen one; raises InputError where there is none."""
        if not hasattr(self, "formula_"):
            raise not_fitted(self)
        if index is None:
            return self.formula_
        if not -len(self.front_) <= index < len(self.front_):
            raise InputError(f"expected a position below {len(self.front_)} in the front, got {index}")
        return self.front_[index].formula

    def _problem(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Problem, float]:
        """Return the checked problem and the seconds of compilation, and set what describes the input."""
        settings = self.settings or SearchSettings()
        check_toolbox(self.toolbox)
        columns = feature_matrix(X, self.features, fitting=True)
        vars(self).pop("feature_names_in_", None)
        if self.features is None:
            settings = replace(settings, typed=False)
            if hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns):
                self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.features_ = self.features or generic_features(X, columns.shape[1])
        self.target_ = self.target or GENERIC_TARGET
        self.n_features_in_ = columns.shape[1]
        truth = target_vector(y, len(columns))
        labels = None if groups is None else group_labels(groups, truth.size)
        weight = None if sample_weight is None else weight_vector(sample_weight, truth.size)
        spent = 0.0 if settings.limit_seconds is None else compile_machine()
        known = (columns, truth, self.features_, self.target_, settings)
        return make_problem(*known, groups=labels, sample_weight=weight, toolbox=self.toolbox), spent

    def _conclude(self, problem: Problem, state: SearchState) -> None:
        """Set the fitted attributes from the final state."""
        self.evaluations_, self.generations_ = state.evaluations, state.generation
        self.interrupted_ = state.interrupted
        self.logbook_, self.hall_of_fame_ = state.logbook(), state.hall_of_fame()
        self.candidates_ = finish(state, problem)
        if not self.candidates_:
            unlucky = "expected at least one valid formula, got none: allow more operators or a larger budget"
            raise InputError(_starved(problem, state) or unlucky)
        settings = problem.settings
        chosen = choose(self.candidates_, settings.choice)
        provenance = {
            "settings": {
                **asdict(settings),
                # Expressions as text: provenance is plain JSON.
                "seeds": [to_text(seed) for seed in settings.seeds],
                "template": settings.template and to_text(settings.template),
            },
            "evaluations": state.evaluations,
            "training_loss": chosen.loss,
            "validation_loss": chosen.validation_loss,
        }
        self.formula_: Formula = Formula(
            chosen.expression,
            self.features_,
            self.target_,
            ranges=problem.box,
            provenance=provenance,
            scope=self.scope or ("run" if self.features else "custom"),
        )
        self.front_: ParetoFront = make_front(self.candidates_, self.formula_)


def compile_machine() -> float:
    """Compile the tree search, or load it from the disk, by a search on a small table.

    Returns
    -------
    float
        Seconds spent, which no limit of time counts; 0 where the disk already had everything.
    """
    columns = np.random.default_rng(0).uniform(1.0, 2.0, (60, 2))
    settings = SearchSettings(evaluations=60, population=20, polish_steps=5)
    search = FormulaRegressor(settings=settings, progress=lambda progress: None)
    return compiling_seconds(partial(search.fit, columns, columns[:, 0] * columns[:, 1], np.arange(60) % 3))


def _starved(problem: Problem, state: SearchState) -> str:
    """Return a warning where the time limit ended the search in its first generation, else an empty text."""
    settings = problem.settings
    wanted = min(settings.population, settings.evaluations or settings.population)
    if settings.limit_seconds is None or state.evaluations >= wanted:
        return ""
    return (
        f"the search tried {state.evaluations} formulas in {settings.limit_seconds:g} s, "
        f"expected at least {wanted}: raise limit_seconds, or use fewer rows or columns"
    )
