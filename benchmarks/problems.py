"""Problems with a known formula: equations of physics and performance models, built in or from a folder."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas import DIMENSIONLESS, SECOND, Expression, FeatureSpec, Unit, evaluate, parse_text

Ranges = dict[str, tuple[float, float]]
# Equations of the Feynman lectures by their number there, after S.-M. Udrescu and M. Tegmark, "AI Feynman",
# 2020; each variable with the range of its random values.
EQUATIONS: dict[str, tuple[str, Ranges]] = {
    "I.6.20": ("exp(-(t / s)^2 / 2) / (sqrt(6.283185307179586) * s)", {"s": (1, 3), "t": (1, 3)}),
    "I.9.18": ("G * m1 * m2 / (square(x2 - x1) + square(y2 - y1))",
               {name: (3, 4) if name in ("x1", "y1") else (1, 2) for name in "G m1 m2 x1 x2 y1 y2".split()}),
    "I.10.7": ("m / sqrt(1 - v^2 / c^2)", {"m": (1, 5), "v": (1, 2), "c": (3, 10)}),
    "I.11.19": ("x1 * y1 + x2 * y2 + x3 * y3", {name: (1.0, 5.0) for name in "x1 x2 x3 y1 y2 y3".split()}),
    "I.12.11": ("q * (e + b * v * sin(w))", {name: (1.0, 5.0) for name in "q e b v w".split()}),
    "I.13.12": ("G * m1 * m2 * (1 / r2 - 1 / r1)", {name: (1.0, 5.0) for name in "G m1 m2 r1 r2".split()}),
    "I.18.4": ("(m1 * r1 + m2 * r2) / (m1 + m2)", {name: (1.0, 5.0) for name in "m1 m2 r1 r2".split()}),
    "I.24.6": ("m * (w^2 + w0^2) * x^2 / 4", {name: (1.0, 3.0) for name in "m w w0 x".split()}),
    "I.27.6": ("1 / (1 / d1 + n / d2)", {name: (1.0, 5.0) for name in "d1 d2 n".split()}),
    "I.29.16": ("sqrt(x1^2 + x2^2 - 2 * x1 * x2 * cos(u - w))",
                {name: (1.0, 5.0) for name in "x1 x2 u w".split()}),
    "I.34.8": ("q * v * b / p", {name: (1.0, 5.0) for name in "q v b p".split()}),
    "II.6.11": ("p * cos(w) / (12.566370614359172 * e * r^2)",
                {name: (1.0, 3.0) for name in "p w e r".split()}),
}  # fmt: skip
# Nominal figures of six GPUs: TFLOP/s, GB/s, microseconds per launch; the model below is artificial.
MODEL_GPUS = {
    "K80": (4.1, 240.0, 14.0),
    "P100": (9.5, 732.0, 10.0),
    "V100": (14.0, 900.0, 8.0),
    "T4": (8.1, 320.0, 8.0),
    "A100": (19.5, 1555.0, 6.0),
    "H100": (51.0, 2000.0, 5.0),
}
MODEL_TEXT = (
    "max(flop / (0.45 * peak), bytes / bandwidth) + launch * layers + 2 * (n - 1) / n * gradient / link"
)
MODEL_UNITS = {
    "flop": "FLOP",
    "peak": "FLOP/s",
    "bytes": "B",
    "bandwidth": "B/s",
    "launch": "s",
    "layers": "1",
    "n": "1",
    "gradient": "B",
    "link": "B/s",
}


@dataclass(frozen=True)
class BenchmarkProblem:
    """Training and test rows, (n_rows, n_features) and (n_rows,), of one formula.

    kind : "equation" or "perfmodel". groups : the GPU of each training row, or None. truth : the true
    formula, if it is known.
    """

    name: str
    kind: str
    features: tuple[FeatureSpec, ...]
    target: FeatureSpec
    train_x: NDArray[np.float64]
    train_y: NDArray[np.float64]
    test_x: NDArray[np.float64]
    test_y: NDArray[np.float64]
    groups: NDArray[np.str_] | None
    truth: Expression | None


def make_equation(name: str, noise: float, rows: int = 1000, seed: int = 0) -> BenchmarkProblem:
    """Return the equation `name` with noise on its training rows, in standard deviations of the target.

    >>> make_equation("I.27.6", 0.0, rows=10).train_x.shape
    (10, 3)
    """
    text, ranges = EQUATIONS[name]
    return make_problem(name, text, ranges, noise, rows, seed=[seed, sorted(EQUATIONS).index(name)])


def make_problem(
    label: str, text: str, ranges: Ranges, noise: float, rows: int, *, seed: Sequence[int]
) -> BenchmarkProblem:
    """Return the equation of `text` at random values of its features, with noise on the training rows."""
    truth = parse_text(text)
    generator = np.random.default_rng(seed)
    low, high = np.array(list(ranges.values()), dtype=np.float64).T
    points = generator.uniform(low, high, (2 * rows, len(ranges)))
    exact = np.broadcast_to(evaluate(truth, dict(zip(ranges, points.T, strict=True)))[0], 2 * rows)
    noisy = exact[:rows] + noise * np.std(exact[:rows]) * generator.standard_normal(rows)
    features = tuple(FeatureSpec(name, name, DIMENSIONLESS, name) for name in ranges)
    target = FeatureSpec("target", "y", DIMENSIONLESS, "target")
    return BenchmarkProblem(
        f"{label} noise {noise:g}", "equation", features, target,
        points[:rows], noisy, points[rows:], exact[rows:], None, truth,
    )  # fmt: skip


def make_performance_model(
    held_out: str, noise: float = 0.05, rows: int = 600, seed: int = 0
) -> BenchmarkProblem:
    """Return the performance model tested on the rows of one GPU, with log-normal noise on all times."""
    generator = np.random.default_rng(seed)
    gpus = np.array(sorted(MODEL_GPUS))[np.arange(rows) % len(MODEL_GPUS)]
    sheet = np.array([MODEL_GPUS[gpu] for gpu in gpus])
    columns = {
        "flop": 10.0 ** generator.uniform(8.0, 13.0, rows),
        "peak": sheet[:, 0] * 1e12,
        "bytes": 10.0 ** generator.uniform(6.5, 11.0, rows),
        "bandwidth": sheet[:, 1] * 1e9,
        "launch": sheet[:, 2] * 1e-6,
        "layers": generator.integers(8, 200, rows).astype(np.float64),
        "n": 2.0 ** generator.integers(0, 6, rows),
        "gradient": 10.0 ** generator.uniform(6.5, 9.0, rows),
        "link": generator.choice([1.25e10, 5e10, 3e11], rows),
    }
    truth = parse_text(MODEL_TEXT)
    times = evaluate(truth, columns)[0] * np.exp(noise * generator.standard_normal(rows))
    features = tuple(FeatureSpec(name, name, Unit.parse(unit), name) for name, unit in MODEL_UNITS.items())
    table = np.column_stack(list(columns.values()))
    test = gpus == held_out
    return BenchmarkProblem(
        f"model without {held_out}", "perfmodel", features, FeatureSpec("time_s", "t", SECOND, "time"),
        table[~test], times[~test], table[test], times[test], gpus[~test], truth,
    )  # fmt: skip


def built_in_problems() -> list[BenchmarkProblem]:
    """Return all built-in problems: every equation without and with 1 % noise, every GPU held out once."""
    equations = [make_equation(name, noise) for name in EQUATIONS for noise in (0.0, 0.01)]
    return equations + [make_performance_model(gpu) for gpu in MODEL_GPUS]
