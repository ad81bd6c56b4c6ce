"""A formula's skeleton filled in by hand: what occupies the GPU, or the host's launches, then the input copy.

`t = (D^4 + H^4)^(1/4) + C`. D adds up the GPU's work: matrix products at the peak rate of the precision, work
outside tensor cores at the fp32 rate, bytes through the level 2 cache, and a time per convolution. H is the
host's time to launch layers; the host runs ahead of the GPU, so the longer of both counts, and the power of 4
rounds the corner. C copies the input, where that was timed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal, Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.run_features import TARGET, feature_specs
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import variables
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.formula import Formula
from trainlaw.validate.baselines.inputs import CLASS_FEATURES, balanced_weights, check_columns, rows_drawn
from trainlaw.validate.least_squares import Prior, robust_least_squares

_ORDER = 4.0
_SOFT_L1_SCALE = 0.25
# A factor of 4.5 either way for constants, of 1.6 per factor of e for powers.
_WEIGHT_DEVIATION, _EXPONENT_DEVIATION = 1.5, 0.5
_WEIGHT_PER_GROUP = 16.0


@dataclass(frozen=True)
class Factor:
    """A factor base^exponent, or exp(exponent x base) for a flag; `base` is a pure number, as text."""

    base: str
    exponent: float
    is_flag: bool = False


@dataclass(frozen=True)
class Part:
    """A time at data-sheet rates, a product as text; the constant expected, names of factors, and stage."""

    seconds: str
    constant: float
    factors: tuple[str, ...] = ()
    stage: Literal["gpu", "host", "copy"] = "gpu"


#: The exponents are what round physics suggests, not what any table gave.
FACTORS: Mapping[str, Factor] = MappingProxyType(
    {
        # Faster chips reach less of their peak.
        "peak": Factor("peak_flop_per_s / matrix_flop_per_s * matrix_number", 0.3),
        # Peaks are stated at the boost clock.
        "clock": Factor("clock_ratio", -0.5),
        "on_chip": Factor("cache_per_lane", -0.8),
        "kernel_clock": Factor("clock_number", -1.0),
        # AMD's libraries move more bytes.
        "amd": Factor("is_amd", float(np.log(2.0)), is_flag=True),
    }
)
_MATRIX, _SIMT, _MEMORY = ("peak", "clock"), ("on_chip",), ("amd",)
#: The constants are guesses from hardware and algorithms: 3 x 3 convolutions at half the products (Winograd),
#: a few passes over each tensor, two launches of 100 us per convolution.
PARTS: tuple[Part, ...] = (
    # Rates of one operation per clock are for fp32; here the peaks count as they are stated.
    Part("other_matrix_s * matrix_flop_per_s / peak_flop_per_s", 1.0, _MATRIX),
    Part("conv3x3_compute_s", 0.5, _MATRIX),
    Part("im2col_compute_s", 10.0, _MATRIX),
    Part("conv_weight_compute_s", 500.0, _MATRIX),
    # Times at the peak rate x tensor ratio: the same work at the fp32 rate.
    Part("im2col_compute_s * tensor_ratio", 20.0, _SIMT),
    Part("grouped_conv_compute_s * tensor_ratio", 1.0, _SIMT),
    Part("is_channels_last * grouped_conv_compute_s * tensor_ratio", 5.0, _SIMT),
    Part("conv_output_cached_s", 10.0, _MEMORY),
    Part("elementwise_cached_s", 5.0, _MEMORY),
    Part("depthwise_output_cached_s", 50.0, _MEMORY),
    Part("parameter_memory_s", 5.0, _MEMORY),
    Part("conv_kernel_s", 2.0, ("kernel_clock",)),
    Part("host_s", 1.0, stage="host"),
    Part("input_copy_s", 1.0, stage="copy"),
)


class HandForm:
    """Sum of `parts` under a fourth-power maximum with the host; 14 constants, 5 exponents.

    Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU group)^-0.35 (rows of the precision
    class)^-0.35, log-normal priors of the constants (deviation 1.5), normal priors of the exponents (0.5).
    The priors are round figures, moved by one common factor to the median time of the training rows, so that
    the unit of time does not matter. Of groups with more than 400 rows, 400 are drawn with a fixed seed.
    """

    def __init__(self, parts: Sequence[Part] = PARTS, factors: Mapping[str, Factor] = FACTORS) -> None:
        """Store the form."""
        self.parts = tuple(parts)
        self.factors = dict(factors)

    @property
    def _features(self) -> tuple[str, ...]:
        texts = [part.seconds for part in self.parts] + [factor.base for factor in self.factors.values()]
        return tuple(dict.fromkeys(name for text in texts for name in variables(parse_text(text))))

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, (n_parts,), and `exponents_`, (n_factors,), to seconds `y`, shape (n_runs,)."""
        check_columns(X, [*self._features, *CLASS_FEATURES], "hand form")
        self.ranges_ = {name: (float(X[name].min()), float(X[name].max())) for name in self._features}
        rows = rows_drawn(groups)
        X, log_seconds, groups = X.iloc[rows], np.log(np.asarray(y)[rows]), np.asarray(groups)[rows]
        times, logs = self._tables(X)
        start = np.array(
            [np.log(part.constant) for part in self.parts]
            + [factor.exponent for factor in self.factors.values()]
        )
        n_parts = len(self.parts)
        start[:n_parts] += np.median(log_seconds - np.log(self._seconds(start, times, logs)[0]))
        deviation = np.repeat([_WEIGHT_DEVIATION, _EXPONENT_DEVIATION], [n_parts, len(self.factors)])
        roots = np.sqrt(balanced_weights(X, groups, _WEIGHT_PER_GROUP))
        residuals = partial(self._residuals, times=times, logs=logs, target=log_seconds, roots=roots)
        fitted = robust_least_squares(
            residuals,
            start,
            soft_l1_scale=_SOFT_L1_SCALE * roots,
            prior=Prior(start, deviation),
            max_steps=100,
            tolerance=1e-8,
        ).parameters
        self.constants_, self.exponents_ = np.exp(fitted[:n_parts]), fitted[n_parts:]
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        check_columns(X, self._features, "hand form")
        return self._seconds(np.append(np.log(self.constants_), self.exponents_), *self._tables(X))[0]

    @property
    def formula_(self) -> Formula:
        """Return the fitted form with its training ranges."""
        sums = {stage: " + ".join(self._terms(stage)) for stage in ("gpu", "host", "copy")}
        parallel = " + ".join(f"({sums[stage]})^{_ORDER}" for stage in ("gpu", "host") if sums[stage])
        text = f"({parallel})^{1 / _ORDER}" + (f" + {sums['copy']}" if sums["copy"] else "")
        return Formula(parse_text(text), feature_specs(self._features), TARGET, ranges=self.ranges_)

    def _terms(self, stage: str) -> list[str]:
        """Return the parts of a stage as text: sums over the parts that share factors."""
        by_factors: dict[tuple[str, ...], list[str]] = {}
        for constant, part in zip(self.constants_, self.parts, strict=True):
            if part.stage == stage:
                by_factors.setdefault(part.factors, []).append(f"{float(constant)!r} * {part.seconds}")
        exponents = dict(zip(self.factors, self.exponents_.tolist(), strict=True))
        return [
            " * ".join([f"({' + '.join(terms)})", *(self._written(name, exponents[name]) for name in names)])
            for names, terms in by_factors.items()
        ]

    def _written(self, name: str, exponent: float) -> str:
        factor = self.factors[name]
        return f"exp({exponent!r} * {factor.base})" if factor.is_flag else f"({factor.base})^({exponent!r})"

    def _tables(self, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts' times, (n_runs, n_parts), and logarithms of the factors, (n_runs, n_factors)."""
        given = {name: X[name].to_numpy(dtype=float) for name in self._features}
        times = [evaluate(parse_text(part.seconds), given)[0] for part in self.parts]
        bases = [evaluate(parse_text(factor.base), given)[0] for factor in self.factors.values()]
        flags = [factor.is_flag for factor in self.factors.values()]
        logs = [base if flag else np.log(base) for base, flag in zip(bases, flags, strict=True)]
        return np.column_stack(times), np.column_stack(logs)

    @property
    def _uses(self) -> np.ndarray:
        """Return 1 where a part has a factor, shape (n_parts, n_factors)."""
        return np.array([[float(name in part.factors) for name in self.factors] for part in self.parts])

    def _seconds(
        self, parameters: np.ndarray, times: np.ndarray, logs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return seconds, (n_runs,), and derivatives by the logarithm of each part, (n_runs, n_parts)."""
        constants, exponents = np.split(parameters, [len(self.parts)])
        parts = times * np.exp(constants + (logs * exponents) @ self._uses.T)
        stage = np.array([part.stage for part in self.parts])
        gpu, host = (parts[:, stage == name].sum(axis=1) for name in ("gpu", "host"))
        longest = (gpu**_ORDER + host**_ORDER) ** (1 / _ORDER)
        slopes = parts.copy()
        slopes[:, stage == "gpu"] *= ((gpu / longest) ** (_ORDER - 1))[:, None]
        slopes[:, stage == "host"] *= ((host / longest) ** (_ORDER - 1))[:, None]
        return longest + parts[:, stage == "copy"].sum(axis=1), slopes

    def _residuals(
        self,
        parameters: np.ndarray,
        times: np.ndarray,
        logs: np.ndarray,
        target: np.ndarray,
        roots: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log residuals times `roots`, (n_runs,), and their derivatives, (n_runs, n_parameters)."""
        total, slopes = self._seconds(parameters, times, logs)
        shares = slopes / total[:, None]
        by_factor = (shares @ self._uses) * logs
        return roots * (np.log(total) - target), roots[:, None] * np.hstack([shares, by_factor])
