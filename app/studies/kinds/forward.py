"""Formulas of forward passes on one GPU: inference at large batches.

    time = max(compute + fp32 lanes + memory + depthwise + kernels, host, least) + copy

A forward pass computes one of three products, writes each activation once, and has neither gradients nor an
optimizer. The features are those of training: constants absorb the third, so expected weights are a third of
round figures of training, or less where gradients are summed. Software changes more parts than in training:
inductor turns convolutions to channels last and fuses the rest with them.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from trainlaw.app.studies.front_search import FrontSpace
from trainlaw.app.studies.kinds.kind import StudyRows, study_labels
from trainlaw.app.studies.kinds.whole_runs import OF_RUNS
from trainlaw.app.studies.skeleton import RUN_SKELETON, LawFit, TrainingRows, by_rules
from trainlaw.app.studies.spaces import skeleton_space
from trainlaw.datasets import RunTable
from trainlaw.datasets.features.run_features import FORWARD_TARGET
from trainlaw.evolve import Bracket, Factor
from trainlaw.evolve.settings import EXPONENTIAL
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.baselines import named_baselines


def _software(channels_last: float, fused: float) -> tuple[Factor, Factor]:
    """Return what software changes in 16 bits: expected exponents of NHWC and of fused NHWC kernels."""
    return (
        Factor("runs_channels_last", -1.5, 1.0, expected=channels_last, kind=EXPONENTIAL),
        Factor("runs_fused", -1.5, 1.0, expected=fused, kind=EXPONENTIAL),
    )


# By the rules of training at a third, the error with each GPU held out is 18.1 instead of 15.4 %.
_BRACKETS = (
    Bracket(
        "hole_compute",
        (
            ("other_matrix_s", 0.33),
            ("conv3x3_matrix_s", 0.17),
            ("im2col_matrix_s", 3.0),
            ("broad_grouped_matrix_s", 0.3),
        ),
        (
            Factor("matrix_number", 0.0, 0.9, expected=0.3),
            Factor("clock_ratio", -1.0, 0.0, expected=-0.6),
            *_software(-0.3, -0.3),
        ),
    ),
    Bracket(
        "hole_simt",
        (
            ("im2col_simt_s", 3.0),
            ("grouped_conv_simt_s", 0.15),
            ("thin_conv_simt_s", 0.2),
            ("conv_output_simt_s", 1.0),
            ("conv_input_simt_s", 3.0),
        ),
        (
            Factor("dual_issue", -1.0, 0.0, expected=-0.6),
            Factor("cache_per_lane", -1.0, 0.0, expected=-0.8),
            *_software(0.01, -0.3),
        ),
    ),
    Bracket(
        "hole_memory",
        (
            ("conv_own_cached_s", 1.5),
            ("light_own_cached_s", 1.0),
            ("parameter_memory_s", 1.0),
            ("gate_cached_s", 0.5),
            ("other_normalization_cached_s", 2.0),
        ),
        _software(-0.3, -0.7),
    ),
    Bracket(
        "hole_depthwise",
        (("depthwise_output_cached_s", 5.0), ("depthwise_simt_s", 1.0)),
        _software(-0.1, -0.3),
    ),
    Bracket(
        "hole_kernels",
        (("conv_launch_s", 0.3), ("iteration_overhead_s", 1.0)),
        (Factor("clock_number", -3.0, 0.0, expected=-1.0),),
    ),
    by_rules("copy"),
)
FORWARD_SKELETON = replace(
    RUN_SKELETON,
    brackets=_BRACKETS,
    # What a pass takes at least: the host's launches, and the products at the peak rate.
    template=parse_text(
        "max(max((((hole_compute + hole_simt) + hole_memory) + hole_depthwise) + hole_kernels, "
        "forward_host_s), forward_least_s) + hole_copy"
    ),
    target=FORWARD_TARGET,
    scope=FORWARD,
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


def _space(rows: StudyRows) -> FrontSpace:
    floor, after = "max(forward_host_s, forward_least_s)", "4 * input_copy_s"
    given = ("input_copy_s",)
    space = skeleton_space(FORWARD_SKELETON, given, floor=floor, after=after)
    return FrontSpace(*space, partial(ForwardFit, FORWARD_SKELETON))


def _rows(table: RunTable) -> StudyRows:
    """Return features, seconds and labels; the stack is one of them, since software decides most."""
    labels = study_labels(table).assign(stack=table.frame["stack"].to_numpy(dtype=str))
    return StudyRows(table.features(), table.seconds, labels)


_BASELINES = named_baselines("null_compute", "roofline", "constant")
OF_FORWARD = replace(
    OF_RUNS,
    name="forward",
    scope=FORWARD,
    title="forward passes on one GPU",
    rows=_rows,
    features=FORWARD_SKELETON.names,
    search=lambda rows, settings: partial(ForwardFit, FORWARD_SKELETON),
    space=_space,
    has_lasso=False,
    baselines=_BASELINES,
    defaults={
        **OF_RUNS.defaults,
        "table": "forward",
        "split": "gpu",
        "seeds": 1,
        "against": tuple(_BASELINES),
    },
    is_proved=False,
    has_levels=False,
    platform_baselines=(),
    fits=None,
    otherwise="",
    next_step='trainlaw predict --forward --cnn resnet50 --gpu "RTX 4090" --batch 256 --formula {folder}',
)
