"""Formulas of the time on one GPU from the measured time on another: any pair of GPUs, measured or not."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.studies.kinds.kind import (
    FRONT_DEFAULTS,
    GPU_FOLDS,
    StudyKind,
    StudyRows,
    fitted_by,
    study_labels,
)
from trainlaw.app.studies.skeleton import PRIOR_WEIGHT_OF_FEW_GPUS, RUN_SKELETON, LawFit, TrainingRows
from trainlaw.datasets import DATASETS, PairTable, feature_specs, load
from trainlaw.datasets.features.pair_features import ANCHOR, ANCHOR_TIME, PAIR_FEATURES, PAIR_RUN_FEATURES
from trainlaw.formulas import Apply, Constant, Expression, Formula, Variable, substitute, variables
from trainlaw.formulas.algebra.expression import fold
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.scopes import GPU_PAIR
from trainlaw.validate.baselines import baselines_for, named_baselines

_SKELETON = replace(RUN_SKELETON, prior_weight=PRIOR_WEIGHT_OF_FEW_GPUS)
TRANSFER_FEATURES = (*RUN_SKELETON.names, ANCHOR_TIME, *(ANCHOR + name for name in RUN_SKELETON.names))

# A weight of a time; a term of it adds less than a nanosecond to a second.
_VANISHING = 1e-9
_ZERO = Constant(0.0)


def without_vanishing_terms(expression: Expression) -> Expression:
    """Return a formula of sums and maxima of non-negative terms without those of vanishing weight.

    >>> from trainlaw.formulas import parse_text, to_text
    >>> to_text(without_vanishing_terms(parse_text("max(1e-99 * a, 2 * b) + 1e-12 * c")))
    '2 * b'
    """
    return fold(
        expression, lambda node: _ZERO if abs(node.value) < _VANISHING else node, lambda node: node, _merged
    )


def _merged(node: Apply, arguments: tuple[Expression, ...]) -> Expression:
    if _ZERO in arguments and node.operator == "mul":
        return _ZERO
    if _ZERO in arguments and node.operator in ("add", "max"):
        return arguments[1] if arguments[0] == _ZERO else arguments[0]
    return Apply(node.operator, arguments)


class TransferFit(LawFit):
    """Fits the law to plain runs, and fits how its error on the anchor transfers to the target.

    Rows whose anchor is their own GPU are plain runs.
    """

    def training(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None
    ) -> TrainingRows:
        """Return the plain runs to fit; arguments as of `LawFit.fit`, of pairs and plain runs."""
        plain = is_plain_run(X)
        of_runs = None if divisions is None else divisions[plain]
        return super().training(X[plain], np.asarray(y)[plain], np.asarray(groups)[plain], of_runs)

    def completed(self, formula: Formula, X: pd.DataFrame, y: np.ndarray) -> Formula:
        """Return a formula of runs as one of pairs; arguments as of `LawFit.fit`."""
        plain = is_plain_run(X)
        # Where a GPU is held out, no plain run is of the chip of such an anchor.
        known = set(X.loc[plain, list(_CHIP_COLUMNS[:2])].itertuples(index=False, name=None))
        anchors = X[[ANCHOR + name for name in _CHIP_COLUMNS[:2]]].itertuples(index=False, name=None)
        pairs = ~plain & np.array([chip in known for chip in anchors], dtype=bool)
        return transferred(formula, X[pairs], np.asarray(y, dtype=float)[pairs])


_CHIP_COLUMNS = ("sm_count", "core_count", "peak_flop_per_s", "bandwidth_byte_per_s")


def is_plain_run(X: pd.DataFrame) -> np.ndarray:
    """Return whether the anchor of each row is its own GPU, bool, (n_rows,); X : features, (n_rows, k)."""
    same: np.ndarray = np.all([X[name] == X[ANCHOR + name] for name in _CHIP_COLUMNS], axis=0)
    return same


def transferred(formula: Formula, X: pd.DataFrame, y: np.ndarray) -> Formula:
    """Return L x (anchor time / L of the anchor) ^ exponent, the exponent fitted to the logarithms of `y`.

    formula : L, of runs. X : features of pairs, (n_rows, k). y : seconds on the target, (n_rows,).
    """
    formula = replace(formula, expression=without_vanishing_terms(formula.expression))
    of_target = formula.expression
    of_anchor = substitute(of_target, {name: Variable(ANCHOR + name) for name in variables(of_target)})
    names = list(variables(of_target))
    target_s = formula.predict({name: X[name].to_numpy() for name in names})
    anchor_s = formula.predict({name: X[ANCHOR + name].to_numpy() for name in names})
    with np.errstate(all="ignore"):
        missed = np.log(X[ANCHOR_TIME].to_numpy(dtype=float) / anchor_s)
        wanted = np.log(np.asarray(y, dtype=float) / target_s)
    known = np.isfinite(missed) & np.isfinite(wanted)
    squares = max(missed[known] @ missed[known], 1e-12)
    exponent = float(np.clip(missed[known] @ wanted[known] / squares, 0.0, 1.0))
    ratio = Apply("div", (Variable(ANCHOR_TIME), of_anchor))
    whole = Apply("mul", (of_target, Apply("pow", (ratio, Constant(exponent)))))
    chosen = (*names, ANCHOR_TIME, *(ANCHOR + name for name in names))
    ranges = {name: (float(X[name].min()), float(X[name].max())) for name in chosen}
    columns = {name: X[name].to_numpy() for name in chosen}
    found = replace(
        formula,
        expression=whole,
        features=feature_specs(chosen, PAIR_FEATURES),
        scope=GPU_PAIR,
        ranges={**ranges, **{name: _wider(formula.ranges.get(name), ranges[name]) for name in names}},
    )
    loss = float(np.mean(np.abs(found.predict(columns) / y - 1.0)))
    return replace(found, provenance={**formula.provenance, "training_loss": loss})


def _wider(first: tuple[float, float] | None, second: tuple[float, float]) -> tuple[float, float]:
    return (min(first[0], second[0]), max(first[1], second[1])) if first else second


ANCHOR_KIND = "anchor"
_TABLE = "profet-pairs"
_ALSO = ("null_compute", "roofline", "cf9")


def _table(text: str, gpu_file: Path | None, cnn_files: Iterable[Path]) -> PairTable:
    known = [name for name, dataset in DATASETS.items() if dataset.kind == "pairs"]
    if text not in known or gpu_file is not None or any(cnn_files):
        raise unknown_name("table of pairs of GPUs", text, known)
    return load(text, PairTable)


def rows_of_pairs(table: PairTable) -> StudyRows:
    """Return the pairs, and below them the built-in runs, each its own anchor, which only train."""
    runs = load("fp32-2026")
    of_runs = runs.features(PAIR_RUN_FEATURES)
    plain = pd.concat([of_runs, of_runs.add_prefix(ANCHOR)], axis=1)
    plain[ANCHOR_TIME] = runs.seconds
    names = (*PAIR_RUN_FEATURES, ANCHOR_TIME, *(ANCHOR + name for name in PAIR_RUN_FEATURES))
    X = pd.concat([table.features(names), plain[list(names)]], ignore_index=True)
    labels = pd.concat([study_labels(table.target_runs()), study_labels(runs)], ignore_index=True)
    evaluated = np.arange(len(X)) < len(table)
    return StudyRows(X, np.concatenate([table.seconds, runs.seconds]), labels, evaluated=evaluated)


_OF_PAIRS = {"scope": GPU_PAIR, "features": TRANSFER_FEATURES}
OF_PAIRS = StudyKind(
    name=ANCHOR_KIND,
    **{**fitted_by(_SKELETON, lambda rows: partial(TransferFit, _SKELETON)), **_OF_PAIRS},
    title="the time on one GPU, from the measured time on another",
    read=_table,
    rows=rows_of_pairs,
    baselines={**baselines_for("gpu_pair"), **named_baselines(*_ALSO)},
    defaults={**FRONT_DEFAULTS, "table": _TABLE, "against": ("anchor_peak_ratio", "constant", *_ALSO)},
    splits=("gpu", GPU_FOLDS, "cnn"),
    has_joint_range=False,
    next_step="trainlaw predict-from-profile --profile step.txt --anchor-gpu T4 --gpu A40 --cnn vgg16 "
    "--batch 32 --formula {folder}",
)
