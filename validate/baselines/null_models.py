"""Null models: one constant, alone or times a closed form of features."""

from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import variables
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.validate.baselines.inputs import columns


class ScaledForm:
    """`time = k x form`, with k the median ratio over the training rows, 1 without any.

    form : text in seconds, or "1". differs : two features whose rows count only where they differ; by default
    all rows count.
    """

    def __init__(self, form: str, differs: tuple[str, str] | None = None) -> None:
        self.form, self.differs = form, differs

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `scale_` to seconds `y`, shape (n_rows,); `groups` are not used."""
        ratios = np.asarray(y) / self._values(X)
        if self.differs is not None:
            one, other = self.differs
            ratios = ratios[X[one].to_numpy() != X[other].to_numpy()]
        self.scale_ = float(np.median(ratios)) if len(ratios) else 1.0
        return self

    def _values(self, X: pd.DataFrame) -> np.ndarray:
        form = parse_text(self.form)
        given = dict(zip(variables(form), columns(X, variables(form), "null model").T, strict=True))
        return np.broadcast_to(evaluate(form, given)[0], len(X))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_rows,)."""
        return self.scale_ * self._values(X)


# k x 6 batch MACs / peak: two operations in forward, gradient of the input, gradient of the weights.
null_compute = partial(ScaledForm, "total_compute_s")
# The median of the training rows: what is known without any feature.
median_time = partial(ScaledForm, "1")
# From nominal rates alone; a run that is its own anchor carries no information about two GPUs.
anchor_peak_ratio = partial(
    ScaledForm,
    "anchor_time_s * anchor_peak_flop_per_s / peak_flop_per_s",
    ("anchor_peak_flop_per_s", "peak_flop_per_s"),
)
