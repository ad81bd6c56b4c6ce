"""trainlaw and third-party engines behind one signature: fit within a time limit, then predict."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas.algebra.expression import count_nodes

from benchmarks.problems import BenchmarkProblem

UNTYPED_SYMBOLS = "add,sub,mul,div,sqrt,square,exp,log,sin,cos,constant,variable"


@dataclass(frozen=True)
class EngineResult:
    """Result of one engine on one problem.

    predicted : for the test rows, (n_rows,). text : the formula. size : its number of nodes. seconds : time
    taken. others : the formulas of the front.
    """

    predicted: NDArray[np.float64]
    text: str
    size: int
    seconds: float
    others: tuple[str, ...] = ()


def run_trainlaw(problem: BenchmarkProblem, seconds: float, seed: int, threads: int) -> EngineResult:
    """Run trainlaw: typed by unit on performance models, with GPUs as groups; untyped on equations."""
    typed = problem.kind == "perfmodel"
    settings = SearchSettings(evaluations=None, limit_seconds=seconds, random_seed=seed, threads=threads)
    estimator = FormulaRegressor(problem.features, problem.target, replace(settings, typed=typed))
    began = time.perf_counter()
    estimator.fit(problem.train_x, problem.train_y, groups=problem.groups)
    spent = time.perf_counter() - began
    formula = estimator.formula_
    return EngineResult(
        estimator.predict(problem.test_x), formula.text(None), count_nodes(formula.expression), spent,
        tuple(scored.formula.text(None) for scored in estimator.front_),
    )  # fmt: skip


def run_pyoperon(problem: BenchmarkProblem, seconds: float, seed: int, threads: int) -> EngineResult:
    """Run pyoperon with five Levenberg-Marquardt steps; on performance models it fits the logarithm of time.

    It reports the model of least error on its front; the default choice prefers shorter ones with larger
    errors.
    """
    from pyoperon.sklearn import SymbolicRegressor  # noqa: PLC0415  # optional

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
    return replace(result, others=tuple(named(text, problem, 1) for text in front))


def _run_sklearn(
    estimator: Any, problem: BenchmarkProblem, formula_text: Callable[[], str], first: int
) -> EngineResult:
    """Fit and predict; in the formula's text, features are X and a number that counts from `first`."""
    logarithmic = problem.kind == "perfmodel"
    truth = np.log(problem.train_y) if logarithmic else problem.train_y.copy()
    began = time.perf_counter()
    estimator.fit(problem.train_x.copy(), truth)
    spent = time.perf_counter() - began
    with np.errstate(all="ignore"):
        predicted = np.asarray(estimator.predict(problem.test_x.copy()), dtype=np.float64)
        predicted = np.exp(predicted) if logarithmic else predicted
    text = named(formula_text(), problem, first)
    return EngineResult(
        predicted, text, len(text.replace("(", " ").replace(")", " ").replace(",", " ").split()), spent
    )


def named(text: str, problem: BenchmarkProblem, first: int) -> str:
    """Return the text with feature names in place of X and a number that counts from `first`."""
    return re.sub(r"\bX(\d+)\b", lambda found: problem.features[int(found[1]) - first].name, text)


ENGINES: dict[str, Callable[[BenchmarkProblem, float, int, int], EngineResult]] = {
    "trainlaw": run_trainlaw,
    "pyoperon": run_pyoperon,
}
