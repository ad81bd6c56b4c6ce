"""The formulas of pairs of GPUs whose CNNs were profiled on both: one pair, one search for each part.

A formula is the mean of two: one of the profile on the anchor GPU, one that also uses the CNN's work at the
rates of the target's data sheet; or the first alone, where the CNN is not known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.models.builtin import pair_formula_path
from trainlaw.app.studies.estimators import FormulaFit, end_if_given_up
from trainlaw.app.studies.kinds.anchor import without_vanishing_terms
from trainlaw.datasets import TARGET, PairTable, feature_specs, load
from trainlaw.datasets.features.pair_features import ANCHOR_TIME, OPERATION_FEATURES, PAIR_FEATURES
from trainlaw.datasets.measurements.pairs import PAIR
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import (
    Apply,
    Expression,
    Formula,
    ParetoFront,
    ScoredFormula,
    complexity,
    parse_text,
    round_constants,
    variables,
)
from trainlaw.formulas.scopes import GPU_PAIR
from trainlaw.validate import StudyResult, leave_one_group_out, run_study
from trainlaw.validate.error_json import errors_json
from trainlaw.validate.error_table import BY_CNN
from trainlaw.validate.result import OURS

from tools.builtin.pair_models import AnchorLine, OperationsNonnegative, nonnegative_least_squares

TABLE = "profet-pairs"
OVERHEAD = "iteration_overhead_s"
#: Features of the two formulas of a pair.
PROFILE_ALONE = (*OPERATION_FEATURES, ANCHOR_TIME, OVERHEAD)
PROFILE_AND_CNN = (
    *OPERATION_FEATURES,
    "unprofiled_s",
    "conv3x3_compute_s",
    "conv1x1_compute_s",
    "conv_other_compute_s",
    "im2col_compute_s",
    "conv_weight_compute_s",
    "conv_output_memory_s",
    "depthwise_output_memory_s",
    "batchnorm_memory_s",
    "parameter_memory_s",
    "layer_launch_s",
    OVERHEAD,
)
PAIR_FORMULA_FEATURES = tuple(dict.fromkeys((*PROFILE_ALONE, *PROFILE_AND_CNN)))
#: Sums and maxima of non-negative terms: with 14 architectures to learn from, freer forms have larger errors.
PAIR_SETTINGS = SearchSettings(
    evaluations=300,
    operators=("add", "max"),
    loss="absolute_percentage",
    choice="loss",
    group_weight_power=0.0,
    islands=1,
    population=50,
    max_constants=30,
    polish_steps=40,
)
_PROTOCOL = "one formula per pair of GPUs; each architecture held out in turn, with all sizes and batches"
_WITHOUT_CNN = "profile_alone"
# CNNs of different kinds, which a workbook shows as worked cases.
_SHOWN = ("vgg16_profet", "resnet50_preact", "mobilenet_v2_keras", "inception_v3")


class ProfileSearch(FormulaFit):
    """Evolves a formula of one pair of GPUs; `evaluations` are tried for each of its two parts.

    with_cnn : take the mean with a formula that also uses the CNN; else operations alone. After `fit`:
    `formula_`, and `front_` of it alone.
    """

    def __init__(self, with_cnn: bool = True, settings: SearchSettings = PAIR_SETTINGS) -> None:
        """Keep the settings."""
        self.settings = settings
        self.feature_sets = (PROFILE_ALONE, PROFILE_AND_CNN) if with_cnn else (PROFILE_ALONE,)

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search; X : features of a pair, (n_rows, k). y : seconds on the target, (n_rows,)."""
        parts = [self._evolved(names, X, np.asarray(y, dtype=float)) for names in self.feature_sets]
        expressions = [without_vanishing_terms(part.formula_.expression) for part in parts]
        whole = expressions[0]
        if len(expressions) == 2:
            whole = Apply("sqrt", (Apply("mul", tuple(expressions)),))
        used = set(variables(whole))
        names = tuple(name for name in PAIR_FORMULA_FEATURES if name in used)
        ranges = {name: (float(X[name].min()), float(X[name].max())) for name in names}
        loss = float(np.mean([part.formula_.provenance["training_loss"] for part in parts]))
        self.formula_ = Formula(
            whole,
            feature_specs(names, PAIR_FEATURES),
            TARGET,
            ranges=ranges,
            provenance={"training_loss": loss},
            scope=GPU_PAIR,
        )
        self.front_ = ParetoFront.of([ScoredFormula(self.formula_, loss, complexity(whole))])
        return self

    def _evolved(self, names: tuple[str, ...], X: pd.DataFrame, y: np.ndarray) -> FormulaRegressor:
        # A column of zeros cannot have a constant.
        names = tuple(name for name in names if X[name].any())
        settings = replace(self.settings, seeds=(nonnegative_sum(X, y, names),))
        search = FormulaRegressor(feature_specs(names, PAIR_FEATURES), TARGET, settings, end_if_given_up)
        # One group: the architecture of a row carries no information about the next.
        return search.fit(X[list(names)], y, np.zeros(len(y), dtype=int))


