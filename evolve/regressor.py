"""The search as an estimator of scikit-learn's kind."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.checkpoint import load_state, save_state
from trainlaw.evolve.executors import Executor, advance_on, facts_of
from trainlaw.evolve.search.loop import Progress, SearchState, run, start_state
from trainlaw.evolve.search.problem import Problem, make_problem
from trainlaw.evolve.search.validation import Candidate, choose, finish, make_front
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec, Formula, InputError, ParetoFront, RowSums, to_text

GENERIC_TARGET = FeatureSpec("y", "y", DIMENSIONLESS, "target")


class FormulaRegressor:
    """Evolves a closed form of the target in the features.

    features : specs of the columns, or None for columns without units (then the search is not typed).
    target : spec of `y`, or None. settings : `SearchSettings`, or None for the defaults. progress :
    called after each generation with a `Progress`, or None. executor : where islands advance, as
    `concurrent.futures` defines it (`settings.islands` says how many), or None for this process. scope :
    what the formula models, one of `SCOPES`; None means "layer" with sums, "custom" without specs of the
    features, and "run" otherwise.

    After `fit`: `formula_` the chosen formula, `front_` the Pareto front of training loss and complexity,
    `candidates_` all polished formulas with their held-out losses, `evaluations_` and `generations_` the
    work done.
    """

    def __init__(
        self,
        features: tuple[FeatureSpec, ...] | None = None,
        target: FeatureSpec | None = None,
        settings: SearchSettings | None = None,
        progress: Callable[[Progress], None] | None = None,
        executor: Executor | None = None,
        scope: str | None = None,
    ) -> None:
        self.features = features
        self.target = target
        self.settings = settings
        self.progress = progress
        self.executor = executor
        self.scope = scope

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        labels: Mapping[str, ArrayLike] | None = None,
        sums: RowSums | None = None,
    ) -> "FormulaRegressor":
        """Searches; returns itself.

        X : (n_rows, n_features) in the features' units, or a data frame with the features' names among
        its columns. y : (n_observations,) in the target's unit. groups : labels (n_observations,) whose
        transfer to unseen ones counts. sample_weight : (n_observations,), not negative. labels : values
        (n_rows,) of each label of `settings.grouped_constants`. sums : which rows, such as the layers of a
        network, add up to each observation. Without sums each row is an observation. Raises InputError for tables of wrong shape or content.
        """
        arguments = self._arguments(X, y, groups, sample_weight, labels, sums)
        problem = make_problem(**arguments)
        place = problem.settings.checkpoint
        state = load_state(problem, Path(place)) if place and Path(place).exists() else start_state(problem)
        save = (lambda current: save_state(current, problem, Path(place))) if place else None
        elsewhere = None
        if self.executor is not None:
            elsewhere = advance_on(self.executor, problem, facts_of(problem, arguments))
        state = run(state, problem, self.progress, save, elsewhere)
        self._conclude(problem, state, self.scope or self._default_scope(sums))
        return self

    def predict(
        self,
        X: ArrayLike,
        labels: Mapping[str, ArrayLike] | None = None,
        sums: RowSums | None = None,
    ) -> NDArray[np.float64]:
        """Target (n_observations,) in its unit for `X`, `labels` and `sums` as in `fit`; not a number where
        the formula is not valid. A value of a label that was not trained on counts as one.
        """
        if not hasattr(self, "formula_"):
            raise _not_fitted(self)
        columns = _matrix(X, self.features_, fitting=False)
        if columns.shape[1] != len(self.features_):
            raise InputError(
                f"X has {columns.shape[1]} features, but {type(self).__name__} is expecting "
                f"{len(self.features_)} features as input"
            )
        named = {spec.name: columns[:, i] for i, spec in enumerate(self.features_)}
        length = columns.shape[0] if sums is None else sums.amount
        return np.broadcast_to(self.formula_.predict(named, labels, sums), length).copy()

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Coefficient of determination of the predictions for `X` (n_rows, n_features) against `y`
        (n_rows,).
        """
        truth = np.asarray(y, dtype=np.float64)
        weight = np.ones_like(truth) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        error = float(np.sum(weight * (truth - self.predict(X)) ** 2))
        spread = float(np.sum(weight * (truth - np.average(truth, weights=weight)) ** 2))
        return 1.0 - error / spread if spread > 0.0 else float(error == 0.0)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> "FormulaRegressor":
        """Sets arguments of the constructor; raises InputError for an unknown name."""
        known = inspect.signature(type(self)).parameters
        for name, value in params.items():
            if name not in known:
                raise InputError(f"expected a parameter of {', '.join(known)}, got {name!r}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn wants to know of a regressor."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(poor_score=True),
            input_tags=InputTags(),
            non_deterministic=False,
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has found a formula."""
        return hasattr(self, "formula_")

    def __repr__(self) -> str:
        """The constructor's call with the arguments that were given."""
        given = {name: value for name, value in self.get_params().items() if value is not None}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def _arguments(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None,
        sample_weight: ArrayLike | None,
        labels: Mapping[str, ArrayLike] | None,
        sums: RowSums | None,
    ) -> dict[str, Any]:
        """The checked arguments of `make_problem`."""
        settings = self.settings or SearchSettings()
        if self.features is None:
            settings = replace(settings, typed=False)
        columns = _matrix(X, self.features, fitting=True)
        if (
            hasattr(X, "columns")
            and all(isinstance(name, str) for name in X.columns)
            and self.features is None
        ):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.features_ = self.features or _generic_features(X, columns.shape[1])
        self.target_ = self.target or GENERIC_TARGET
        self.n_features_in_ = columns.shape[1]
        truth = _target(y, columns.shape[0] if sums is None else sums.amount)
        weight = None if sample_weight is None else _weights(sample_weight, truth.size)
        group = None if groups is None else np.asarray(groups).astype(str)
        if group is not None and group.shape != truth.shape:
            raise InputError(f"expected {truth.size} group labels, one per row, got shape {group.shape}")
        return {
            "X": columns, "y": truth, "features": self.features_, "target": self.target_,
            "settings": settings, "groups": group, "sample_weight": weight,
            "labels": None if labels is None else {k: np.asarray(v) for k, v in labels.items()}, "sums": sums,
        }  # fmt: skip

    def _default_scope(self, sums: RowSums | None) -> str:
        if sums is not None:
            return "layer"
        return "run" if self.features else "custom"

    def _conclude(self, problem: Problem, state: SearchState, scope: str) -> None:
        self.evaluations_, self.generations_ = state.evaluations, state.generation
        self.candidates_: list[Candidate] = finish(state, problem)
        if not self.candidates_:
            raise InputError(
                "expected at least one valid formula, got none: allow more operators or a larger budget"
            )
        chosen = choose(self.candidates_, problem.settings.choice, problem.columns.shape[1])
        settings = problem.settings
        provenance = {
            "settings": {
                **asdict(settings),
                "seeds": [to_text(seed) for seed in settings.seeds],
                "template": settings.template and to_text(settings.template),
            },
            "evaluations": state.evaluations,
            "training_loss": chosen.loss,
            "validation_loss": chosen.validation_loss,
        }
        template = Formula(
            chosen.expression, self.features_, self.target_, chosen.grouped, ranges=problem.box,
            provenance=provenance, scope=scope,
        )  # fmt: skip
        self.front_: ParetoFront = make_front(self.candidates_, template)
        self.formula_: Formula = template


def _matrix(X: ArrayLike, features: tuple[FeatureSpec, ...] | None, fitting: bool) -> NDArray[np.float64]:
    """float64 (n_rows, n_features) of finite numbers; of a data frame the columns that the features name."""
    if hasattr(X, "columns") and features is not None:
        missing = [spec.name for spec in features if spec.name not in X.columns]
        if missing and (fitting or len(X.columns) != len(features)):
            raise InputError(f"expected a column per feature, got a table without {', '.join(missing[:5])}")
        if not missing:
            X = X[[spec.name for spec in features]]
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed, but dense data is required: use X.toarray()")
    array = np.asarray(X)
    if np.iscomplexobj(array):
        raise InputError("Complex data not supported: expected real numbers in X")
    array = array.astype(np.float64)
    if array.ndim != 2:
        raise InputError(
            f"expected a table of rows and features, got {array.ndim} dimension(s). Reshape your data"
        )
    if array.shape[0] < 1:
        raise InputError(
            f"Found array with {array.shape[0]} sample(s) (shape={array.shape}) while a minimum of 1 is required."
        )
    if array.shape[1] < 1:
        raise InputError(
            f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
        )
    if fitting and features is not None and array.shape[1] != len(features):
        raise InputError(f"expected one column per feature ({len(features)}), got {array.shape[1]} columns")
    if not np.all(np.isfinite(array)):
        raise InputError("expected finite numbers in X, got NaN or inf: leave such rows out")
    return array


def _target(y: ArrayLike, rows: int) -> NDArray[np.float64]:
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    array = np.asarray(y)
    if np.iscomplexobj(array):
        raise InputError("Complex data not supported: expected real numbers in y")
    array = array.astype(np.float64)
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_column()
        array = array[:, 0]
    if array.shape != (rows,):
        raise InputError(f"expected one target per row ({rows}), got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise InputError("expected finite numbers in y, got NaN or inf: leave such rows out")
    return array


def _weights(sample_weight: ArrayLike, rows: int) -> NDArray[np.float64]:
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (rows,) or not np.all(np.isfinite(weight)) or np.any(weight < 0.0):
        raise InputError(f"expected {rows} finite weights, none negative, got shape {weight.shape}")
    if not np.any(weight > 0.0):
        raise InputError("expected a weight that is not zero, got only zero weights: leave sample_weight out")
    return weight


def _generic_features(X: ArrayLike, count: int) -> tuple[FeatureSpec, ...]:
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else [f"x{i}" for i in range(count)]
    return tuple(FeatureSpec(name, name, DIMENSIONLESS, f"column {i}") for i, name in enumerate(names))


def _warn_column() -> None:
    import warnings

    try:
        from sklearn.exceptions import DataConversionWarning as Category
    except ImportError:
        Category = UserWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected", Category, stacklevel=4)


def _not_fitted(estimator: object) -> Exception:
    message = f"This {type(estimator).__name__} instance is not fitted yet: call fit first"
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return InputError(message)
    return NotFittedError(message)
