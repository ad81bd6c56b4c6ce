"""How an iteration scales from one GPU to many: speed-up, efficiency, and where the time goes."""

from dataclasses import dataclass, replace

import numpy as np
from trainlaw.app.answers.answer import WARNING
from trainlaw.app.inputs.requests import DEFAULT_SETUP, configured_row
from trainlaw.app.inputs.resolve import known_gpus
from trainlaw.app.models.multi_gpu import EXCHANGE, exchange_seconds, scaled_runs, scaled_seconds
from trainlaw.app.models.scopes import check_predictable, check_scope, formula_rows, handling
from trainlaw.app.predictions.predict import run_answers
from trainlaw.datasets import FEATURES, CnnCounts, Gpu, GpuCatalog, RunTable
from trainlaw.datasets.features.feature import written_out
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.runs import Setup, unmeasured_runs
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import Constant, Formula, InputError, evaluate, substitute, variables
from trainlaw.formulas.scopes import MULTI_GPU_RUN, RUN

#: Columns without which an all-reduce has no latency.
_LATENCIES = ("link_latency_s", "network_latency_s")
# What is latency in a scaling formula: calls, latencies of links, and waiting for hosts.
_CALLS = ("bucket_latency_s", "bucket_wait_s", "tensor_launch_s", "replica_host_s")
MOST_GPUS = 65_536


@dataclass(frozen=True)
class ScalingPoint:
    """One number of GPUs, each with the same batch; times of one iteration in seconds.

    `time_s` is `computing_s` + `transfer_s` + `latency_s`; of a scaling formula the calls of the all-reduce
    are the latency and everything else that it adds the transfer. A formula that itself covers several GPUs
    has all of it in `computing_s`. `speed_up` is that of the throughput; perfect scaling has
    `n_gpus`.
    """

    n_gpus: int
    n_nodes: int
    batch: int
    time_s: float
    computing_s: float
    transfer_s: float
    latency_s: float
    speed_up: float
    link: str
    network: str
    warnings: tuple[str, ...] = ()

    @property
    def efficiency(self) -> float:
        """Speed-up over the number of GPUs, 1 for perfect scaling."""
        return self.speed_up / self.n_gpus

    @property
    def samples_per_second(self) -> float:
        """Throughput of all GPUs, samples per second."""
        return self.n_gpus * self.batch / self.time_s

    @property
    def perfect_samples_per_second(self) -> float:
        """Throughput if the all-reduce took no time at all (null model), samples per second."""
        return self.samples_per_second / self.efficiency


def gpu_counts(most: int, gpus_per_node: int) -> tuple[tuple[int, int], ...]:
    """Return (GPUs, nodes): every number within one node, then whole nodes, up to `most` GPUs.

    Raises InputError for numbers below one or above 65,536.

    >>> gpu_counts(16, 4)
    ((1, 1), (2, 1), (3, 1), (4, 1), (8, 2), (12, 3), (16, 4))
    """
    if not (1 <= most <= MOST_GPUS and 1 <= gpus_per_node <= MOST_GPUS):
        raise InputError(f"expected 1 to {MOST_GPUS:,} GPUs, got {most} in all and {gpus_per_node} a node")
    first = range(1, min(most, gpus_per_node) + 1)
    whole = range(2 * gpus_per_node, most + 1, gpus_per_node)
    return tuple((count, 1) for count in first) + tuple((count, count // gpus_per_node) for count in whole)


def scaling_curve(
    formula: Formula,
    cnn: CnnCounts,
    gpu: Gpu,
    batch: int,
    *,
    most: int = 256,
    gpus_per_node: int | None = None,
    hidden_share: float = 0.0,
    scaling: Formula | None = None,
    setup: Setup = DEFAULT_SETUP,
    gpus: GpuCatalog | None = None,
) -> tuple[ScalingPoint, ...]:
    """Return the scaling of a configuration from 1 to `most` GPUs, as `gpu_counts` lists them.

    batch : images per GPU and iteration. gpus_per_node : None for usual servers. hidden_share : of the
    textbook all-reduce that overlaps with the backward pass, 0 to 1. scaling : formula for several GPUs,
    for the algorithms that it covers; None for the textbook. setup : precision, link, fabric and algorithm.
    gpus : known GPUs. The times are those of `trainlaw predict`. Raises InputError for a formula of layers,
    a share outside 0 to 1 or one together with a scaling formula, UnknownNameError for an unknown name.
    """
    check_predictable(formula)
    check_scope(formula, RUN, MULTI_GPU_RUN)
    if not 0 <= hidden_share <= 1:
        raise InputError(f"expected a hidden share of 0 to 1, got {hidden_share}")
    if hidden_share and scaling is not None:
        raise InputError(
            "a scaling formula covers the overlap; use a hidden share with --scaling-formula textbook"
        )
    per_node = usual_server(gpu.gpu).gpus_per_node if gpus_per_node is None else gpus_per_node
    counts = gpu_counts(most, per_node)
    rows = [
        configured_row(cnn, gpu, batch, replace(setup, n_gpus=n_gpus, n_nodes=n_nodes))
        for n_gpus, n_nodes in counts
    ]
    runs = unmeasured_runs("scaling", rows, Facts((gpus or known_gpus()).with_gpus([gpu]), (cnn,)))
    computing = formula_rows(formula, runs).predict(formula)
    exchange = (1 - hidden_share) * exchange_seconds(formula, runs, scaling, computing)
    latency = exchange - (1 - hidden_share) * _transfer(formula, runs, scaling, computing)
    seconds = computing + exchange
    columns = (
        seconds.tolist(),
        computing.tolist(),
        (exchange - latency).tolist(),
        latency.tolist(),
        (runs.frame["n_gpus"].to_numpy() * (seconds[0] / seconds)).tolist(),
        *(runs.frame[name].astype(str).tolist() for name in ("link", "network")),
        run_answers(formula, runs, scaling).sentences(WARNING),
    )
    return tuple(
        ScalingPoint(n_gpus, n_nodes, batch, *values)
        for (n_gpus, n_nodes), *values in zip(counts, *columns, strict=True)
    )


def _transfer(formula: Formula, runs: RunTable, scaling: Formula | None, computing: np.ndarray) -> np.ndarray:
    """The all-reduce without its latency, in seconds, (n_runs,); computing : time on one GPU, (n_runs,)."""
    if handling(formula).covers_multi_gpu:
        return np.zeros(len(runs))
    without = substitute(written_out(FEATURES, EXCHANGE), dict.fromkeys(_LATENCIES, Constant(0.0)))
    names = variables(without)
    textbook = evaluate(without, dict(zip(names, runs.matrix(names).T, strict=True)))[0]
    covered = scaled_runs(scaling, runs)
    if scaling is None or not covered.any():
        return textbook
    added = np.maximum(scaled_seconds(scaling, runs, computing, _CALLS) - computing, 0.0)
    return np.where(covered, added, textbook)
