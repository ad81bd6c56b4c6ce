"""Plans of a whole training: every GPU, number of GPUs, batch and precision by hours, cost and energy.

All configurations are rows of one table, so that thousands of them take a fraction of a second.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, inf

import numpy as np
import pandas as pd
from trainlaw.app.answers.said import Answers
from trainlaw.app.inputs.prices import Prices
from trainlaw.app.inputs.requests import (
    DEFAULT_SETUP,
    check_exchange,
    configured_row,
    impossible,
    on_instance,
)
from trainlaw.app.models.scopes import check_predictable
from trainlaw.app.predictions.power import POWER_FACTOR, busy_share, mean_power_w
from trainlaw.app.predictions.predict import run_answers
from trainlaw.app.predictions.training import Training
from trainlaw.app.text.numbers import show_hours
from trainlaw.datasets import CnnCounts, Gpu, GpuCatalog, RunTable
from trainlaw.datasets.hardware.instances import Instance
from trainlaw.datasets.measurements.memory_fit import largest_batch
from trainlaw.datasets.measurements.runs import PRECISION_OF_PASSES, Setup, unmeasured_runs
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.scopes import FORWARD

BATCHES = (32, 64, 128, 256)  # per GPU, where the user names none
_COUNTS = (1, 2, 4, 8)  # GPUs, likewise
#: Least share of the hours that a doubling of the GPUs saves where it pays; perfect scaling saves 0.5.
LEAST_GAIN = 0.2
_MOST_PLANS = 100_000
# Rows of the table of answers that are columns of plans.
_ANSWERS = (
    "time_s",
    "samples_per_second",
    "training_h",
    "training_low_h",
    "training_high_h",
    "cost",
    "cost_low",
    "cost_high",
    "energy_kwh",
    "energy_low_kwh",
    "energy_high_kwh",
    "image_j",
    "power_share",
    "spot_cost",
    "host_cost",
)
#: What plans may be ranked by, and the column of it.
RANKINGS: Mapping[str, str] = {
    "cost": "cost",
    "hours": "training_h",
    "energy": "energy_kwh",
    "spot": "spot_cost",
}


@dataclass(frozen=True)
class PlanOptions:
    """The choices of a plan, and its limits.

    counts : numbers of GPUs. gpus_per_node : None for usual servers. batches : per GPU, empty for
    `BATCHES`, or the largest power of two where none of them fits. precisions : empty for PyTorch's default
    and, where the hardware gains by it, mixed precision. setup : layout, links and so on. within_h, budget
    : limits of hours and cost. surely : whether limits hold for the upper end of the interval. least_gain :
    as `LEAST_GAIN`. power_share : of its limit that a GPU draws, None for the law of `app.predictions.power`.
    rented : instances in place of their GPUs, each with its price, links and number of GPUs.
    """

    counts: tuple[int, ...] = _COUNTS
    gpus_per_node: int | None = None
    batches: tuple[int, ...] = ()
    precisions: tuple[str, ...] = ()
    setup: Setup = DEFAULT_SETUP
    within_h: float = inf
    budget: float = inf
    surely: bool = False
    least_gain: float = LEAST_GAIN
    power_share: float | None = None
    rented: tuple[Instance, ...] = ()


@dataclass(frozen=True)
class TrainingPlans:
    """Plans of a training, the best first, those on GPUs of measured generations before all others.

    frame : a row per plan within the limits: `gpu`, `n_gpus`, `n_nodes`, `batch_per_gpu`, `precision`,
    `time_s` of an iteration, `samples_per_second`, `training_h` with `training_low_h` and `training_high_h`,
    `cost`, `cost_low` and `cost_high` in the currency of `prices` (nan without one), `price_of`: whose price,
    `energy_kwh`, `largest_batch` that fits, `pays_to_gpus` (scaling pays up to this number), `gain` of the
    hours by a doubling up to here, and `is_measured`: the formula was trained on GPUs of this generation. Its
    index numbers the rows of `runs`. answers : of `runs`. considered : all plans that fit into memory, in the
    order of `runs`. ranked_by : one of `RANKINGS`.
    """

    cnn: CnnCounts
    training: Training
    options: PlanOptions
    prices: Prices | None
    runs: RunTable
    answers: Answers
    considered: pd.DataFrame
    frame: pd.DataFrame
    ranked_by: str

    def said_of_best(self, kind: str) -> tuple[str, ...]:
        """Return the notes or warnings of the first plan."""
        (said,) = self.answers.of_row(int(self.frame.index[0])).sentences(kind)
        return said

    def front(self) -> pd.DataFrame:
        """Return the plans that no other beats in hours and cost (or energy), the fastest first."""
        ordered = self.frame.sort_values(["training_h", self.second_axis], kind="stable")
        second = ordered[self.second_axis]
        return ordered[second < second.cummin().shift(fill_value=inf)]

    @property
    def second_axis(self) -> str:
        """What is weighed against hours: cost where prices are known, else energy."""
        return "energy_kwh" if self.prices is None else "cost"


def usual_counts(training: Training) -> tuple[int, ...]:
    """Return the numbers of GPUs of plans where the user names none."""
    return (1,) if training.is_inference else _COUNTS


def plan_training(
    formula: Formula,
    scaling: Formula | None,
    cnn: CnnCounts,
    training: Training,
    *,
    gpus: Iterable[Gpu],
    catalog: GpuCatalog,
    options: PlanOptions,
    prices: Prices | None = None,
    ranked_by: str = "",
) -> TrainingPlans:
    """Return all plans of a training within the limits, ranked.

    formula, scaling : as for `predict_runs`. training : of the CNN. gpus : to choose from. catalog : known
    GPUs. prices : None where they are not known; with prices, GPUs without one are left out. ranked_by : one
    of `RANKINGS`; empty for the cost, or the hours without prices. Raises UnknownNameError for another
    ranking, InputError where nothing fits into memory or is within the limits.
    """
    check_predictable(formula)
    by = ranked_by or ("hours" if prices is None else "cost")
    check_name("ranking", by, RANKINGS)
    if by == "spot" and not (prices and prices.spot):
        raise InputError("ranking by spot needs --prices FILE with a column of spot prices")
    if prices is None and (by == "cost" or options.budget < inf):
        raise InputError("cost and --budget need prices: name a file with --prices, or the shipped `example`")
    chosen = [gpu for gpu in gpus if gpu.device == "GPU"]
    if training.is_inference or formula.scope == FORWARD:
        options = _for_inference(formula, training, options)
    if not options.counts or not chosen:
        raise InputError(f"expected at least one {'GPU' if options.counts else 'number of --gpus'}, got none")
    if not any(count > 1 for count in options.counts):
        check_exchange(options.setup)
    if options.surely and options.within_h == options.budget == inf:
        raise InputError("--surely is for limits: give --within or --budget")
    rows, largest, machines = _rows(cnn, chosen, options)
    runs = unmeasured_runs("plans", rows, Facts.compared(catalog, chosen, cnn))
    costs = [_price(row, machine, prices) for row, machine in zip(_keys(runs), machines, strict=True)]
    answers = _answers(formula, scaling, training, runs, options=options, prices=prices, costs=costs)
    columns = _columns(runs, answers.columns)
    columns = columns.assign(largest_batch=largest, price_of=[whose for _, whose in costs])
    frame = _with_gains(columns, options)
    within = _within(frame, options, prices is not None)
    within = within[within["spot_cost"].notna()] if by == "spot" else within
    ordered = within.sort_values(
        ["is_measured", RANKINGS[by], "n_gpus"], ascending=[False, True, True], kind="stable"
    )
    return TrainingPlans(cnn, training, options, prices, runs, answers, frame, ordered, by)


def _for_inference(formula: Formula, training: Training, options: PlanOptions) -> PlanOptions:
    """Return options of forward passes; InputError for a formula of training, a training, or several GPUs."""
    if formula.scope != FORWARD:
        raise InputError("expected a formula of forward passes for inference, got one of training")
    if not training.is_inference:
        raise InputError("expected inference for a formula of forward passes: say --forward")
    if options.counts != (1,):
        raise InputError("expected 1 as the number of GPUs for inference: each GPU has its images")
    precisions = options.precisions or (PRECISION_OF_PASSES,)
    return replace(options, precisions=precisions, setup=replace(options.setup, timed_parts=FORWARD))


def _machines(gpus: list[Gpu], options: PlanOptions) -> Iterator[tuple[Gpu, Instance | None]]:
    """Yield each GPU with its rented instances, or with None."""
    for gpu in gpus:
        rented = [one for one in options.rented if one.gpu == gpu.gpu]
        yield from ((gpu, one) for one in rented)
        if not rented:
            yield gpu, None


def _rows(
    cnn: CnnCounts, gpus: list[Gpu], options: PlanOptions
) -> tuple[list[dict[str, object]], list[int], list[Instance | None]]:
    """Return the rows of plans that fit, numbers of GPUs innermost; largest batches; instances."""
    largest: dict[tuple[float, str], int] = {}
    setups_in = cache(
        lambda precision, one: [_setup(options, precision, count, one) for count in options.counts]
    )
    rows, fitting, machines = list[dict[str, object]](), list[int](), list[Instance | None]()
    for gpu, one in _machines(gpus, options):
        for precision in options.precisions or _precisions(gpu):
            key = gpu.memory_bytes, precision
            if key not in largest:
                largest[key] = largest_batch(cnn, *key, options.setup.timed_parts == FORWARD)
            setups = setups_in(precision, one)
            if len(gpus) > 1 and any(impossible(gpu, setup) for setup in setups):
                continue
            # The largest power of two where none is wanted and no usual one fits.
            batches = [batch for batch in options.batches or BATCHES if batch <= largest[key]]
            if not batches and largest[key] and not options.batches:
                batches = [2 ** (largest[key].bit_length() - 1)]
            settings = [configured_row(cnn, gpu, batch, setup) for batch in batches[:1] for setup in setups]
            for batch in batches:
                rows += [{**row, "batch_per_gpu": batch} for row in settings]
                fitting += [largest[key]] * len(setups)
                machines += [one] * len(setups)
                if len(rows) > _MOST_PLANS:
                    said = f"more than {_MOST_PLANS:,} plans are too many"
                    raise InputError(f"{said}; name fewer GPUs, numbers of GPUs or batches")
    if not rows:
        raise InputError("no plan fits into memory; choose smaller batches or GPUs with more memory")
    return rows, fitting, machines


def _setup(options: PlanOptions, precision: str, count: int, rented: Instance | None) -> Setup:
    if rented and options.setup.timed_parts != FORWARD:
        each = rented.gpus_per_node
        # The usual numbers are of instances, those that are asked for are of GPUs.
        count = count * each if options.counts is _COUNTS else count
        if count % each:
            raise InputError(
                f"expected --gpus as multiples of {each}, which {rented.instance} has, got {count}"
            )
        return on_instance(replace(options.setup, precision=precision, n_gpus=count), rented.instance)
    nodes = None if options.gpus_per_node is None else ceil(count / options.gpus_per_node)
    if nodes and count % nodes:
        raise InputError(
            f"expected numbers of GPUs up to {options.gpus_per_node} or its multiples, got {count}; "
            "--gpus-per-node says how many a machine has"
        )
    return replace(options.setup, precision=precision, n_gpus=count, n_nodes=nodes)


def _precisions(gpu: Gpu) -> tuple[str, ...]:
    """PyTorch's default, and mixed precision where the hardware gains by it and its peak rate is known."""
    gains = gpu.has_fast_fp16 != 0 and gpu.peak_fp16_flop_per_s > gpu.peak_fp32_flop_per_s
    return (gpu.default_precision, "amp") if gains else (gpu.default_precision,)


