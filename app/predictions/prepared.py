"""A configuration that is predicted for one batch after another: what they share is computed once."""

from collections.abc import Callable
from functools import cached_property, lru_cache
from math import isfinite, isnan, nan
from typing import Any

import numpy as np
from trainlaw.app.answers.nearest_run import measured_near, nearest_facts
from trainlaw.app.answers.said import Answers, evaluated
from trainlaw.app.models.multi_gpu import EXCHANGE, scaled_runs
from trainlaw.app.models.scopes import Inputs, feature_expression, handling
from trainlaw.app.predictions.predict import Prediction, predictions_of, run_answers, setting_columns
from trainlaw.datasets import FEATURES, RunTable
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas import Constant, Expression, Formula, substitute, variables
from trainlaw.formulas.algebra.expression import rebuilt
from trainlaw.formulas.algebra.scalars import Scalar, scalar_function
from trainlaw.formulas.algebra.tidying import folded

BATCH = "batch_per_gpu"
# What changes from call to call; all else of a configuration is a number.
_VARYING = (BATCH, SINGLE_GPU_TIME)


def can_prepare(formula: Formula, scaling: Formula) -> bool:
    """Return whether a formula gives one value per run, without constants that differ by group."""
    is_plain = not (formula.grouped or scaling.grouped)
    return is_plain and handling(formula).is_predictable and handling(formula).inputs is Inputs.RUN


class Prepared:
    """The predictions of a formula for one run whose batch changes."""

    def __init__(self, formula: Formula, run: RunTable, scaling: Formula) -> None:
        """Take a formula and one for several GPUs for which `can_prepare` holds, and a table of one run."""
        self._formula, self._run, self._scaling = formula, run, scaling
        self._makers, self._known = run.joined.columns(), dict[str, float]()
        self._single = self._function(_written(formula.expression, formula.scope))
        self._is_scaled = bool(scaled_runs(scaling, run)[0])
        is_several = bool(run.frame["n_gpus"].iloc[0] > 1) and not handling(formula).covers_multi_gpu
        self._added = self._exchange() if is_several else None

    def seconds(self, batch: int) -> float:
        """Return the time of an iteration on all GPUs, in seconds; nan where the formula is not defined."""
        single = self._single({BATCH: batch})
        return single if self._added is None else single + self._added(batch, single)

    def prediction(self, batch: int) -> Prediction:
        """Return what `predict_runs` says of the run with another batch."""
        at = {BATCH: float(batch)}
        single = self._single(at)
        added = self._added(batch, single) if self._added else 0.0
        changed = at | {name: feature(at) for name, feature in self._features.items()}
        changed |= {SINGLE_GPU_TIME: single, "added_s": added}
        changed["is_undefined"] = float(not isfinite(single + added))
        columns = {name: np.array([value]) for name, value in changed.items()}
        nearest = measured_near(self._row._replace(batch_per_gpu=batch)) if self._has_nearest else None
        if nearest:
            columns |= nearest_facts([nearest], [self._single({BATCH: nearest.batch_per_gpu})])
        answers = evaluated(self._answers.lines, {**self._answers.columns, **columns}, 1)
        return predictions_of(answers, {**self._settings, BATCH: [batch]})[0]

    @cached_property
    def _answers(self) -> Answers:
        """Everything that is said of the run, of which the batch changes a part."""
        return run_answers(self._formula, self._run, self._scaling)

    @cached_property
    def _settings(self) -> dict[str, list[Any]]:
        return setting_columns(self._run)

    @cached_property
    def _row(self) -> Any:
        return next(self._run.frame.itertuples(index=False))

    @cached_property
    def _has_nearest(self) -> bool:
        return "nearest_batch" in self._answers.columns

    @cached_property
    def _features(self) -> dict[str, Scalar]:
        """The features and base columns that change with the batch."""
        forms = {name: feature_expression(name) for name in self._answers.columns if name in FEATURES}
        return {name: self._function(form) for name, form in forms.items() if BATCH in variables(form)}

    def _exchange(self) -> Callable[[int, float], float]:
        """Return what several GPUs add to a time on one, as `exchange_seconds` has it."""
        if not self._is_scaled:
            textbook = self._function(feature_expression(EXCHANGE))
            return lambda batch, single: textbook({BATCH: batch})
        whole = self._function(_written(self._scaling.expression, self._scaling.scope))

        def added(batch: int, single: float) -> float:
            found = whole({BATCH: batch, SINGLE_GPU_TIME: single}) - single
            return found if isnan(found) else max(found, 0.0)

        return added

    def _function(self, expression: Expression) -> Scalar:
        """Return an expression over base columns as a function of what varies."""
        form = rebuilt(
            expression,
            variable=lambda node: node if node.name in _VARYING else Constant(self._value(node.name)),
            apply=lambda node, arguments: folded(node.operator, arguments),
        )
        return scalar_function(form) or (lambda values: nan)

    def _value(self, name: str) -> float:
        if name not in self._known:
            self._known[name] = float(self._makers[name]()[0])
        return self._known[name]


@lru_cache(maxsize=64)
def _written(expression: Expression, scope: str) -> Expression:
    """Return a formula over base columns."""
    return substitute(expression, {name: feature_expression(name, scope) for name in variables(expression)})
