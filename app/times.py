"""Times one at a time: a configuration is kept, so that the next batch of it takes microseconds."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import nan
from typing import Any

from trainlaw.app.frames import setting_name
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.inputs.resolve import is_cnn_file
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, SCALING_FORMULA
from trainlaw.app.models.multi_gpu import added_time
from trainlaw.app.models.scopes import Held, Inputs, feature_expression, handling
from trainlaw.app.models.settings import setup_for
from trainlaw.app.predictions.predict import check_fits, run_seconds
from trainlaw.datasets import RunTable
from trainlaw.datasets.features.run_features import SINGLE_GPU_TIME
from trainlaw.datasets.measurements.runs import Setup, check_counts
from trainlaw.formulas import Constant, Expression, Formula, substitute, variables
from trainlaw.formulas.algebra.expression import rebuilt
from trainlaw.formulas.algebra.scalars import Scalar, scalar_function
from trainlaw.formulas.algebra.tidying import folded

_BATCH = "batch_per_gpu"
# What changes from call to call; all else of a configuration is a number.
_VARYING = (_BATCH, SINGLE_GPU_TIME)
_Settings = tuple[tuple[str, Any], ...]


def one_time(formula: Formula, cnn: str, gpu: str, batch: int, settings: Mapping[str, Any]) -> float:
    """Return the time of an iteration, in seconds; arguments as for `trainlaw.predict`, one value each."""
    if type(batch) is not int or batch < 1:
        check_counts(batch)
    kept = _kept(Held(formula), cnn, gpu, tuple(settings.items()))
    if kept is not None:
        return kept(batch)
    run = single_run(formula, cnn, gpu, batch, settings)
    return float(run_seconds(formula, run, BUILT_IN_FORMULAS[SCALING_FORMULA]())[0])


def single_run(formula: Formula, cnn: str, gpu: str, batch: int, settings: Mapping[str, Any]) -> RunTable:
    """Return a configuration as a table of one run; arguments as for `trainlaw.predict`, one value each."""
    given = {setting_name(name): value for name, value in settings.items()}
    pixels, classes = (given.pop(name, None) for name in ("pixels", "classes"))
    run = one_run(cnn, gpu, batch, pixels, setup_for(formula, Setup(**given)), classes=classes)
    check_fits(formula, run)
    return run


# A service asks for a few hundred configurations, of 50 kB each.
@lru_cache(maxsize=1024)
def _kept(held: Held, cnn: str, gpu: str, settings: _Settings) -> Callable[[int], float] | None:
    """Return the time of a configuration for any batch; None for a formula or a CNN that has no such form."""
    formula, scaling, scope = held.formula, BUILT_IN_FORMULAS[SCALING_FORMULA](), handling(held.formula)
    is_plain = not (formula.grouped or scaling.grouped) and scope.is_predictable
    # A file may change from call to call.
    if is_cnn_file(cnn) or not is_plain or scope.inputs is not Inputs.RUN:
        return None
    run = single_run(formula, cnn, gpu, 1, dict(settings))
    single = _function(_written(formula.expression, formula.scope), run)
    if scope.covers_multi_gpu or run.frame["n_gpus"].iloc[0] == 1:
        return lambda batch: single({_BATCH: batch})
    added = _function(added_time(), run)

    def seconds(batch: int) -> float:
        on_one = single({_BATCH: batch})
        return on_one + added({_BATCH: batch, SINGLE_GPU_TIME: on_one})

    return seconds


def _function(expression: Expression, run: RunTable) -> Scalar:
    """Return an expression over base columns of a run as a function of what varies."""
    columns = run.joined.columns()
    form = rebuilt(
        expression,
        variable=lambda node: node if node.name in _VARYING else Constant(float(columns[node.name]()[0])),
        apply=lambda node, arguments: folded(node.operator, arguments),
    )
    return scalar_function(form) or (lambda values: nan)


@lru_cache(maxsize=64)
def _written(expression: Expression, scope: str) -> Expression:
    """Return a formula over base columns."""
    return substitute(expression, {name: feature_expression(name, scope) for name in variables(expression)})
