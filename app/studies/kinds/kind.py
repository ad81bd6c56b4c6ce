"""A kind of study: its table, features, search and baselines; and the labels of a table of runs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
from trainlaw.app.studies.front_search import FRONT_EVALUATIONS, FRONT_SIZES, FrontSpace
from trainlaw.app.studies.skeleton import LawFit, Skeleton
from trainlaw.app.studies.spaces import skeleton_space
from trainlaw.datasets import RunTable
from trainlaw.datasets.measurements.formula_rows import CnnLayers, FormulaRows, feature_rows
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula, MissingDependencyError
from trainlaw.validate import EstimatorFactory
from trainlaw.validate.error_table import BY_GPU
from trainlaw.validate.splits import SCHEMES

GPU_FOLDS, CNN_FOLDS, BOTH_FOLDS, OWN_LIST = "gpu-folds", "cnn-folds", "both-folds", "list"
RUNS = "runs"  # the kind of study that is meant where none is named
#: All that a study can hold out.
SPLITS = (GPU_FOLDS, CNN_FOLDS, BOTH_FOLDS, OWN_LIST, *SCHEMES)


Table = TypeVar("Table", bound=MeasuredTable)


@dataclass(frozen=True, eq=False)
class StudyRows:
    """A table as a study sees it.

    X : all numeric features, for search and baselines, shape (n_rows, k). seconds : measured, (n_rows,).
    labels : text, shape (n_rows, n_labels), `gpu_group`, `gpu` and `cnn_base` among them. cnn_layers : the
    layers of the CNNs for a formula of one layer, None where a row of `X` is a row of the formula.
    evaluated : bool, (n_rows,), rows included in the error; others only train. None for all.
    """

    X: pd.DataFrame
    seconds: np.ndarray
    labels: pd.DataFrame
    cnn_layers: CnnLayers | None = None
    evaluated: np.ndarray | None = None

    @property
    def groups(self) -> np.ndarray:
        """GPU group of each row, shape (n_rows,)."""
        return self.labels[BY_GPU].to_numpy(dtype=str)

    def of(self, *formulas: Formula) -> FormulaRows:
        """Return the rows on which these formulas are evaluated."""
        names = dict.fromkeys(spec.name for formula in formulas for spec in formula.used_features)
        return feature_rows(self.X, names, self.cnn_layers)


@dataclass(frozen=True, eq=False)
class StudyKind(Generic[Table]):
    """One kind of study: all that differs from one to another.

    name : what `--of` takes. scope : what its formulas model, one of `SCOPES`. title : human-readable
    description of the modelled quantity. read : the table of a text (built-in name or path), a file of GPUs
    and files of CNNs. rows : a table as features, seconds and labels. features : names of the columns that a
    formula may use. search : from those rows and settings to a factory, importable by name
    (`functools.partial` is fine), of the estimator that evolves; each fold makes its own, so constants of
    seeds are found in its `fit`. is_fitted : whether that only fits a law. no_search : where it searches,
    what makes from rows and settings the fitted law that it has to beat; its result None where the rows lack
    what that needs; None without such a law. space : what the formulas of few constants may be made of, which
    are evolved next to the law; None without such formulas. has_lasso : whether a lasso path is one of their
    controls. baselines : all by name, the null model among them. defaults : fields of
    `StudyDefinition` with another default, such as `table` and `against`. splits : what may be held out.
    is_proved : offer only formulas that behave over the deployment box (see `proved_properties`). has_levels
    : report the error by calibration level. has_joint_range : store where the features together are unlike
    any of training. given : what a prediction for a held-out row may use beyond specifications and counts, as
    text, for the stated error. platform_baselines : shown next to the formula in matrices of platforms; empty
    where there are none. next_step : a command to continue with the run `{folder}`. fits : whether rows have
    what the search needs; None for all. otherwise : the kind that searches where they have not, on the same
    rows.
    """

    name: str
    scope: str
    title: str
    read: Callable[[str, Path | None, Iterable[Path]], Table]
    rows: Callable[[Table], StudyRows]
    features: tuple[str, ...]
    search: Callable[[StudyRows, SearchSettings], EstimatorFactory]
    baselines: Mapping[str, EstimatorFactory]
    defaults: Mapping[str, object] = field(default_factory=dict)
    splits: tuple[str, ...] = SPLITS
    is_proved: bool = False
    has_levels: bool = False
    has_joint_range: bool = True
    given: str = ""
    platform_baselines: tuple[str, ...] = ()
    next_step: str = 'trainlaw predict --cnn resnet50 --gpu "A100-SXM4-40GB" --batch 64 --formula {folder}'
    is_fitted: bool = False
    no_search: Callable[[StudyRows, SearchSettings], EstimatorFactory | None] | None = None
    space: Callable[[StudyRows], FrontSpace] | None = None
    has_lasso: bool = False
    fits: Callable[[StudyRows], bool] | None = None
    otherwise: str = ""

    def available_baselines(self, names: Iterable[str]) -> tuple[dict[str, EstimatorFactory], dict[str, str]]:
        """Return the baselines of these names that can run here, and for the others what is missing."""
        present: dict[str, EstimatorFactory] = {}
        absent: dict[str, str] = {}
        for name in names:
            try:
                self.baselines[name]()
                present[name] = self.baselines[name]
            except MissingDependencyError as error:
                absent[name] = str(error)
        return present, absent


#: Defaults of studies of formulas of few constants, each GPU group held out in turn.
FRONT_DEFAULTS: Mapping[str, object] = {
    "split": "gpu",
    "evaluations": FRONT_EVALUATIONS,
    "max_constants": FRONT_SIZES[-1],
}


def fitted_by(skeleton: Skeleton, law: Callable[[StudyRows], Callable[[], LawFit]]) -> dict[str, Any]:
    """Return the fields of a kind that fits a law, and evolves formulas of few constants of its amounts.

    law : from rows to what makes the fit of `skeleton`.
    """
    return {
        "scope": skeleton.scope,
        "features": skeleton.names,
        "search": lambda rows, settings: law(rows),
        "is_fitted": True,
        "space": lambda rows: FrontSpace(*skeleton_space(skeleton), law(rows)),
    }


def study_labels(table: RunTable) -> pd.DataFrame:
    """Return the labels of the runs, text, with `vendor`, `device`, `threads`, `gpu_year`, `layout`,
    `stack`, `batch`.

    device : GPU or CPU. threads : of a CPU, as many as cores in use ("threads 2"); "none" for a GPU.
    """
    labels = table.labels()
    gpus = [table.facts.gpus.find(str(name)) for name in labels["gpu"]]
    labels["vendor"] = [str(gpu.vendor) for gpu in gpus]
    labels["gpu_year"] = [str(gpu.year) for gpu in gpus]
    labels["device"] = [gpu.device for gpu in gpus]
    labels["threads"] = [f"threads {gpu.sm_count:g}" if gpu.device == "CPU" else "none" for gpu in gpus]
    labels["layout"] = table.frame["layout"].astype(str).to_numpy()
    labels["stack"] = table.frame["stack"].astype(str).to_numpy()
    labels["batch"] = [f"{batch:g}" for batch in table.frame["batch_per_gpu"]]
    return labels
