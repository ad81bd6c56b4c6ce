"""The closed forms among the baselines: each is a line of text whose constants are fitted.

In a text c0, c1, ... are positive constants, k0, k1, ... exponents of any sign, all other names features.
Each fold fits all of them, from a start that is computed from its training rows or from round figures: a
start that was once fitted to a whole table would leak information about the held-out GPU.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.run_features import FEATURES, SINGLE_GPU_TIME, TARGET, feature_specs
from trainlaw.formulas.algebra.derivatives import value_and_slopes
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import (
    Apply,
    Constant,
    Expression,
    Variable,
    rebuilt,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.text import parse_text, to_text
from trainlaw.formulas.formula import Formula
from trainlaw.validate.baselines.inputs import check_columns, group_weights
from trainlaw.validate.least_squares import robust_least_squares

_PARAMETER = re.compile(r"([ck])(\d+)")
# In ln(seconds): residuals beyond about 25 % count linearly, so that outliers do not decide the fit.
_SOFT_L1_SCALE = 0.25


class FittedForm:
    """A closed form whose constants are fitted to logarithms: soft L1, normal prior around the start.

    Constants are fitted as logarithms. Weight of a residual: (rows of the GPU group)^-0.35.

    title : for messages. text : the form. starts : values of c0, c1, ..., k0, k1, ..., from each of which a
    fit starts, and the best counts; without one, constants make each term an equal share of a typical run,
    and exponents are 0. deviation : of the prior; the default, a factor of 150 either way, is negligible
    against hundreds of runs and enough to fix a term that no run has. weighted : whether residuals are.
    """

    def __init__(
        self,
        title: str,
        text: str,
        starts: Sequence[Sequence[float]] = (),
        deviation: float = 5.0,
        weighted: bool = True,
    ) -> None:
        self.title, self.text = title, text
        self.starts, self.deviation, self.weighted = starts, deviation, weighted

    def _names(self) -> tuple[list[str], list[str], list[str]]:
        found: dict[str, list[tuple[int, str]]] = {"c": [], "k": [], "": []}
        for place, name in enumerate(variables(parse_text(self.text))):
            match = _PARAMETER.fullmatch(name)
            found[match[1] if match else ""].append((int(match[2]) if match else place, name))
        constants, exponents, features = ([name for _, name in sorted(found[kind])] for kind in found)
        return constants, exponents, features

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `parameters_`, the value of each constant and exponent, to seconds `y`, shape (n_runs,)."""
        given = self._columns(X)
        self.ranges_ = {name: (float(column.min()), float(column.max())) for name, column in given.items()}
        weights = group_weights(groups) if self.weighted else np.ones(len(X))
        log_seconds = np.log(np.asarray(y, dtype=float))
        constants, exponents, _ = self._names()
        names, n_constants = constants + exponents, len(constants)
        starting_points = self._starting_points(given, log_seconds)
        expression, given = _without_fixed_parts(parse_text(self.text), given)
        if not names:
            self.parameters_: dict[str, float] = {}
            return self

        def residuals(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            values = np.append(np.exp(parameters[:n_constants]), parameters[n_constants:])
            total, slopes = value_and_slopes(expression, given | dict(zip(names, values, strict=True)), names)
            table = np.column_stack([slopes[name] for name in names])
            table[:, :n_constants] *= values[:n_constants]
            return weights * (np.log(total) - log_seconds), weights[:, None] * table / total[:, None]

        fits = [
            robust_least_squares(
                residuals,
                start,
                soft_l1_scale=_SOFT_L1_SCALE,
                deviation=self.deviation,
            )
            for start in starting_points
        ]
        best = min(fits, key=lambda fit: fit.cost).parameters
        values = np.append(np.exp(best[:n_constants]), best[n_constants:])
        self.parameters_ = dict(zip(names, values.tolist(), strict=True))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self._seconds(self.parameters_, self._columns(X))

    def _seconds(self, parameters: dict[str, float], given: dict[str, np.ndarray]) -> np.ndarray:
        values = {name: Constant(value) for name, value in parameters.items()}
        return evaluate(substitute(parse_text(self.text), values), given)[0]

    def _columns(self, X: pd.DataFrame) -> dict[str, np.ndarray]:
        names = self._names()[2]
        check_columns(X, names, self.title)
        return {name: X[name].to_numpy(dtype=float) for name in names}

    def _starting_points(self, given: dict[str, np.ndarray], log_seconds: np.ndarray) -> list[np.ndarray]:
        """Return the parameters to start from: logarithms of constants, then exponents."""
        constants, exponents, _ = self._names()
        if self.starts:
            return [
                np.append(np.log(start[: len(constants)]), start[len(constants) :]) for start in self.starts
            ]
        shares = np.zeros(len(constants) + len(exponents))
        n_terms = np.zeros(len(log_seconds))
        for place, name in enumerate(constants):
            alone = {**dict.fromkeys(constants + exponents, 0.0), name: 1.0}
            term = self._seconds(alone, given)
            present = term > 0
            n_terms += present
            if present.any():
                shares[place] = np.median(log_seconds[present] - np.log(term[present]))
        shares[: len(constants)] -= np.log(max(np.median(n_terms), 1.0))
        return [shares]

    @property
    def formula_(self) -> Formula:
        """The fitted form with its training ranges; AttributeError where it is not of one GPU's runs."""
        features = self._names()[2]
        if SINGLE_GPU_TIME in features or not all(name in FEATURES for name in features):
            raise AttributeError("formula_")
        values = {name: Constant(value) for name, value in self.parameters_.items()}
        expression = substitute(parse_text(self.text), values)
        return Formula(expression, feature_specs(features), TARGET, ranges=self.ranges_)


def _without_fixed_parts(
    expression: Expression, given: dict[str, np.ndarray]
) -> tuple[Expression, dict[str, np.ndarray]]:
    """Return the form with each part that no constant occurs in as one more column, computed once."""
    found = dict(given)

    def applied(node: Apply, arguments: tuple[Expression, ...]) -> Expression:
        part = Apply(node.operator, arguments)
        if any(_PARAMETER.fullmatch(name) for name in variables(part)):
            return part
        name = to_text(part)
        found[name] = np.asarray(evaluate(part, found)[0])
        return Variable(name)

    return rebuilt(expression, apply=applied), found


def _sum(names: str, first: int = 0) -> str:
    """Return the sum of the named times, each with a constant, from c<first> on."""
    return " + ".join(f"c{place} * {name}" for place, name in enumerate(names.split(), start=first))


# Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
# The maximum has local minima, so the search starts balanced, memory-bound and scaled.
_E = 2.718281828459045
roofline = partial(
    FittedForm,
    "roofline",
    "max(c0 * total_compute_s, c1 * activation_memory_s) + c2 * layer_launch_s + c3 * iteration_overhead_s",
    starts=((1.0, 1.0, 1.0, 1.0), (_E, _E**3, _E, _E), (_E, _E**2, _E**2, 1.0)),
    deviation=float("inf"),
    weighted=False,
)

# Effective rates: the base clock over the boost clock, and whether an SM has more than 128 cores (Kepler).
_COMPUTE_RATE = "clock_ratio^-k0 * exp(k1 * wide_sm)"
_MEMORY_RATE = "exp(k2 * wide_sm)"
# The im2col volume stands for an efficiency that seems to depend on the layer.
cf9 = partial(
    FittedForm,
    "closed form",
    f"({_sum('conv_other_compute_s im2col_compute_s conv_weight_compute_s')}) * {_COMPUTE_RATE}"
    f" + ({_sum('conv_output_memory_s batchnorm_memory_s depthwise_output_memory_s parameter_memory_s', 3)})"
    f" * {_MEMORY_RATE} + {_sum('layer_launch_s iteration_overhead_s', 7)}",
)

perfect_scaling = partial(FittedForm, "perfect scaling", "single_gpu_time_s")

# Stragglers grow with log2 n; ring and its steps as in Patarasuk, Yuan, "Bandwidth optimal all-reduce
# algorithms for clusters of workstations", JPDC 69(2), 2009. 3.3219 is log2(10) / log(10).
_LOG2 = 1.4426950408889634
ring_scaling = partial(
    FittedForm,
    "ring scaling",
    f"single_gpu_time_s * (1 + c0 * {_LOG2} * log(n_gpus)) + c1 * ring_transfer_s + c2 * ring_steps * 0.0001",
    starts=((0.01, 1.0, 0.1),),
    deviation=float("inf"),
)

_COMPUTING = f"single_gpu_time_s * (1 + {_LOG2} * (c0 * log(gpus_per_node) + c1 * log(n_nodes)))"
# Links faster than 60 GB/s, any PCIe slot or two-GPU bridge, connect all GPUs of a node directly; a third
# of the cost of a relay remains with peer access.
_COMMUNICATING = (
    "((c4 + c5 * (1 - peer_access)) * node_ring_s"
    " + c6 * step(60000000000 - link_byte_per_s) * (0.3 + 0.7 * step(0.999 - peer_access))"
    " * max(gpus_per_node - 2, 0) * gradient_bytes / link_byte_per_s"
    " + c7 * network_ring_s * (1 + is_parameter_server * (c8 - 1))"
    f" + 0.000001 * gradient_tensors * {_LOG2} * (c9 * log(gpus_per_node * n_nodes) + c10 * log(n_nodes)))"
)
_COPYING = (
    "c11 * (gpus_per_node - 1) * gradient_bytes / link_byte_per_s + 0.000001 * c12 * n_layers * gpus_per_node"
)
_SHOWN = f"({_COMMUNICATING} - c3 * {_COMPUTING})"
# Stragglers, a fixed time [ms], and communication: rings within and across nodes, relays, a parameter
# server, a latency per gradient tensor [us]. A share of it hides behind the backward pass, smoothed over 5 %
# of the iteration so that the fit has derivatives; the copies of DataParallel do not hide. Round figures.
mg13 = partial(
    FittedForm,
    "MG13",
    f"{_COMPUTING} + 0.001 * c2 + is_data_parallel * ({_COMMUNICATING} + {_COPYING})"
    f" + (1 - is_data_parallel) * 0.5 * ({_SHOWN} + sqrt({_SHOWN}^2 + (0.05 * {_COMPUTING})^2))",
    starts=((0.01, 0.01, 1.0, 0.1, 1.0, 1.0, 0.3, 1.0, 1.0, 30.0, 30.0, 1.0, 30.0),),
    deviation=2.0,
)

_BYTES = ("input_memory_s", "output_memory_s", "weight_memory_s")
# A matrix product that saturates in its three sides, 2MNK/P (1 + K0/K)(1 + N0/N)(1 + M0/M), written out.
_PRODUCT = ("compute_s", "output_compute_s", "im2col_compute_s", "weight_compute_s")


def _of_a_layer(compute: Iterable[str], join: str) -> str:
    """Return the time of a layer, with separate constants by layer kind and for training."""
    blocks = [f"{conv} * {train}" for conv in ("is_conv", "(1 - is_conv)") for train in _PASSES]
    times = [*compute, *_BYTES, "launch_s"]
    constants = iter(range(len(blocks) * len(times)))
    sums = [
        " + ".join(f"c{next(constants)} * ({block} * {name})" for name in group for block in blocks)
        for group in (compute, _BYTES, ("launch_s",))
    ]
    work, moved, launches = sums
    return (
        f"{join}".format(a=f"({work}) * {_COMPUTE_RATE}", b=f"({moved}) * {_MEMORY_RATE}") + f" + {launches}"
    )


_PASSES = ("step(n_passes - 1.5)", "step(1.5 - n_passes)")
# The longer of the time of the MACs and of the bytes, plus a launch.
layer_roofline = partial(
    FittedForm, "roofline of a layer", _of_a_layer(("compute_s",), "max({a}, {b})"), deviation=4.0
)
# A saturating matrix product, its bytes and a launch.
layer_matrix_product = partial(
    FittedForm, "matrix product", _of_a_layer(_PRODUCT, "{a} + {b}"), deviation=4.0
)
