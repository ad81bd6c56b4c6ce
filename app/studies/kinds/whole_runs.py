"""Formulas of whole iterations on one GPU: the default kind of study."""

from collections.abc import Callable
from functools import partial

from trainlaw.app.inputs.tables import find_table
from trainlaw.app.studies.kinds.kind import RUNS, StudyKind, StudyRows, study_labels
from trainlaw.app.studies.search import evolved
from trainlaw.datasets import STUDY_FEATURES, TARGET, RunTable, feature_specs
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas.scopes import RUN
from trainlaw.validate.baselines import baselines_for


def rows_of_runs(table: RunTable) -> StudyRows:
    """Return the features, seconds and labels of runs on one GPU."""
    return StudyRows(table.features(), table.seconds, study_labels(table))


#: On CPUs also the cores in use: times at data-sheet rates would assume perfect scaling over threads.
CPU_FEATURES = ("sm_count",)


def _search(rows: StudyRows, settings: SearchSettings) -> Callable[[], FormulaRegressor]:
    """The number of threads is a feature only where the runs are on CPUs and differ in it."""
    of_threads = set(rows.labels["threads"])
    names = STUDY_FEATURES + (CPU_FEATURES if len(of_threads) > 1 and "none" not in of_threads else ())
    return partial(evolved, feature_specs(names), TARGET, settings)


OF_RUNS = StudyKind(
    name=RUNS,
    scope=RUN,
    title="whole runs on one GPU",
    read=find_table,
    rows=rows_of_runs,
    features=STUDY_FEATURES + CPU_FEATURES,
    search=_search,
    baselines={**baselines_for("run"), **baselines_for("run", "engine")},
    has_levels=True,
    platform_baselines=("null_compute", "cf9"),
)
