"""How often noise of 5 % hides which formula was planted: it is compared with its nearest alternatives.

No search is involved: in each draw of the noise, the planted formula and alternatives that a search may find
as well are fitted to all rows, and a criterion compares them. Where an alternative wins, no rule that weighs
fit against size can be expected to choose the planted formula.
Usage: python -m benchmarks.planted_alternatives [--draws 100]
"""

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from trainlaw.datasets import TARGET
from trainlaw.evolve import SearchSettings
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.trees import from_expression
from trainlaw.formulas import constants, parse_text

from benchmarks.planted import NOISE, Planted, distances, multi_gpu_formula, single_gpu_formula

# Draws of the noise that no search of `benchmarks.planted` sees.
FIRST_DRAW = 1_000
_RING = "0.96 * single_gpu_time_s + 0.94 * node_ring_s + 3.2 * network_ring_s"
#: Alternatives of a planted formula by what sets them apart.
ALTERNATIVES: dict[str, dict[str, str]] = {
    "nine terms": {
        "one factor of wide_sm": (
            "((1.48 * conv_other_compute_s + 77.9 * im2col_compute_s + 1070 * conv_weight_compute_s)"
            " * clock_ratio^(-0.15) + 26.8 * conv_output_memory_s + 14.2 * batchnorm_memory_s"
            " + 74.6 * depthwise_output_memory_s + 11.5 * parameter_memory_s) * exp(0.7 * wide_sm)"
            " + 8.0 * layer_launch_s + 0.0014"
        ),
    },
    "several GPUs": {
        "no overhead": f"max(1.02 * single_gpu_time_s, {_RING})",
        "overhead without overlap": f"max(1.02 * single_gpu_time_s + 0.0005, {_RING})",
        "overhead with communication": f"max(1.02 * single_gpu_time_s, {_RING} + 0.0005)",
        "overhead per launch": f"max(1.02 * single_gpu_time_s, {_RING}) + 0.9 * layer_launch_s",
    },
}


def gains(planted: Planted, forms: Sequence[str], draw: int) -> NDArray[np.float64]:
    """Return the logarithm of the likelihood of each form, less that of the first.

    Each is fitted to the values with one draw of the noise, that of `benchmarks.planted` with `draw` as seed,
    and all rows weigh the same.
    """
    noise = np.random.default_rng([draw, 77]).standard_normal(planted.truth.size)
    settings = SearchSettings(loss="log_ratio", group_weight_power=0.0, shrinkage=0.0)
    y = planted.truth * np.exp(NOISE * noise)
    problem = make_problem(planted.columns, y, planted.features, TARGET, settings)
    trees = [from_expression(parse_text(form), problem.grammar) for form in forms]
    losses = np.array([tree.loss for tree in problem.fit(trees, 300, start=False)])
    return np.asarray(-0.5 * y.size * np.log(losses / losses[0]))


def alternative_rows(planted: Planted, draws: int) -> list[dict[str, object]]:
    """Return per alternative, and for all of them, how often each criterion prefers the planted formula."""
    alternatives = ALTERNATIVES[planted.name]
    forms = [planted.text, *alternatives.values()]
    held = np.array([len(constants(parse_text(form))) for form in forms])
    found = np.array([gains(planted, forms, FIRST_DRAW + draw) for draw in range(draws)])
    won = {
        name: (found[:, 1:] - price * (held[1:] - held[0])) < 0.0
        for name, price in (("AIC", 1.0), ("BIC", 0.5 * np.log(planted.truth.size)))
    }
    far = distances(planted, [parse_text(form) for form in alternatives.values()])
    rows: list[dict[str, object]] = [
        {
            "planted": planted.name,
            "alternative": name,
            "largest distance %": 100.0 * far[place],
            "median gain of the planted, nats": -float(np.median(found[:, place + 1])),
            **{f"planted preferred by {key}": f"{wins[:, place].sum()}/{draws}" for key, wins in won.items()},
        }
        for place, name in enumerate(alternatives)
    ]
    whole = {f"planted preferred by {key}": f"{wins.all(axis=1).sum()}/{draws}" for key, wins in won.items()}
    return [*rows, {"planted": planted.name, "alternative": "all of them", **whole}]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Planted formulas against their nearest alternatives.")
    parser.add_argument("--draws", type=int, default=100)
    options = parser.parse_args(arguments)
    for planted in (single_gpu_formula("nine terms"), multi_gpu_formula()):
        for row in alternative_rows(planted, options.draws):
            print(", ".join(f"{key}: {value:.3g}" if isinstance(value, float) else f"{key}: {value}"
                            for key, value in row.items()))  # fmt: skip


if __name__ == "__main__":
    main()
