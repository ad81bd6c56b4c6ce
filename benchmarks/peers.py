"""The peers, each behind one function: fit on rows within a number of seconds, predict, tell text and
size.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas.expression import count_nodes

from benchmarks.problems import BenchmarkProblem

UNTYPED_SYMBOLS = "add,sub,mul,div,sqrt,square,exp,log,sin,cos,constant,variable"


@dataclass(frozen=True)
class PeerResult:
    """Predictions for the test rows (n_rows,), the formula as text, its nodes, the seconds that it took,
    and the formulas of its front.
    """

    predicted: NDArray[np.float64]
    text: str
    size: int
    seconds: float
    others: tuple[str, ...] = ()


def run_trainlaw(problem: BenchmarkProblem, seconds: float, seed: int, threads: int) -> PeerResult:
    """Ours: typed by unit on performance models, with the GPUs as groups; untyped on equations."""
    typed = problem.kind == "perfmodel"
    settings = SearchSettings(evaluations=None, limit_seconds=seconds, random_seed=seed, threads=threads)
    estimator = FormulaRegressor(problem.features, problem.target, replace(settings, typed=typed))
    began = time.perf_counter()
    estimator.fit(problem.train_x, problem.train_y, groups=problem.groups)
    spent = time.perf_counter() - began
    formula = estimator.formula_
    return PeerResult(
        estimator.predict(problem.test_x), formula.text(None), count_nodes(formula.expression), spent,
        tuple(scored.formula.text(None) for scored in estimator.front_),
    )  # fmt: skip


def run_pyoperon(problem: BenchmarkProblem, seconds: float, seed: int, threads: int) -> PeerResult:
    """pyoperon with five Levenberg-Marquardt steps; on performance models it fits the logarithm of the
    time. Of its front the model of least error: its own default takes shorter ones with larger errors.
    """
    from pyoperon.sklearn import SymbolicRegressor

    estimator = SymbolicRegressor(
        allowed_symbols=UNTYPED_SYMBOLS,
        optimizer_iterations=5,
        objectives=["r2", "length"],
        model_selection_criterion="mean_squared_error",
        max_time=max(1, round(seconds)),
        generations=1_000_000,
        max_evaluations=1_000_000_000,
        n_threads=threads,
        random_state=seed,
    )
    result = _run_sklearn(
        estimator, problem, lambda: estimator.get_model_string(estimator.model_, 17), first=1
    )
    front = [estimator.get_model_string(member["tree"], 17) for member in estimator.pareto_front_]
    return replace(result, others=tuple(_named(text, problem, 1) for text in front))


def run_gplearn(problem: BenchmarkProblem, seconds: float, seed: int, threads: int) -> PeerResult:
    """gplearn, one generation at a time until the seconds are spent."""
    from gplearn.genetic import SymbolicRegressor

    estimator = SymbolicRegressor(
        population_size=1000,
        generations=1,
        function_set=("add", "sub", "mul", "div", "sqrt", "log", "sin", "cos"),
        parsimony_coefficient=0.001,
        warm_start=True,
        n_jobs=threads,
        random_state=seed,
    )

    class Timed:
        """Repeats warm starts until the time is over."""

        def fit(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
            """Fits generation after generation."""
            began = time.perf_counter()
            while time.perf_counter() - began < seconds:
                estimator.fit(X, y)
                estimator.set_params(generations=estimator.generations + 1)

        def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
            """Predicts by the best program."""
            return estimator.predict(X)

    return _run_sklearn(Timed(), problem, lambda: str(estimator._program), first=0)


def _run_sklearn(
    estimator: Any, problem: BenchmarkProblem, text_of: Callable[[], str], first: int
) -> PeerResult:
    """Fit and predict; the formula's text calls the features X and a number that counts from `first`."""
    logarithmic = problem.kind == "perfmodel"
    truth = np.log(problem.train_y) if logarithmic else problem.train_y.copy()
    began = time.perf_counter()
    estimator.fit(problem.train_x.copy(), truth)
    spent = time.perf_counter() - began
    with np.errstate(all="ignore"):
        predicted = np.asarray(estimator.predict(problem.test_x.copy()), dtype=np.float64)
        predicted = np.exp(predicted) if logarithmic else predicted
    text = _named(text_of(), problem, first)
    return PeerResult(
        predicted, text, len(text.replace("(", " ").replace(")", " ").replace(",", " ").split()), spent
    )


def _named(text: str, problem: BenchmarkProblem, first: int) -> str:
    """The text with the features' names for X and a number that counts from `first`."""
    return re.sub(r"\bX(\d+)\b", lambda found: problem.features[int(found[1]) - first].name, text)


PEERS: dict[str, Callable[[BenchmarkProblem, float, int, int], PeerResult]] = {
    "trainlaw": run_trainlaw,
    "pyoperon": run_pyoperon,
    "gplearn": run_gplearn,
}
