"""Data without a known short formula, and dynamical systems: `python -m benchmarks.data_sets`.

Friedman's three functions and the diabetes data stand for black boxes; a linear model, a forest and boosting
are fitted to the same rows. The right-hand sides of seven systems of Strogatz, "Nonlinear dynamics and
chaos", 1994, are sampled along trajectories, as La Cava, Danai and Spector did ("Inference of compact
nonlinear dynamic models by epigenetic local search", 2016). trainlaw and pyoperon get the same processor time
on one thread. Needs scikit-learn, scipy and pyoperon.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from trainlaw.app.text.tables import text_table
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec, evaluate, parse_text

from benchmarks.problems import BenchmarkProblem
from benchmarks.quality import measures
from benchmarks.third_party import Engine, EngineResult, run_pyoperon, run_trainlaw

#: Right-hand sides, and the range of the initial values of both variables.
SYSTEMS: dict[str, tuple[str, str, tuple[float, float]]] = {
    "bacterial respiration": (
        "20 - x - x * y / (1 + 0.5 * square(x))", "10 - x * y / (1 + 0.5 * square(x))", (5.0, 20.0),
    ),
    "bar magnets": ("0.5 * sin(x - y) - sin(x)", "0.5 * sin(y - x) - sin(y)", (0.5, 3.0)),
    "glider": ("0 - 0.05 * square(x) - sin(y)", "x - cos(y) / x", (1.0, 4.0)),
    "Lotka-Volterra": ("3 * x - 2 * x * y - square(x)", "2 * y - x * y - square(y)", (1.0, 8.0)),
    "predator and prey": ("x * (4 - x - y / (1 + x))", "y * (x / (1 + x) - 0.075 * y)", (1.0, 10.0)),
    "shear flow": (
        "cos(y) * cos(x) / sin(y)", "(square(cos(y)) + 0.1 * square(sin(y))) * sin(x)", (0.4, 1.3),
    ),
    "van der Pol": ("10 * (y - (x * square(x) - x) / 3)", "0 - 0.1 * x", (-2.0, 2.0)),
}  # fmt: skip
# Trajectories of a system, their points, and the time that they take, in units of the system.
TRAJECTORIES, POINTS, DURATION = 4, 100, 5.0
TRAINING_SHARE = 0.75


def split(
    name: str, X: NDArray[np.float64], y: NDArray[np.float64], *, seed: int, truth: str | None = None
) -> BenchmarkProblem:
    """Return the problem of X (n_rows, n_features) and y (n_rows,), rows assigned to training at random."""
    order = np.random.default_rng(seed).permutation(y.size)
    training, test = np.split(order, [round(TRAINING_SHARE * y.size)])
    names = "xy" if truth else [f"x{i}" for i in range(X.shape[1])]
    features = tuple(FeatureSpec(column, column, DIMENSIONLESS, column) for column in names)
    target = FeatureSpec("target", "t", DIMENSIONLESS, "target")
    kind = "equation" if truth else "data"
    return BenchmarkProblem(
        name, kind, features, target, X[training], y[training], X[test], y[test], None,
        parse_text(truth) if truth else None,
    )  # fmt: skip


def black_boxes(seed: int = 0) -> list[BenchmarkProblem]:
    """Return Friedman's functions with their usual noise, and the diabetes data."""
    from sklearn import datasets  # noqa: PLC0415  # optional

    return [
        split("Friedman 1", *datasets.make_friedman1(1000, noise=1.0, random_state=seed), seed=seed),
        split("Friedman 2", *datasets.make_friedman2(1000, noise=125.0, random_state=seed), seed=seed),
        split("Friedman 3", *datasets.make_friedman3(1000, noise=0.1, random_state=seed), seed=seed),
        split("diabetes", *datasets.load_diabetes(return_X_y=True), seed=seed),
    ]