def _answers(
    formula: Formula,
    scaling: Formula | None,
    training: Training,
    runs: RunTable,
    *,
    options: PlanOptions,
    prices: Prices | None,
    costs: Sequence[tuple[float, str]],
) -> Answers:
    """Return what the table of answers says of the time, hours, cost and energy of each run.

    costs : price of a GPU for an hour, and whose it is, of each run.
    """
    tdp_w = runs.frame["gpu"].map(lambda name: runs.facts.gpus.find(str(name)).tdp_w).to_numpy(dtype=float)
    others = {
        "images": np.full(len(runs), training.images * training.epochs),
        "tdp_w": tdp_w,
        "power_factor": np.full(len(runs), 1.0 if options.power_share else POWER_FACTOR),
        "price_per_hour": np.array([price for price, _ in costs]),
        "spot_per_hour": np.array([prices.spot_of(*key) if prices else np.nan for key in _keys(runs)]),
        "host_per_hour": np.array([prices.host_share(*key) if prices else np.nan for key in _keys(runs)]),
    }

    def shared(seconds: np.ndarray) -> dict[str, np.ndarray]:
        share = np.full(len(runs), options.power_share or np.nan)
        if options.power_share is None:
            # Gradients travel while the GPU works, so the share of one GPU serves for several.
            share = mean_power_w(tdp_w, busy_share(formula, runs, seconds), tdp_w) / tdp_w
        return {**others, "power_share": share}

    return run_answers(formula, runs, scaling, training=training, others=shared)


