"""Formulas of forward passes on one GPU: inference at large batches.

    time = max(products + fp32 lanes + memory + depthwise + kernels, host, least) + copy

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
from trainlaw.app.studies.kinds.kind import FRONT_DEFAULTS, StudyKind, StudyRows, fitted_by, study_labels
from trainlaw.app.studies.skeleton import RUN_SKELETON, LawFit, TrainingRows, stated_brackets
from trainlaw.datasets import RunTable
from trainlaw.datasets.features.run_features import FORWARD_TARGET
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.baselines import named_baselines

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


def _rows(table: RunTable) -> StudyRows:
    """Return features, seconds and labels; the stack is one of them, since software decides most."""
    labels = study_labels(table).assign(stack=table.frame["stack"].to_numpy(dtype=str))
    return StudyRows(table.features(), table.seconds, labels)


_BASELINES = named_baselines("null_compute", "roofline", "constant")
OF_FORWARD = StudyKind(
    **fitted_by(FORWARD_SKELETON, lambda rows: partial(ForwardFit, FORWARD_SKELETON)),
    name="forward",
    title="forward passes on one GPU",
    read=find_table,
    rows=_rows,
    baselines=_BASELINES,
    defaults={**FRONT_DEFAULTS, "table": "forward", "against": tuple(_BASELINES)},
    next_step='trainlaw predict --forward --cnn resnet50 --gpu "RTX 4090" --batch 256 --formula {folder}',
)
