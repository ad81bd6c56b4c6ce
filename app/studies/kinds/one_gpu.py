"""Formulas of runs on one GPU: whole iterations, forward passes, and layers.

A whole iteration has a law and formulas of few constants, or a free search where the law does not hold.

Layers are found from whole iterations. Work of a run is the sum of that of its layers, and so is this time:
what is fitted to runs holds for a layer. A maximum of device and host would not sum:

    time of a layer = sum of (weights x work) x factors + copy

A forward pass computes one of three products, writes each activation once, and has neither gradients nor an
optimizer. The features are those of training: constants absorb the third, so the weights that `terms.csv`
expects are a third of round figures of training, or less where gradients are summed. Software changes more
parts than in training: inductor turns convolutions to channels last and fuses the rest with them.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from trainlaw.app.inputs.run_tables import find_table
from trainlaw.app.studies.estimators import evolved
from trainlaw.app.studies.front_search import FRONT_EVALUATIONS, FRONT_SIZES, FrontSpace
from trainlaw.app.studies.kinds.kind import (
    FRONT_DEFAULTS,
    RUNS,
    StudyKind,
    StudyRows,
    fitted_by,
    study_labels,
)
from trainlaw.app.studies.skeleton import RUN_SKELETON, LawFit, TrainingRows, stated_brackets
from trainlaw.app.studies.spaces import law_genome, run_space
from trainlaw.datasets import CNN_LAYER_FEATURES, TARGET, RunTable, feature_specs
from trainlaw.datasets.features.run_features import FORWARD_TARGET, OF_ANY_RUN
from trainlaw.datasets.measurements.formula_rows import CnnLayers, feature_rows
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import FORWARD, LAYER, RUN
from trainlaw.validate import EstimatorFactory
from trainlaw.validate.baselines import baselines_for, named_baselines

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

LAYER_SKELETON = replace(
    RUN_SKELETON,
    template=parse_text(" + ".join(bracket.hole for bracket in RUN_SKELETON.brackets)),
    scope=LAYER,
    floor="",
    after="",
    given=(),
)


class LayerFit(LawFit):
    """Fits the law of one layer to times of whole runs.

    cnn_layers : the layers of the CNNs, found by the counts of each.
    """

    def __init__(self, cnn_layers: CnnLayers | None) -> None:
        """Keep the layers."""
        super().__init__(LAYER_SKELETON)
        self.cnn_layers = cnn_layers

    def completed(self, formula: Formula, X: pd.DataFrame, y: np.ndarray) -> Formula:
        """Return a formula of runs as one of layers; arguments as of `LawFit.fit`."""
        names = [spec.name for spec in formula.features]
        columns = feature_rows(X, names, self.cnn_layers).columns
        return replace(
            formula,
            features=feature_specs(names, CNN_LAYER_FEATURES),
            ranges={name: (float(values.min()), float(values.max())) for name, values in columns.items()},
        )


# Layers differ by far more than runs do, so that a joint range of them would exclude nothing.
OF_LAYERS = StudyKind(
    **fitted_by(LAYER_SKELETON, lambda rows: partial(LayerFit, rows.cnn_layers)),
    name="layers",
    title="layers, summed over each CNN",
    read=find_table,
    rows=lambda table: replace(rows_of_runs(table), cnn_layers=CnnLayers.of(table)),
    baselines=OF_RUNS.baselines,
    defaults={**OF_RUNS.defaults, "table": "fp32-2026"},
    has_joint_range=False,
)

FORWARD_SKELETON = replace(
    RUN_SKELETON,
    brackets=stated_brackets("forward"),
    # What a pass takes at least: the host's launches, and the products at the peak rate.
    template=parse_text(
        "max(max((((hole_matrix + hole_lanes) + hole_memory) + hole_depthwise) + hole_kernels, "
        "forward_host_s), forward_least_s) + hole_copy"
    ),
    target=FORWARD_TARGET,
    scope=FORWARD,
    floor="max(forward_host_s, forward_least_s)",
)


class ForwardFit(LawFit):
    """Fits the law of forward passes. With few GPUs, each of their stacks counts as a group."""

    division_columns = ()

    def training(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None
    ) -> TrainingRows:
        """Return the rows to fit; arguments as of `LawFit.fit`."""
        stack = X["runs_channels_last"].to_numpy() + 2 * X["runs_fused"].to_numpy()
        stacks = np.char.add(groups.astype(str), stack.astype(int).astype(str))
        return super().training(X, y, stacks, divisions)


_OF_PASSES = named_baselines("null_compute", "roofline", "constant")
OF_FORWARD = StudyKind(
    **fitted_by(FORWARD_SKELETON, lambda rows: partial(ForwardFit, FORWARD_SKELETON)),
    name="forward",
    title="forward passes on one GPU",
    read=find_table,
    rows=rows_of_runs,
    baselines=_OF_PASSES,
    defaults={**FRONT_DEFAULTS, "table": "forward", "against": tuple(_OF_PASSES)},
    next_step='trainlaw predict --forward --cnn resnet50 --gpu "RTX 4090" --batch 256 --formula {folder}',
)
