"""The result of a study: formula, front, held-out errors, and how often each term was found again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.terms_found import TermReturns
from trainlaw.formulas import Formula, ParetoFront
from trainlaw.validate import LevelError, StudyResult


@dataclass(frozen=True)
class StudyOutcome:
    """A finished or interrupted study.

    formula : from the search on all rows; its `errors` are those of the folds
    front : Pareto front of that search
    result : held-out predictions and the formula of each finished fold
    errors : its table of errors (see `errors_frame`)
    held_out : GPU groups by name of the fold
    shares : share of each term in the predicted time, mean over all rows; they sum to 1
    training_loss : the formula's loss in the search on all rows
    columns : the formula's features of all rows of the table, by name, each (n_runs,); for a formula of one
        layer their sums over the layers, pure numbers averaged
    levels : the error by what is known of the target GPU
    returns : how often each term was selected; repeats : formulas of further searches with other seeds
    matrices : errors by training and test platform, by label (see `cross_platform`)
    definition : of the study
    verdict : lines to be read first: nothing learned, a better baseline, calibration instead
    missing : sentences on what an interrupted study lacks
    absent : baselines that cannot run here, with the package to install; provenance : plain JSON values
    """

    formula: Formula
    front: ParetoFront
    result: StudyResult
    errors: pd.DataFrame
    held_out: Mapping[str, tuple[str, ...]]
    shares: tuple[float, ...]
    training_loss: float
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    levels: tuple[LevelError, ...] = ()
    returns: tuple[TermReturns, ...] = ()
    repeats: tuple[Formula, ...] = ()
    matrices: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    definition: StudyDefinition = field(default_factory=StudyDefinition)
    verdict: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, object] = field(default_factory=dict)
