"""The skeleton of a scaling formula: the time on one GPU, and what each way to reduce gradients adds.

    time = max(time on one GPU + exposed, forward + buckets) + tensors + servers + max(replicas, host)

Buckets of gradients travel while the backward pass computes the next ones, so their transfers count where
they take longer than it; a part stays exposed. Tensors that are reduced one by one and parameter servers hide
nothing. DataParallel copies the CNN to all GPUs of a node while one host launches for all of them.

Nothing is subtracted, so no prediction is shorter than the time on one GPU, and more bytes or a slower link
never shorten it. Expected constants are round figures: 1 for a ring at the links' rates; 2 between nodes, 4
behind a backward pass that shares adapters and processors with it; a third of an iteration for the forward
pass; 30 us per call. What was tuned on which runs is said in docs/explanation/law.md.
"""

from dataclasses import replace
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.search import BracketSearch, evolved, required_bracket
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import MULTI_GPU

_TEMPLATE = parse_text(
    f"max({SINGLE_GPU_TIME} + hole_exposed, hole_forward + hole_buckets) + hole_tensors + hole_servers"
    " + max(hole_replicas, hole_host)"
)


_BRACKETS = (
    replace(
        required_bracket("hole_exposed", (("bucket_wait_s", 0.15), ("bucket_transfer_s", 0.2))),
        deviation=0.3,
    ),
    # The runs alone would make it the whole time: nothing overlaps, and transfers are faster than links.
    replace(required_bracket("hole_forward", ((SINGLE_GPU_TIME, 0.33),)), deviation=0.1),
    required_bracket(
        "hole_buckets",
        (
            ("bucket_node_s", 1.0),
            ("bucket_network_s", 4.0),
            ("bucket_staged_s", 1.0),
            ("bucket_latency_s", 1.0),
        ),
    ),
    required_bracket(
        "hole_tensors",
        (
            ("tensor_node_s", 1.0),
            ("tensor_network_s", 2.0),
            ("tensor_staged_s", 1.0),
            ("tensor_launch_s", 3.0),
        ),
    ),
    required_bracket("hole_servers", (("server_node_s", 0.3), ("server_network_s", 0.5))),
    required_bracket("hole_replicas", (("replica_transfer_s", 1.0),)),
    required_bracket("hole_host", (("replica_host_s", 0.6),)),
)
SCALING_TERMS: tuple[str, ...] = tuple(
    dict.fromkeys([SINGLE_GPU_TIME, *(name for bracket in _BRACKETS for name, _ in bracket.terms)])
)
#: Formulas tried by a search: nearly all that may occur is required, so few differ.
SCALING_EVALUATIONS = 200


class ScalingSearch(BracketSearch):
    """Evolves a scaling formula within the skeleton.

    settings : of the search; budget and random seed are kept, the rest is set here.
    """

    usual_brackets = _BRACKETS

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search; X : features of runs, (n_runs, k). y, seconds, and groups : (n_runs,)."""
        settings = replace(
            self.settings,
            template=_TEMPLATE,
            brackets=self.brackets,
            islands=1,
            population=self.population_of(50),
            max_nodes=100,
            choice="one_standard_error",
        )
        search = evolved(feature_specs(SCALING_TERMS), TARGET, settings, MULTI_GPU)
        return self.keep(search.fit(X[list(SCALING_TERMS)], y, groups))