def systems(seed: int = 0) -> list[BenchmarkProblem]:
    """Return a problem per equation of each system: its rate of change at points of its trajectories."""
    found = []
    for name, (first, second, bounds) in SYSTEMS.items():
        points = trajectories((first, second), bounds, np.random.default_rng(seed))
        for place, text in enumerate((first, second)):
            rates = _values(text, points)
            found.append(split(f"{name}, {'xy'[place]}", points, rates, seed=seed, truth=text))
    return found


def trajectories(
    rates: tuple[str, str], bounds: tuple[float, float], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return points (n_points, 2) of trajectories from random initial values within `bounds`."""
    from scipy.integrate import solve_ivp  # noqa: PLC0415  # optional

    def slope(_: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([_values(text, state[None])[0] for text in rates])

    times = np.linspace(0.0, DURATION, POINTS)
    starts = generator.uniform(*bounds, (TRAJECTORIES, 2))
    paths = [solve_ivp(slope, (0.0, DURATION), start, t_eval=times, rtol=1e-8).y.T for start in starts]
    return np.ascontiguousarray(np.concatenate(paths))


def _values(text: str, points: NDArray[np.float64]) -> NDArray[np.float64]:
    values = evaluate(parse_text(text), {"x": points[:, 0], "y": points[:, 1]})[0]
    return np.array(np.broadcast_to(values, points.shape[:1]))


def learned(make: Callable[[], object]) -> Engine:
    """Return an engine that fits a model of scikit-learn, whatever the budget."""

    def run(problem: BenchmarkProblem, seconds: float, seed: int) -> EngineResult:
        began = time.process_time()
        model = make().fit(problem.train_x, problem.train_y)  # type: ignore[attr-defined]
        return EngineResult(model.predict(problem.test_x), "", 0, time.process_time() - began)

    return run


def engines() -> dict[str, Engine]:
    """Return the engines and the models they are compared with."""
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor  # noqa: PLC0415  # optional
    from sklearn.linear_model import LinearRegression  # noqa: PLC0415  # optional

    return {
        "trainlaw": run_trainlaw,
        "pyoperon": run_pyoperon,
        "linear": learned(LinearRegression),
        "forest": learned(lambda: RandomForestRegressor(random_state=0)),
        "boosting": learned(lambda: GradientBoostingRegressor(random_state=0)),
    }


def compared(problems: Sequence[BenchmarkProblem], seconds: float, seeds: int) -> list[list[object]]:
    """Return a row per problem and engine: medians over seeds of R2, nodes and seconds; recoveries."""
    rows: list[list[object]] = []
    for problem in problems:
        for name, run in engines().items():
            if problem.truth and name not in ("trainlaw", "pyoperon"):
                continue
            found = [measures(problem, run(problem, seconds, seed)) for seed in range(seeds)]
            r2, nodes, spent = (
                float(np.median([float(str(one[key])) for one in found]))
                for key in ("r2", "nodes", "seconds")
            )
            recovered = sum(bool(one["recovered"]) for one in found)
            rows.append(
                [problem.name, name, f"{r2:.4f}", f"{nodes:g}" if nodes else "-", f"{spent:.1f}",
                 f"{recovered}/{seeds}" if problem.truth else "-"]
            )  # fmt: skip
            print(*rows[-1], sep=", ", flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and write it to --out."""
    parser = argparse.ArgumentParser(description="Black-box data and dynamical systems.")
    parser.add_argument("--seconds", type=float, default=10.0, help="processor time of a search")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=("data", "systems"))
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    options = parser.parse_args(arguments)
    wanted = [] if options.only == "systems" else black_boxes()
    wanted += [] if options.only == "data" else systems()
    head = ["problem", "engine", "R2 on test rows", "nodes", "processor time, s", "recovered, chosen"]
    table = text_table(head, compared(wanted, options.seconds, options.seeds))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "data_sets.txt").write_text(table + "\n")
    print(table)


if __name__ == "__main__":
    main()
