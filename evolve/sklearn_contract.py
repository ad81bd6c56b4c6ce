"""The contract of scikit-learn's regressors: parameters, tags, checked input and error classes.

scikit-learn itself is optional: it is imported only when it calls, and for errors of its classes.
"""

import inspect
import reprlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec, InputError
from trainlaw.formulas.errors import check_name, shown

# Squares of targets beyond this range leave that of float64, and a search would find nothing.
LEAST_TARGET = 1e-100
# Texts of values that stand for a missing one.
_MISSING = ("None", "nan", "NaN", "NaT", "<NA>", "--")


class ColumnTypeError(InputError, TypeError):
    """A value of a type that is no number, for which scikit-learn expects a TypeError."""


class SklearnRegressor(ABC):
    """A regressor whose constructor only stores its arguments."""

    __signature__: ClassVar[inspect.Signature]
    #: What None means for an argument whose fields can be set.
    _defaults: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        """Show scikit-learn the arguments by name only: keywords of settings are no parameters."""
        whole = inspect.signature(cls.__init__)
        named = [one for one in whole.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        cls.__signature__ = whole.replace(parameters=named[1:])

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predictions for `X`, shape (n_rows, n_features)."""

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination of the predictions, R squared, at most 1.

        X : features in their units, (n_rows, n_features). y : measured target in its unit, (n_rows,).
        sample_weight : (n_rows,), by default 1.
        """
        truth = np.asarray(y, dtype=np.float64)
        weight = np.ones_like(truth) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        error = float(np.sum(weight * (truth - self.predict(X)) ** 2))
        spread = float(np.sum(weight * (truth - np.average(truth, weights=weight)) ** 2))
        return 1.0 - error / spread if spread > 0.0 else float(error == 0.0)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name, as stored.

        deep : ignored, as no argument is an estimator.
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set constructor arguments and return the estimator itself.

        params : new values by name. A field of the settings goes by its name, as in the constructor, or as
        `settings__NAME`. Raises InputError for a name that is neither.
        """
        known = inspect.signature(type(self)).parameters
        within = {field.name: argument for argument, one in self._defaults.items() for field in fields(one)}
        paths = {name: f"{within[name]}__{name}" if name in within else name for name in params}
        for name, path in paths.items():
            if path.partition("__")[0] not in known:
                check_name("parameter", name, [*known, *within])
        # Whole arguments first: a field of the settings belongs to the new ones.
        for name, path in sorted(paths.items(), key=lambda item: "__" in item[1]):
            argument, _, field = path.partition("__")
            value = params[name]
            setattr(self, argument, self._with_field(argument, field, value) if field else value)
        return self

    def _with_field(self, argument: str, field: str, value: Any) -> Any:
        """Return a dataclass argument with one field replaced; raises InputError for an unknown field."""
        current = getattr(self, argument) or self._defaults.get(argument)
        if not is_dataclass(current):
            raise InputError(f"expected a field of {argument}, got {field!r}")
        return self._with_fields(current, {field: value})

    @staticmethod
    def _with_fields(settings: Any, values: Mapping[str, Any]) -> Any:
        """Return settings with some fields replaced; raises UnknownNameError for an unknown field."""
        known = [item.name for item in fields(settings)]
        for name in values:
            check_name("setting", name, known)
        return replace(settings, **values)

    def __sklearn_tags__(self) -> Any:
        """Return the tags by which scikit-learn selects its checks and metrics."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags  # noqa: PLC0415 (optional)

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(poor_score=True),
            input_tags=InputTags(),
            non_deterministic=False,
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` has found a formula."""
        return hasattr(self, "formula_")

    def __repr__(self) -> str:
        """Return the constructor call, with the arguments and settings that differ from the default."""
        plain = {name: one.default for name, one in inspect.signature(type(self)).parameters.items()}
        given = {name: value for name, value in self.get_params().items() if value is not plain[name]}
        settings = given.pop("settings", None)
        if is_dataclass(settings):
            usual = {item.name: item.default for item in fields(settings)}
            given |= {
                name: getattr(settings, name) for name in usual if getattr(settings, name) != usual[name]
            }
        shown = (f"{name}={_short(value)}" for name, value in given.items())
        return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    """Return a text of a value for people: specs of features by name, long values cut."""
    named = [one.name for one in value if isinstance(one, FeatureSpec)] if isinstance(value, tuple) else []
    return value.name if isinstance(value, FeatureSpec) else reprlib.repr(tuple(named) or value)


def feature_matrix(
    X: ArrayLike, features: tuple[FeatureSpec, ...] | None, *, fitting: bool
) -> NDArray[np.float64]:
    """Return finite numbers, shape (n_rows, n_features), taken from a data frame by the features' names.

    The messages contain phrases that scikit-learn's estimator checks search for. Raises InputError.
    """
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed, but dense data is required: use X.toarray()")
    array = _real_numbers(X if features is None else _named_columns(X, features), "X")
    if array.ndim != 2:
        raise InputError(
            f"expected a table of rows and features, got {array.ndim} dimension(s). Reshape your data"
        )
    for count, kind in zip(array.shape, ("sample", "feature"), strict=True):
        if count < 1:
            raise InputError(
                f"Found array with 0 {kind}(s) (shape={array.shape}) while a minimum of 1 is required."
            )
    if fitting and features is not None and array.shape[1] != len(features):
        raise InputError(f"expected one column per feature ({len(features)}), got {array.shape[1]} columns")
    names: list[Any] = [spec.name for spec in features or ()] or list(getattr(X, "columns", ()))
    bad = np.flatnonzero(~np.isfinite(array).all(axis=0))
    if bad.size:
        place = f" (column {names[bad[0]]!r})" if names else ""
        raise InputError(f"expected finite numbers in X, got NaN or inf{place}: omit such rows")
    if fitting:
        for column, largest in enumerate(np.max(np.abs(array), axis=0)):
            _check_scale(f"the column {names[column]!r}" if names else f"column {column} of X", largest)
    return array


def _check_scale(name: str, largest: float) -> None:
    """Raise InputError where the squares of values up to `largest` leave the range of float64."""
    if largest and not LEAST_TARGET <= largest <= 1.0 / LEAST_TARGET:
        raise InputError(
            f"expected {name} from {LEAST_TARGET:g} to {1.0 / LEAST_TARGET:g}, got {largest:g}: "
            "give it in another unit"
        )


def target_vector(y: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return finite numbers, shape (count,), with scikit-learn's warning for a column vector."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    array = _real_numbers(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        category = _class_of_sklearn("DataConversionWarning", UserWarning)
        warnings.warn("A column-vector y was passed when a 1d array was expected", category, stacklevel=4)
        array = array[:, 0]
    if array.shape != (count,):
        raise InputError(f"expected one target per row ({count}), got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise InputError("expected finite numbers in y, got NaN or inf: omit such rows")
    _check_scale("a target", float(np.max(np.abs(array), initial=0.0)))
    return array


def weight_vector(sample_weight: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return finite weights, shape (count,), none negative and not all zero."""
    weight = _real_numbers(sample_weight, "sample_weight")
    if weight.shape != (count,) or not np.all(np.isfinite(weight)) or np.any(weight < 0.0):
        raise InputError(f"expected {count} finite weights, none negative, got shape {weight.shape}")
    if not np.any(weight > 0.0):
        raise InputError("expected a positive weight, got only zeros: omit sample_weight")
    return weight


def group_labels(groups: ArrayLike, count: int) -> NDArray[np.str_]:
    """Return group labels as text, shape (count,), none missing."""
    labels = np.asarray(groups)
    if labels.shape != (count,):
        raise InputError(f"expected {count} group labels, one per row, got shape {labels.shape}")
    whole = labels if labels.dtype.kind in "OSU" else labels.astype(object)
    lost = [place for place, one in enumerate(whole) if not isinstance(one, str) and str(one) in _MISSING]
    if np.ma.is_masked(groups) or lost:
        raise InputError("expected a group label in every row, got missing ones: omit such rows")
    return labels.astype(str)


def generic_features(X: ArrayLike, count: int) -> tuple[FeatureSpec, ...]:
    """Return features without units for `count` columns, named as in a data frame or x0, x1, and so on."""
    unnamed = [f"x{i}" for i in range(count)]
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else unnamed
    return tuple(FeatureSpec(name, name, DIMENSIONLESS, f"column {i}") for i, name in enumerate(names))


def has_names(features: Sequence[FeatureSpec]) -> bool:
    """Return whether features are named by a user, so that columns of a frame are taken by their names."""
    return any(spec.name != f"x{i}" for i, spec in enumerate(features))


def not_fitted(estimator: object) -> Exception:
    """Return the error for an estimator that was not fitted: scikit-learn's class, where it is installed."""
    message = f"This {type(estimator).__name__} instance is not fitted yet: call fit first"
    error: Exception = _class_of_sklearn("NotFittedError", InputError)(message)
    return error


def _class_of_sklearn(name: str, otherwise: Any) -> Any:
    """Return one of scikit-learn's errors and warnings, or another where it is not installed."""
    try:
        return getattr(import_module("sklearn.exceptions"), name)
    except ImportError:
        return otherwise


def _named_columns(X: ArrayLike, features: tuple[FeatureSpec, ...]) -> Any:
    """Return the columns that the features name, where `X` is a data frame with names."""
    table: Any = X
    if not hasattr(table, "columns"):
        return table
    own = {str(name): name for name in table.columns}
    missing = [spec.name for spec in features if spec.name not in own]
    if not missing:
        return table[[own[spec.name] for spec in features]]
    # Names that are no text, as those of a frame made from an array, name nothing.
    if any(isinstance(name, str) for name in table.columns):
        raise InputError(f"expected a column per feature, got a table without {', '.join(missing[:5])}")
    return table


def _real_numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return the numbers of an array or a data frame; raises InputError, with the column, for others."""
    table: Any = values
    if hasattr(table, "columns"):
        names = list(table.columns)
        twice = next((column for column in names if names.count(column) > 1), None)
        if twice is not None:
            raise InputError(f"expected each column once, got {twice!r} twice: rename one")
        columns = [_real_numbers(table[column], f"the column {column!r}") for column in names]
        return np.column_stack(columns) if columns else np.empty((len(table), 0))
    masked = [row for row in values if isinstance(row, np.ma.MaskedArray)] if isinstance(values, list) else []
    if any(map(np.ma.is_masked, [values, *masked])):
        raise InputError(f"expected numbers without a mask in {name}: omit masked rows")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"expected rows of one length in {name}, got different lengths") from None
    if np.iscomplexobj(array):
        raise InputError(f"Complex data not supported: expected real numbers in {name}")
    try:
        if array.dtype.kind not in "mM":
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        pass
    kind = f" of type {table.dtype}" if hasattr(values, "index") and hasattr(values, "dtype") else ""
    raise _no_numbers(array, f"{name}{kind}")


def _no_numbers(array: NDArray[Any], name: str) -> InputError:
    """Return the error for an array of which one value at least is no number."""
    odd = next((one for one in array.astype(object).ravel() if not _is_number(one)), None)
    if array.dtype.kind in "mM" or any(hasattr(odd, word) for word in ("year", "total_seconds")):
        return InputError(f"expected numbers in {name}, got dates or durations: convert them to seconds")
    if isinstance(odd, str):
        return InputError(
            f"expected numbers in {name}, got the text {shown(odd)}: encode it, such as by pandas.get_dummies"
        )
    return ColumnTypeError(
        f"expected numbers in {name}, got {shown(odd)}: each argument must be a string of digits or a number"
    )


def _is_number(value: object) -> bool:
    """Return whether numpy takes a value as a number."""
    try:
        return np.asarray(value).astype(np.float64).ndim == 0
    except (TypeError, ValueError):
        return False
