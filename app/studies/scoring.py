"""The error of a given formula, on the same folds and beside the same rivals as an evolved one."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.models.errors import OURS, errors_json
from trainlaw.app.models.scopes import check_features
from trainlaw.app.models.terms import mean_shares
from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.kinds import STUDY_KINDS, StudyKind
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.runs import own_files_json
from trainlaw.app.studies.splits import defined_splits, evaluated_splits, unit_of_exchange
from trainlaw.app.studies.stability import term_returns
from trainlaw.datasets.measurements.formula_rows import CnnLayers, FormulaRows, feature_rows
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import (
    Formula,
    InputError,
    ParetoFront,
    ScoredFormula,
    complexity,
)
from trainlaw.validate import JointRange, StudyProgress, run_study
from trainlaw.validate.applicability import KEY
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.refit import RefittedFormula


class GivenFormula:
    """An estimator that predicts by a formula as it is."""

    def __init__(self, formula: Formula, cnn_layers: CnnLayers | None) -> None:
        """Keep the formula without its errors and provenance; cnn_layers : for a formula of one layer."""
        self.formula = replace(formula, provenance={}, errors={}, ranges={})
        self.cnn_layers = cnn_layers

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit nothing."""
        self.formula_ = self.formula
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,); X has the formula's features among its columns."""
        names = [spec.name for spec in self.formula.used_features]
        return feature_rows(X, names, self.cnn_layers).predict(self.formula)


def score_formula(
    formula: Formula,
    table: MeasuredTable,
    definition: StudyDefinition,
    refit: bool = False,
    on_fit: Callable[[StudyProgress], None] | None = None,
) -> StudyOutcome:
    """Return the study of a given formula: its held-out errors, beside the rivals on the same splits.

    refit : fit its constants anew inside each fold, and on all rows for the formula that is returned.
    Raises InputError where the formula has no finite, positive time for a run of the table.
    """
    kind = _kind(formula, definition)
    measured = kind.rows(table)
    labels, cnn_layers = measured.labels, measured.cnn_layers
    splits = evaluated_splits(defined_splits(definition, labels, table.name), measured.evaluated, labels)
    check_features(formula)
    rows = feature_rows(measured.X, [spec.name for spec in formula.used_features], cnn_layers)
    columns = rows.columns
    _check_defined(formula, rows, table)
    rivals, absent = kind.present_rivals(definition.against)
    refitted = partial(RefittedFormula, formula, cnn_layers)
    ours = refitted if refit else partial(GivenFormula, formula, cnn_layers)
    table_of_study = measured.X, measured.seconds, labels
    result = run_study(*table_of_study, splits, {OURS: ours, **rivals}, progress=on_fit)
    final = refitted().fit(measured.X, measured.seconds, measured.groups).formula_ if refit else formula
    delivered = replace(
        final,
        grouped=formula.grouped,
        ranges={name: (float(np.min(column)), float(np.max(column))) for name, column in columns.items()},
        provenance={**formula.provenance, **_facts(table, labels, definition, len(splits))},
        errors={
            **errors_json(result, _protocol(definition, len(splits), refit), unit_of_exchange(definition)),
            **({KEY: JointRange.fit(columns, measured.groups).to_json()} if kind.has_joint_range else {}),
        },
    )
    predicted = delivered.predict(columns, None if rows.sums else dict(labels), rows.sums)
    error = mape_percent(measured.seconds, predicted) / 100
    return StudyOutcome(
        formula=delivered,
        front=ParetoFront((ScoredFormula(delivered, error, complexity(delivered.expression)),)),
        result=result,
        held_out={split.name: split.held_out for split in splits},
        shares=mean_shares(delivered, columns, rows.sums),
        training_loss=error,
        columns=rows.run_features(delivered),
        returns=term_returns(delivered, [law for (_, name), law in result.formulas.items() if name == OURS]),
        definition=replace(definition, of=kind.name),
        absent=absent,
        provenance=delivered.provenance,
    )


def _kind(formula: Formula, definition: StudyDefinition) -> StudyKind:
    """The kind of study that evaluates the formula: one of its scope among those that read the same table."""
    asked = STUDY_KINDS[definition.of]
    same_table = [kind for kind in STUDY_KINDS.values() if kind.read is asked.read]
    return next((kind for kind in same_table if kind.scope == formula.scope), same_table[0])


def _facts(
    table: MeasuredTable, labels: pd.DataFrame, definition: StudyDefinition, splits: int
) -> dict[str, object]:
    """What the result depends on."""
    return {
        "trainlaw_version": version("trainlaw"),
        "table": table.name,
        "table_sha256": table.sha256,
        "rows": len(table),
        "seed": definition.seed,
        "split": definition.split,
        "folds": splits,
        "precisions": sorted(map(str, labels["precision"].unique())),
        **own_files_json(definition),
    }


def _check_defined(formula: Formula, rows: FormulaRows, table: MeasuredTable) -> None:
    """Raise InputError, naming the first run that has no time."""
    if not formula.used_features:
        raise InputError("expected a formula with at least one feature, got one that is the same for all")
    times = rows.predict(formula)
    wrong = ~(np.isfinite(times) & (times > 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        run = table.frame.iloc[row]
        raise InputError(
            f"the formula gives {float(times[row]):.3g} s for {int(wrong.sum()):,} of {len(table):,} runs, "
            f"such as {run['cnn']}, batch {run['batch_per_gpu']}, on {run['gpu']}: expected positive times"
        )


def _protocol(definition: StudyDefinition, folds: int, refit: bool) -> str:
    done = (
        "constants fitted anew on the training rows of each"
        if refit
        else "the formula as it was given: nothing was fitted, so the error is held out only if its author "
        "had not seen these runs"
    )
    return f"{folds} splits ({definition.split}); {done}"
