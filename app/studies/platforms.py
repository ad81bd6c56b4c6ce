"""The delivered formula across platforms: fitted on one, evaluated on another."""

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
from trainlaw.app.models.errors import OURS
from trainlaw.app.studies.kinds import StudyKind, StudyRows
from trainlaw.app.studies.splits import platforms_of
from trainlaw.formulas import Formula
from trainlaw.validate import EstimatorFactory, cross_platform
from trainlaw.validate.refit import RefittedFormula

SEARCHED_ANEW = f"{OURS}, searched anew"


def platform_matrices(
    formula: Formula,
    kind: StudyKind,
    rows: StudyRows,
    by: Sequence[str],
    search: EstimatorFactory | None = None,
) -> dict[str, pd.DataFrame]:
    """Return one matrix of errors per label in `by`, as `cross_platform` gives it.

    formula : its constants are fitted anew on each platform. kind : of the study, whose platform rivals
    stand beside. rows : all runs. search : to search anew on each platform, too; None not to.
    The formula's form was found on all platforms together; only the search anew is blind to the others.
    """
    estimators: Mapping[str, EstimatorFactory] = {
        OURS: partial(RefittedFormula, formula),
        **{name: kind.rivals[name] for name in kind.platform_rivals},
        **({SEARCHED_ANEW: search} if search else {}),
    }
    return {
        name: cross_platform(rows.X, rows.seconds, rows.labels, platforms_of(rows.labels, name), estimators)
        for name in by
    }