def nonnegative_sum(X: pd.DataFrame, y: np.ndarray, names: Sequence[str]) -> Expression:
    """Return the sum of features with constants >= 0 that comes closest to `y` in absolute relative error.

    X : features (n_rows, k). y : seconds, (n_rows,). Least squares with weights 1 / sqrt(1 + (e / 0.1)^2) of
    the errors e before, 15 times (Holland and Welsch, 1977).
    """
    relative = X[list(names)].to_numpy(dtype=float) / y[:, None]
    weights, constants = np.ones(len(y)), np.zeros(len(names))
    for _ in range(15):
        root = np.sqrt(weights)
        constants = nonnegative_least_squares(relative * root[:, None], root)
        weights = 1.0 / np.sqrt(1.0 + ((relative @ constants - 1.0) / 0.1) ** 2)
    terms = [f"{value:.9g} * {name}" for value, name in zip(constants, names, strict=True) if value > 0]
    return parse_text(" + ".join(terms))


_ESTIMATORS = {
    OURS: ProfileSearch,
    _WITHOUT_CNN: partial(ProfileSearch, with_cnn=False),
    "profet_line": AnchorLine,
    "operations_nonnegative": OperationsNonnegative,
}


def pairs() -> Iterator[PairTable]:
    """Yield the measured rows of each ordered pair of GPUs."""
    table = load(TABLE, PairTable)
    for pair in sorted(set(table.labels()[PAIR])):
        anchor, target = pair.split(" to ")
        yield table.where(anchor_gpu=anchor, target_gpu=target)


def held_out_predictions(table: PairTable) -> StudyResult:
    """Return the predictions for each architecture of one pair by estimators that did not see it."""
    profile = table.frame[[*table.operations, ANCHOR_TIME]].astype({ANCHOR_TIME: float})
    X = pd.concat(
        [profile, table.features([name for name in PAIR_FORMULA_FEATURES if name not in profile])], axis=1
    )
    labels = table.labels()
    splits = leave_one_group_out(labels[BY_CNN])
    return run_study(X, table.seconds, labels, splits, _ESTIMATORS, group_column=BY_CNN)


def pair_file(table: PairTable, with_cnn: bool) -> str:
    """Return the name of the formula file of one pair."""
    anchor, target = table.frame[["anchor_gpu", "target_gpu"]].iloc[0]
    return pair_formula_path(anchor, target, with_cnn).name


def found_formula(table: PairTable, with_cnn: bool) -> Formula:
    """Return the formula of one pair from all its rows, with round constants and without errors."""
    X, seconds = table.features(PAIR_FORMULA_FEATURES), table.seconds
    formula = ProfileSearch(with_cnn).fit(X, seconds, np.zeros(len(X))).formula_
    columns = {spec.name: X[spec.name].to_numpy() for spec in formula.used_features}
    short = replace(formula, expression=round_constants(formula.expression, columns, seconds).expression)
    frame = table.frame
    middle = frame[(frame["batch_per_gpu"] == 32) & (frame["input_size_px"] == 128)]
    cases = [
        {spec.name: float(f"{X[spec.name].iloc[row]:.6g}") for spec in short.used_features}
        for row in middle.index[middle["cnn"].isin(_SHOWN)]
    ]
    anchor, target = frame[["anchor_gpu", "target_gpu"]].iloc[0]
    return replace(
        short,
        features=short.used_features,
        target=replace(TARGET, meaning=f"{TARGET.meaning} on {target}, from a profile on {anchor}"),
        ranges={spec.name: formula.ranges[spec.name] for spec in short.used_features},
        provenance={
            "trainlaw_version": version("trainlaw"),
            "method": "evolved by genetic programming: python -m tools.builtin pairs",
            "table": table.name,
            "table_sha256": table.sha256,
            "rows": len(seconds),
            "precisions": ["fp32"],
            "seed": PAIR_SETTINGS.random_seed,
            "cases": cases,
        },
    )


def pair_formulas(table: PairTable) -> Mapping[str, Formula]:
    """Return both formulas of one pair, with their held-out errors, by file name."""
    result = held_out_predictions(table)
    compared = [name for name in result.estimators if name not in (OURS, _WITHOUT_CNN)]
    found = {}
    for name, with_cnn in ((OURS, True), (_WITHOUT_CNN, False)):
        held_out = result.predictions
        if name != OURS:
            held_out = held_out.drop(columns=[OURS]).rename(columns={name: OURS})
        errors = errors_json(StudyResult(held_out, (OURS, *compared)), _PROTOCOL, BY_CNN)
        found[pair_file(table, with_cnn)] = replace(found_formula(table, with_cnn), errors=errors)
    return found
