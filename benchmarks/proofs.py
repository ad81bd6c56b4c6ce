"""Proofs of monotonicity for the front of a search on the default table: the share of true claims proved."""

import time

import numpy as np
from trainlaw.datasets import STUDY_FEATURES, TARGET, feature_specs, load
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import Expression, evaluate, prove_monotone, variables

POINTS = 10_000
# A rise or fall smaller than this share of the value is rounding.
ROUNDING = 1e-9


def proof_rows(evaluations: int = 20_000) -> list[dict[str, object]]:
    """Return a row for rising and one for falling: claims, those contradicted by points, proved, seconds."""
    runs = load("fp32-2026")
    search = FormulaRegressor(
        feature_specs(STUDY_FEATURES), TARGET, SearchSettings(evaluations=evaluations, threads=2)
    )
    search.fit(runs.features(STUDY_FEATURES), runs.seconds, groups=runs.labels()["gpu_group"])
    box = search.formula_.ranges
    return [_proved(search, box, direction) for direction in (1, -1)]


def _proved(
    search: FormulaRegressor, box: dict[str, tuple[float, float]], direction: int
) -> dict[str, object]:
    claims = [
        (member.formula.expression, name)
        for member in search.front_
        for name in variables(member.formula.expression)
    ]
    began = time.perf_counter()
    proved = [
        prove_monotone(expression, name, box, direction).status == "proved" for expression, name in claims
    ]
    spent = time.perf_counter() - began
    holds = [_holds(expression, name, box, direction) for expression, name in claims]
    true = sum(holds)
    return {
        "claim": "never falls" if direction > 0 else "never rises",
        "claims (formula x feature)": len(claims),
        f"not contradicted by {POINTS:,} pairs of points": true,
        "proved": sum(proved),
        "proved but contradicted": sum(p and not h for p, h in zip(proved, holds, strict=True)),
        "share proved %": 100.0 * sum(proved) / true if true else float("nan"),
        "seconds": spent,
    }


def _holds(expression: Expression, name: str, box: dict[str, tuple[float, float]], direction: int) -> bool:
    """Return whether no sampled pair of points that differ only in `name` contradicts the claim."""
    generator = np.random.default_rng(0)
    low = {
        variable: generator.uniform(*box[variable], POINTS)
        if box[variable][0] < box[variable][1]
        else np.full(POINTS, box[variable][0])
        for variable in variables(expression)
    }
    high = low | {name: generator.uniform(low[name], box[name][1])}
    first, _ = evaluate(expression, low)
    second, _ = evaluate(expression, high)
    return bool(np.all(direction * (second - first) >= -ROUNDING * np.abs(first)))
