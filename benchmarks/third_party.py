"""trainlaw and pyoperon behind one signature: fit for a processor time on one thread, then predict.

Processor time instead of wall time, so that other work on the machine does not change the result. trainlaw
stops by itself once only rounding is left.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas.algebra.expression import count_nodes

from benchmarks.problems import BenchmarkProblem

# Evaluations of the run of pyoperon that measures how much of a processor it gets.
TRIAL_EVALUATIONS = 100_000


@dataclass(frozen=True)
class EngineResult:
    """Result of one engine on one problem.

    predicted : for the test rows, (n_rows,). text : the formula. size : its number of nodes. seconds : of a
    processor. others : the formulas of the front.
    """

    predicted: NDArray[np.float64]
    text: str
    size: int
    seconds: float
    others: tuple[str, ...] = ()


Engine = Callable[[BenchmarkProblem, float, int], EngineResult]


def run_trainlaw(problem: BenchmarkProblem, seconds: float, seed: int, **changed: Any) -> EngineResult:
    """Run trainlaw: typed by unit on performance models, with GPUs as groups; untyped on equations.

    changed : settings of the search.
    """
    began = time.process_time()

    def stop_in_time(_: object) -> None:
        if time.process_time() - began > seconds:
            raise KeyboardInterrupt  # which a search answers with what it has found

    typed = problem.kind == "perfmodel"
    settings = SearchSettings(evaluations=10**9, random_seed=seed, typed=typed, **changed)
    estimator = FormulaRegressor(problem.features, problem.target, settings, progress=stop_in_time)
    estimator.fit(problem.train_x, problem.train_y, groups=problem.groups)
    formula = estimator.formula_
    return EngineResult(
        estimator.predict(problem.test_x), formula.text(None), count_nodes(formula.expression),
        time.process_time() - began, tuple(member.formula.text(None) for member in estimator.front_),
    )  # fmt: skip


def run_pyoperon(problem: BenchmarkProblem, seconds: float, seed: int, **changed: Any) -> EngineResult:
    """Run pyoperon with five Levenberg-Marquardt steps; on performance models it fits the logarithm of time.

    changed : settings of its regressor.

    A trial run translates processor time to a limit of wall time. It reports the model of least error on its
    front; the default choice prefers shorter ones with larger errors.
    """
    logarithmic = problem.kind == "perfmodel"
    truth = np.log(problem.train_y) if logarithmic else problem.train_y
    began, wall = time.process_time(), time.monotonic()
    _operon(seed, 3600, TRIAL_EVALUATIONS, changed).fit(problem.train_x.copy(), truth.copy())
    stretch = (time.monotonic() - wall) / (time.process_time() - began)
    began = time.process_time()
    estimator = _operon(seed, max(round(stretch * seconds), 1), 10**9, changed)
    estimator.fit(problem.train_x.copy(), truth.copy())
    spent = time.process_time() - began
    text = named(estimator.get_model_string(estimator.model_, 17), problem)
    front = [estimator.get_model_string(member["tree"], 17) for member in estimator.pareto_front_]
    size = len(text.replace("(", " ").replace(")", " ").split())
    with np.errstate(all="ignore"):
        predicted = np.asarray(estimator.predict(problem.test_x.copy()), dtype=np.float64)
        predicted = np.exp(predicted) if logarithmic else predicted
    return EngineResult(predicted, text, size, spent, tuple(named(member, problem) for member in front))


def _operon(seed: int, wall_seconds: int, evaluations: int, changed: dict[str, Any]) -> Any:
    from pyoperon.sklearn import SymbolicRegressor  # noqa: PLC0415  # optional

    settings = {"optimizer_iterations": 5, "objectives": ["r2", "length"], **changed}
    return SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,sqrt,square,exp,log,sin,cos,constant,variable",
        model_selection_criterion="mean_squared_error",
        generations=1_000_000,
        n_threads=1,
        random_state=seed,
        max_time=wall_seconds,
        max_evaluations=evaluations,
        **settings,
    )


def named(text: str, problem: BenchmarkProblem) -> str:
    """Return a text of pyoperon with feature names in place of X and a number that counts from 1."""
    return re.sub(r"\bX(\d+)\b", lambda found: problem.features[int(found[1]) - 1].name, text)


ENGINES: dict[str, Engine] = {
    "trainlaw": run_trainlaw,
    "trainlaw-unscreened": partial(run_trainlaw, screening=0),
    "pyoperon": run_pyoperon,
    # Other settings of pyoperon, which no problem here is meant to prefer.
    "pyoperon-one-objective": partial(run_pyoperon, objectives=["r2"]),
    "pyoperon-two-steps": partial(run_pyoperon, optimizer_iterations=2),
    "pyoperon-short": partial(run_pyoperon, max_length=25, max_depth=8, population_size=500),
}
