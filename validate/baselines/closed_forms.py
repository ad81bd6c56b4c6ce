"""Hand-derived closed forms: sums of times with positive constants, over effective rates of the GPU.

`time = compute sum / P_eff + memory sum / B_eff + the rest`, P_eff = P rho^a exp(-k kappa), B_eff = B exp(-m
kappa), rho = base clock / boost clock, kappa = 1 where an SM has more than 128 cores (Kepler).

Each fold fits all constants, from a start that is computed from its training rows: a start or a prior at
figures that were once fitted to a whole table would leak information about the held-out GPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.run_features import TARGET, feature_specs
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula, GroupedConstant
from trainlaw.validate.baselines.inputs import columns, group_weights
from trainlaw.validate.least_squares import Prior, robust_least_squares

_RATE_FEATURES = ("clock_ratio", "wide_sm")
_PEAKS = ("peak_fp32_flop_per_s", "peak_flop_per_s")
_HARNESS_CONSTANT = "C[harness]"

# A factor of e^5 = 150 either way: negligible against hundreds of runs, enough to fix a term that no run has.
_PRIOR_DEVIATION = 5.0
# In ln(seconds): residuals beyond about 25 % count linearly, so that outliers do not decide the fit.
_SOFT_L1_SCALE = 0.25
_HARNESS_ROUNDS = 2
# A harness measured on this many GPUs gets half the factor that its runs suggest.
_HARNESS_SHRINKAGE_GROUPS = 3.0


@dataclass(frozen=True)
class TimeTerm:
    """One term: a column of seconds at the nominal rates, and the effective rate that divides it."""

    feature: str
    over: Literal["compute", "memory", "host"]


class ClosedForm:
    """Sum of `terms` with positive constants and three exponents of the GPU.

    harness_constants : multiply by one constant per harness (label column `harness`), 1 for an unknown one;
    fitted in two rounds, alternating with the rest.
    tensor_exponent : add a fourth exponent q, for tables of several precisions: compute at P32^q Pt^(1-q),
    the peaks without tensor cores and of the precision used.

    Fit: log residuals, soft L1 (scale 0.25), weight (rows of the GPU group)^-0.35, weak log-normal prior.
    """

    def __init__(
        self, terms: Sequence[TimeTerm], harness_constants: bool = False, tensor_exponent: bool = False
    ) -> None:
        """Store the settings; `fit` checks them against the features."""
        self.terms = tuple(terms)
        self.harness_constants = harness_constants
        self.tensor_exponent = tensor_exponent

    @property
    def _rate_features(self) -> tuple[str, ...]:
        return (*_RATE_FEATURES, *(_PEAKS if self.tensor_exponent else ()))

    @property
    def _n_exponents(self) -> int:
        return 4 if self.tensor_exponent else 3

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Return the labels that `fit` and `predict` need."""
        return ("harness",) if self.harness_constants else ()

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, labels: pd.DataFrame | None = None
    ) -> Self:
        """Fit `constants_`, `exponents_`, `harness_` to seconds `y`, (n_runs,); `groups` give weights."""
        times, rates = self._tables(X)
        log_seconds, weights = np.log(y), group_weights(groups)
        names = self._harness_names(labels, len(y))
        self.harness_: dict[str, float] = {}
        parameters = np.concatenate([_equal_shares(times, log_seconds), np.zeros(self._n_exponents)])
        prior = Prior(parameters, np.full(len(parameters), _PRIOR_DEVIATION))
        for rounds_left in range(_HARNESS_ROUNDS if self.harness_constants else 0, -1, -1):
            target = log_seconds - self._log_harness(names)
            residuals = partial(self._residuals, times=times, rates=rates, target=target, weights=weights)
            fitted = robust_least_squares(residuals, parameters, soft_l1_scale=_SOFT_L1_SCALE, prior=prior)
            parameters = fitted.parameters
            # In turn with the rest, because the means are shrunk, which a fit of all constants would not do.
            if rounds_left:
                missed = log_seconds - np.log(self._parts(parameters, times, rates).sum(axis=1))
                self.harness_ = _shrunk_means(missed, names, np.asarray(groups, dtype=str))
        self.constants_ = np.exp(parameters[: -self._n_exponents])
        self.exponents_ = parameters[-self._n_exponents :]
        used = [*(term.feature for term in self.terms), *self._rate_features]
        self.ranges_ = {name: (float(X[name].min()), float(X[name].max())) for name in used}
        return self

    def predict(self, X: pd.DataFrame, labels: pd.DataFrame | None = None) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        times, rates = self._tables(X)
        parameters = np.concatenate([np.log(self.constants_), self.exponents_])
        names = self._harness_names(labels, len(X))
        return np.asarray(
            self._parts(parameters, times, rates).sum(axis=1) * np.exp(self._log_harness(names))
        )

    @property
    def formula_(self) -> Formula:
        """Return the fitted closed form with its training ranges; the factor of an unknown harness is 1."""
        clock, wide_compute, wide_memory, *tensor = (float(exponent) for exponent in self.exponents_)
        ratio = " / ".join(reversed(_PEAKS))
        by_tensor = "".join(f" * ({ratio})^({exponent!r})" for exponent in tensor)
        slowdown = {
            "compute": f" * clock_ratio^({-clock!r}) * exp({wide_compute!r} * wide_sm){by_tensor}",
            "memory": f" * exp({wide_memory!r} * wide_sm)",
            "host": "",
        }
        sums = {over: self._sum_text(over) for over in slowdown}
        text = " + ".join(f"({total}){slowdown[over]}" for over, total in sums.items() if total)
        grouped: tuple[GroupedConstant, ...] = ()
        if self.harness_constants:
            text = f"({text}) * {_HARNESS_CONSTANT}"
            factors = {name: float(np.exp(log)) for name, log in self.harness_.items()}
            grouped = (GroupedConstant(_HARNESS_CONSTANT, "harness", factors, default=1.0),)
        specs = feature_specs([*(term.feature for term in self.terms), *self._rate_features])
        return Formula(parse_text(text), specs, TARGET, grouped, self.ranges_)

    def _sum_text(self, over: str) -> str:
        terms = zip(self.constants_, self.terms, strict=True)
        return " + ".join(
            f"{float(constant)!r} * {term.feature}" for constant, term in terms if term.over == over
        )

    def _tables(self, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms' columns, (n_runs, n_terms), and ln(rho), kappa, ln(Pt / P32), (n_runs, 3)."""
        times = columns(X, [term.feature for term in self.terms], "closed form")
        rates = columns(X, self._rate_features, "closed form")
        tensor = np.log(rates[:, 3] / rates[:, 2]) if self.tensor_exponent else np.zeros(len(rates))
        return times, np.column_stack([np.log(rates[:, 0]), rates[:, 1], tensor])

    def _harness_names(self, labels: pd.DataFrame | None, n_runs: int) -> np.ndarray:
        if not self.harness_constants:
            return np.full(n_runs, "")
        if labels is None:
            raise InputError("harness constants need the label column 'harness'")
        return labels["harness"].to_numpy(dtype=str)

    def _log_harness(self, names: np.ndarray) -> np.ndarray:
        return np.array([self.harness_.get(name, 0.0) for name in names])

    def _parts(self, parameters: np.ndarray, times: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the seconds of each term, shape (n_runs, n_terms)."""
        clock, wide_compute, wide_memory, *tensor = parameters[-self._n_exponents :]
        slowdown = {
            "compute": np.exp(-clock * rates[:, 0] + wide_compute * rates[:, 1] + sum(tensor) * rates[:, 2]),
            "memory": np.exp(wide_memory * rates[:, 1]),
            "host": np.ones(len(rates)),
        }
        factors = np.column_stack([slowdown[term.over] for term in self.terms])
        return np.asarray(times * factors * np.exp(parameters[: -self._n_exponents]))

    def _residuals(
        self,
        parameters: np.ndarray,
        times: np.ndarray,
        rates: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return weighted log residuals, (n_runs,), and their derivatives, (n_runs, n_parameters)."""
        parts = self._parts(parameters, times, rates)
        total = parts.sum(axis=1)
        shares = parts / total[:, None]
        over = np.array([term.over for term in self.terms])
        compute, memory = shares[:, over == "compute"].sum(axis=1), shares[:, over == "memory"].sum(axis=1)
        slopes = [shares, -rates[:, 0] * compute, rates[:, 1] * compute, rates[:, 1] * memory]
        if self.tensor_exponent:
            slopes.append(rates[:, 2] * compute)
        return weights * (np.log(total) - target), weights[:, None] * np.column_stack(slopes)


def _equal_shares(times: np.ndarray, log_seconds: np.ndarray) -> np.ndarray:
    """Return ln of the constants, (n_terms,), at which each term is an equal share of a typical run."""
    logs = np.zeros(times.shape[1])
    for index, column in enumerate(times.T):
        present = column > 0
        if present.any():
            logs[index] = np.median(log_seconds[present] - np.log(column[present]))
    return np.asarray(logs - np.log(times.shape[1]))


def _shrunk_means(residuals: np.ndarray, names: np.ndarray, groups: np.ndarray) -> dict[str, float]:
    """Return the mean over GPU groups of each name's residuals, shrunk towards zero where groups are few.

    The errors of one GPU's runs are correlated; counted one by one, they would be blamed on the harness.
    """
    by_pair = pd.Series(residuals).groupby([names, groups]).mean()
    sums = by_pair.groupby(level=0).agg(["sum", "size"])
    means = sums["sum"] / (sums["size"] + _HARNESS_SHRINKAGE_GROUPS)
    return {str(name): float(mean) for name, mean in means.items()}


def _terms(features: str) -> tuple[TimeTerm, ...]:
    """Return the terms of these features, whose suffix names the rate that divides them."""
    rates: dict[str, Literal["compute", "memory"]] = {"_compute_s": "compute", "_memory_s": "memory"}
    return tuple(
        TimeTerm(name, next((rate for suffix, rate in rates.items() if name.endswith(suffix)), "host"))
        for name in features.split()
    )


# The im2col volume stands for an efficiency that seems to depend on the layer.
CF5_TERMS = _terms(
    "conv_other_compute_s im2col_compute_s conv_weight_compute_s conv_output_memory_s layer_launch_s"
)
CF9_TERMS = CF5_TERMS + _terms(
    "batchnorm_memory_s depthwise_output_memory_s parameter_memory_s iteration_overhead_s"
)
CF12_TERMS = CF9_TERMS + _terms("conv3x3_compute_s conv5x5_compute_s input_copy_s")
CF21_TERMS = CF12_TERMS + _terms(
    "conv1x1_compute_s grouped_conv_compute_s conv_output_compute_s dense_compute_s dense_weight_compute_s "
    "elementwise_memory_s concat_memory_s optimizer_memory_s kernel_launch_s"
)

cf5 = partial(ClosedForm, CF5_TERMS)
cf9 = partial(ClosedForm, CF9_TERMS)
cf12 = partial(ClosedForm, CF12_TERMS)
cf21 = partial(ClosedForm, CF21_TERMS)
# For tables of several precisions.
cf21_tensor = partial(ClosedForm, CF21_TERMS, tensor_exponent=True)