def _keys(runs: RunTable) -> list[tuple[str, int]]:
    """Return the GPU of each run and how many of it a node has."""
    per_node = runs.frame["n_gpus"] // runs.frame["n_nodes"]
    return list(zip(runs.frame["gpu"], per_node, strict=True))


def _price(key: tuple[str, int], rented: Instance | None, prices: Prices | None) -> tuple[float, str]:
    """Return the price of a GPU for an hour, nan where it is not known, and whose it is."""
    if prices is None:
        return np.nan, ""
    if rented:
        return prices.of_instance(rented), f"{rented.provider} {rented.instance}"
    return prices.of(*key), prices.whose_of(*key)


def _columns(runs: RunTable, columns: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return a row per run with its configuration and its answers."""
    frame = runs.frame[["gpu", "n_gpus", "n_nodes", "link", "network", "batch_per_gpu", "precision"]]
    is_measured = columns["is_unseen_vendor"] + columns["is_unseen_generation"] == 0
    return frame.assign(**{name: columns[name] for name in _ANSWERS}, is_measured=is_measured)


def _with_gains(frame: pd.DataFrame, options: PlanOptions) -> pd.DataFrame:
    """Return the frame with the share of the hours that a doubling saves, and how far scaling pays."""
    counts = np.array(options.counts, dtype=float)
    hours = frame["training_h"].to_numpy().reshape(-1, len(counts))
    # Per doubling also between numbers of GPUs that are no doubling: equal factors for equal factors.
    gains = 1 - (hours[:, 1:] / hours[:, :-1]) ** (1 / np.log2(counts[1:] / counts[:-1]))
    pays = np.cumprod(gains >= options.least_gain, axis=1).sum(axis=1)
    before = np.full((len(hours), 1), np.nan)
    # An instance has several GPUs, so that the numbers of GPUs differ by machine.
    most = frame["n_gpus"].to_numpy().reshape(hours.shape)[np.arange(len(hours)), pays]
    return frame.assign(gain=np.hstack([before, gains]).ravel(), pays_to_gpus=np.repeat(most, len(counts)))


def _within(frame: pd.DataFrame, options: PlanOptions, has_prices: bool) -> pd.DataFrame:
    """Return the plans with a time, and a cost where there are prices, that keep the limits."""
    hours, cost = ("training_high_h", "cost_high") if options.surely else ("training_h", "cost")
    keeps = np.isfinite(frame["training_h"]) & (frame[hours].fillna(inf) <= options.within_h)
    if has_prices:
        keeps &= frame[cost].fillna(inf) <= options.budget
        keeps &= np.isfinite(frame["cost"])
    if not keeps.any():
        fastest = frame["training_h"].min()
        raise InputError(
            f"no plan keeps the limits; the fastest takes {show_hours(fastest)}: allow more time, cost or "
            "GPUs"
        )
    kept: pd.DataFrame = frame[keeps]
    return kept
