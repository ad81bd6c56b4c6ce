"""Formulas of whole iterations on one GPU: the law and formulas of few constants, or a free search."""

from functools import partial

from trainlaw.app.inputs.run_tables import find_table
from trainlaw.app.studies.estimators import evolved
from trainlaw.app.studies.front_search import FRONT_EVALUATIONS, FRONT_SIZES, FrontSpace
from trainlaw.app.studies.kinds.kind import RUNS, StudyKind, StudyRows, study_labels
from trainlaw.app.studies.skeleton import RUN_SKELETON, LawFit
from trainlaw.app.studies.spaces import law_genome, run_space
from trainlaw.datasets import TARGET, RunTable, feature_specs
from trainlaw.datasets.features.run_features import OF_ANY_RUN
from trainlaw.evolve import SearchSettings
from trainlaw.formulas.scopes import RUN
from trainlaw.validate import EstimatorFactory
from trainlaw.validate.baselines import baselines_for

FREE_RUNS = "free-runs"


def rows_of_runs(table: RunTable) -> StudyRows:
    """Return the features, seconds and labels of runs on one GPU."""
    names = tuple(dict.fromkeys((*OF_ANY_RUN, *run_space().features)))
    return StudyRows(table.features(names), table.seconds, study_labels(table))


#: On CPUs also the cores in use: times at data-sheet rates would assume perfect scaling over threads.
CPU_FEATURES = ("sm_count",)


def _free_search(rows: StudyRows, settings: SearchSettings) -> EstimatorFactory:
    """Search over what is known of the skeleton, and over threads where runs on CPUs differ in them."""
    of_threads = set(rows.labels["threads"])
    names = RUN_SKELETON.known(rows.X)
    names += CPU_FEATURES if len(of_threads) > 1 and "none" not in of_threads else ()
    return partial(evolved, feature_specs(names), TARGET, settings)


def _fits(rows: StudyRows) -> bool:
    """Whether the skeleton holds; a CPU has no level 1 cache per lane, and no tensor cores."""
    return set(rows.labels["device"]) == {"GPU"} and RUN_SKELETON.fits(rows.X)


def _fitted(rows: StudyRows, settings: SearchSettings) -> EstimatorFactory | None:
    """Return what fits the law of whole runs; None where rows lack its features."""
    return LawFit if _fits(rows) else None


OF_FREE_RUNS = StudyKind(
    name=FREE_RUNS,
    scope=RUN,
    title="whole runs on one GPU, without a skeleton",
    read=find_table,
    rows=rows_of_runs,
    features=(*RUN_SKELETON.names, *CPU_FEATURES),
    search=_free_search,
    no_search=_fitted,
    baselines={**baselines_for("run"), **baselines_for("run", "engine")},
    defaults={"table": "fp32-2026"},
    has_levels=True,
    platform_baselines=("null_compute", "cf9"),
)
OF_RUNS = StudyKind(
    name=RUNS,
    scope=RUN,
    title="whole runs on one GPU",
    read=find_table,
    rows=rows_of_runs,
    features=OF_FREE_RUNS.features,
    search=lambda rows, settings: LawFit,
    is_fitted=True,
    space=lambda rows: FrontSpace(run_space(), law_genome(), LawFit),
    has_lasso=True,
    baselines=OF_FREE_RUNS.baselines,
    defaults={"evaluations": FRONT_EVALUATIONS, "max_constants": FRONT_SIZES[-1]},
    is_proved=True,
    has_levels=True,
    platform_baselines=OF_FREE_RUNS.platform_baselines,
    fits=_fits,
    otherwise=FREE_RUNS,
)
