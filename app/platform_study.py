"""The delivered formula across platforms: fitted on one, judged on another."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from trainlaw.app.error_tables import OURS
from trainlaw.app.search import evolved
from trainlaw.app.study_splits import platforms_of
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula
from trainlaw.validate import BASELINES, EstimatorFactory, cross_platform
from trainlaw.validate.refit import RefittedFormula

SEARCHED_ANEW = f"{OURS}, searched anew"


def platform_matrices(
    formula: Formula,
    table: tuple[pd.DataFrame, np.ndarray, pd.DataFrame],
    by: Sequence[str],
    search: tuple[Sequence[str], SearchSettings] | None = None,
) -> dict[str, pd.DataFrame]:
    """Return one matrix of errors per label in `by`, as `cross_platform` gives it.

    formula : its constants are fitted anew on each platform. table : features, seconds and labels of all
    runs. search : features and settings, to search anew on each platform, too; None not to.
    The formula's form was found on all platforms together; only the search anew is blind to the others.
    """
    X, seconds, labels = table
    estimators: Mapping[str, EstimatorFactory] = {
        OURS: partial(RefittedFormula, formula),
        "null_compute": BASELINES["null_compute"],
        "cf9": BASELINES["cf9"],
        **({SEARCHED_ANEW: partial(evolved, *search)} if search else {}),
    }
    return {name: cross_platform(X, seconds, labels, platforms_of(labels, name), estimators) for name in by}
