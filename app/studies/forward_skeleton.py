"""The skeleton of a formula of forward passes: that of training, with what one pass of three costs.

    time = max(compute + fp32 lanes + memory + depthwise + kernels, host, least) + copy

A forward pass computes one of three products, writes each activation once, and has neither gradients nor an
optimizer. The features are those of training: constants absorb the third, so expected weights are a third of
round figures of training, or less where gradients are summed. Software changes more parts than in training:
inductor turns convolutions to channels last and fuses the rest with them.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.search import required_bracket
from trainlaw.app.studies.skeleton import BRACKETS, SkeletonSearch, names_of, software_factors
from trainlaw.datasets.features.run_features import FORWARD_TARGET
from trainlaw.evolve import Factor
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import FORWARD

#: What a pass takes at least: the host's launches, and the products at the peak rate.
FLOORS = ("forward_host_s", "forward_least_s")


FORWARD_BRACKETS = (
    required_bracket(
        "hole_compute",
        (("other_matrix_s", 0.33), ("conv3x3_matrix_s", 0.17)),
        (
            Factor("matrix_number", 0.0, 0.9, expected=0.3),
            Factor("clock_ratio", -1.0, 0.0, expected=-0.6),
            *software_factors(-0.3, -0.3),
        ),
        ("im2col_matrix_s", 3.0),
        ("broad_grouped_matrix_s", 0.3),
    ),
    required_bracket(
        "hole_simt",
        (
            ("im2col_simt_s", 3.0),
            ("grouped_conv_simt_s", 0.15),
            ("thin_conv_simt_s", 0.2),
            ("conv_output_simt_s", 1.0),
        ),
        (
            Factor("dual_issue", -1.0, 0.0, expected=-0.6),
            Factor("cache_per_lane", -1.0, 0.0, expected=-0.8),
            *software_factors(0.01, -0.3),
        ),
        ("conv_input_simt_s", 3.0),
    ),
    required_bracket(
        "hole_memory",
        (
            ("conv_own_cached_s", 1.5),
            ("light_own_cached_s", 1.0),
            ("parameter_memory_s", 1.0),
            ("gate_cached_s", 0.5),
            ("other_normalization_cached_s", 2.0),
        ),
        software_factors(-0.3, -0.7),
    ),
    required_bracket(
        "hole_depthwise",
        (("depthwise_output_cached_s", 5.0), ("depthwise_simt_s", 1.0)),
        software_factors(-0.1, -0.3),
    ),
    required_bracket(
        "hole_kernels",
        (("conv_launch_s", 0.3), ("iteration_overhead_s", 1.0)),
        (Factor("clock_number", -3.0, 0.0, expected=-1.0),),
    ),
    BRACKETS[-1],
)
FORWARD_NAMES = names_of(FORWARD_BRACKETS, FLOORS)


class ForwardSearch(SkeletonSearch):
    """Evolves a formula of forward passes within their skeleton.

    settings : as of `SkeletonSearch`. With few GPUs, each of their stacks counts as a group.
    """

    usual_brackets = FORWARD_BRACKETS
    template = parse_text(
        "max(max((((hole_compute + hole_simt) + hole_memory) + hole_depthwise) + hole_kernels, "
        "forward_host_s), forward_least_s) + hole_copy"
    )
    target = FORWARD_TARGET
    scope = FORWARD
    floors = FLOORS

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None = None
    ) -> Self:
        """Search; arguments as of `SkeletonSearch.fit`."""
        stack = X["runs_channels_last"].to_numpy() + 2 * X["runs_fused"].to_numpy()
        return super().fit(X, y, np.char.add(groups.astype(str), stack.astype(int).astype(str)), divisions)
