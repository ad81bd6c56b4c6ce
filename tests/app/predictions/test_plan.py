"""Plans of a training: their times are those of predict, and limits, ranking and scaling follow from them."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from math import log2
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from trainlaw import predict
from trainlaw.app.inputs.prices import read_prices
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.inputs.resolve import known_gpus, named_cnn
from trainlaw.app.inputs.selection import GpuSelection
from trainlaw.app.models.user_formula import find_formulas
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.predictions.scaling import scaling_curve
from trainlaw.app.predictions.training import Training
from trainlaw.app.predictions.training_plans import PlanOptions, plan_training
from trainlaw.app.terminal.plan_text import plans_csv, plans_json, plans_svg
from trainlaw.datasets import RunTable
from trainlaw.datasets.hardware.hosts import hosts
from trainlaw.datasets.measurements.memory_fit import largest_batch, memory_needs
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.formulas import UnknownNameError

TRAINING = Training(1_281_167, 90)
CATALOG = known_gpus()
CNN = named_cnn("resnet50")
CHOICE = find_formulas(Path("built-in"), "", Path("/nowhere"))
PRICES = read_prices(Path("example"), CATALOG)


USUAL = PlanOptions()


def plans(options=USUAL, prices=None, by="", **selection):
    gpus = GpuSelection(**selection).of(CATALOG)
    return plan_training(
        CHOICE.formula,
        CHOICE.scaling,
        CNN,
        TRAINING,
        gpus=gpus,
        catalog=CATALOG,
        options=options,
        prices=prices,
        ranked_by=by,
    )


@pytest.fixture(scope="module")
def priced():
    return plans(PlanOptions(counts=(1, 2, 4, 8, 16)), PRICES)


def test_hours_are_those_of_predict(priced):
    for row in priced.frame.iloc[[0, 7, -1]].itertuples():
        setup = Setup(row.precision, row.n_gpus, row.n_nodes)
        runs = one_run("resnet50", row.gpu, row.batch_per_gpu, None, setup)
        # All plans have one host.
        on_host = RunTable(
            runs.name, runs.frame, replace(runs.facts, usual_launch_s=hosts()["usual"].launch_s)
        )
        (prediction,) = predict_runs(CHOICE.formula, on_host, CHOICE.scaling)
        assert row.time_s == prediction.time_s
        iterations = 90 * -(-1_281_167 // (row.n_gpus * row.batch_per_gpu))
        assert row.training_h == pytest.approx(iterations * prediction.time_s / 3600, rel=1e-12)
        assert row.training_low_h / row.training_h == pytest.approx(prediction.low_s / prediction.time_s)
        assert row.training_high_h / row.training_h == pytest.approx(prediction.high_s / prediction.time_s)


def test_commands_agree_on_nodes_and_fabric():
    options = PlanOptions(counts=(8, 16), batches=(256,), precisions=("amp",))
    eight, sixteen = plans(options, names=("H100-SXM5-80GB",)).considered.itertuples()
    assert sixteen.training_h < 0.6 * eight.training_h
    asked = predict("resnet50", "H100-SXM5-80GB", 256, precision="amp", n_gpus=16)
    assert (asked.n_nodes, asked.network, asked.time_s) == (2, "infiniband-ndr-x8", sixteen.time_s)
    assert asked.notes[0].startswith(
        "setup: 2 nodes of 8 GPUs, link nvswitch4, fabric infiniband-ndr-x8, amp"
    )
    gpu = CATALOG.find("H100-SXM5-80GB")
    curve = scaling_curve(
        CHOICE.formula, CNN, gpu, 256, most=16, scaling=CHOICE.scaling, setup=Setup(precision="amp")
    )
    assert curve[-1].time_s == asked.time_s
    stated = predict("resnet50", "H100-SXM5-80GB", 256, precision="amp", n_gpus=16, n_nodes=1)
    assert stated.network == "none"


def test_cost_and_energy_follow_from_the_hours(priced):
    row = next(priced.frame.query("gpu == 'V100-SXM2-16GB' and n_gpus == 16").itertuples())
    assert row.n_nodes == 2
    assert row.cost == pytest.approx(row.training_h * 16 * 0.79)
    # A GPU that never waits draws 87 % of its limit at most; a slow host lowers it.
    assert 0.6 < row.power_share < 0.87
    assert row.energy_kwh == pytest.approx(row.training_h * 16 * 300 * row.power_share / 1000)
    assert row.energy_high_kwh / row.energy_kwh > row.training_high_h / row.training_h
    assert row.image_j == pytest.approx(3.6e6 * row.energy_kwh / (90 * 1_281_167))
    # A price for machines of one size is not one for others.
    assert set(priced.frame.query("gpu == 'V100-SXM2-16GB'")["n_gpus"]) == {1, 4, 8, 16}
    assert set(priced.frame["gpu"]) <= {gpu for gpu, _ in PRICES.prices}


def test_measured_gpus_come_first_and_the_cheapest_first(priced):
    frame = priced.frame
    assert not frame["is_measured"].all() and frame["is_measured"].any()
    assert frame["is_measured"].is_monotonic_decreasing
    for _, part in frame.groupby("is_measured"):
        assert part["cost"].is_monotonic_increasing
    assert set(frame[~frame["is_measured"]]["gpu"]) == {"B200", "B300", "RTX 5090"}


def test_limits_hold_for_the_prediction_or_for_its_upper_end():
    some = {"vendor": "NVIDIA", "max_memory_bytes": 16e9, "max_power_w": 300.0}
    within, surely = (
        plans(PlanOptions(within_h=24), **some),
        plans(PlanOptions(within_h=24, surely=True), **some),
    )
    assert within.frame["training_h"].max() <= 24 < within.frame["training_high_h"].max()
    assert surely.frame["training_high_h"].max() <= 24
    assert 0 < len(surely.frame) < len(within.frame) < len(within.considered)
    for name in set(within.frame["gpu"]):
        gpu = CATALOG.find(name)
        assert gpu.memory_bytes <= 16e9 and gpu.tdp_w <= 300 and gpu.vendor == "NVIDIA"


def test_a_budget_holds_for_the_prediction_or_for_its_upper_end():
    every = plans(PlanOptions(counts=(1, 2)), PRICES).frame
    budget = every["cost"].quantile(0.5, interpolation="lower")  # what a plan costs is within it
    options = PlanOptions(counts=(1, 2), budget=budget)
    within, surely = plans(options, PRICES), plans(replace(options, surely=True), PRICES)
    assert within.frame["cost"].max() == budget < within.frame["cost_high"].max()
    fastest = every["training_h"].min()
    assert plans(PlanOptions(counts=(1, 2), within_h=fastest), PRICES).frame["training_h"].min() == fastest
    assert surely.frame["cost_high"].max() <= budget
    assert 0 < len(surely.frame) < len(within.frame)


def test_every_plan_fits_and_no_larger_batch_does():
    names = ("T4", "GTX 1060 6GB")
    found = plans(PlanOptions(counts=(1,)), names=names).frame
    for row in found.itertuples():
        most = row.largest_batch
        assert row.batch_per_gpu <= most
        gpu, precision = row.gpu, Setup(row.precision)
        fits = [
            memory_needs(one_run("resnet50", gpu, n, None, precision))["fits"][0] for n in (most, most + 1)
        ]
        assert fits == ["fits", "may not fit"]
    assert largest_batch(CNN, float("nan"), "fp32") == largest_batch(CNN, 1e8, "fp32") == 0


def test_scaling_pays_while_each_doubling_saves_a_fifth():
    counts = (1, 2, 3, 8, 16, 32)
    slow = PlanOptions(counts=counts, setup=Setup(fabric="ethernet-10g"))
    found = plans(slow, names=("V100-SXM2-16GB",)).considered
    for _, group in found.groupby(["precision", "batch_per_gpu"]):
        hours, pays = group["training_h"].tolist(), 1
        for (n, h), (m, k) in pairwise(zip(counts, hours, strict=True)):
            if 1 - (k / h) ** (1 / log2(m / n)) < 0.2:
                break
            pays = m
        assert set(group["pays_to_gpus"]) == {pays}
    # Over 10-gigabit Ethernet the step to several nodes does not pay for a fast iteration.
    assert found["pays_to_gpus"].min() < 32


def test_numbers_of_gpus_that_are_no_doubling_gain_per_doubling():
    found = plans(PlanOptions(counts=(1, 8), batches=(64,), precisions=("fp32",)), names=("T4",)).considered
    one, eight = found.sort_values("n_gpus")["training_h"]
    assert found["gain"].max() == pytest.approx(1 - (eight / one) ** (1 / 3))


def test_the_front_has_no_beaten_plan(priced):
    front, frame = priced.front(), priced.frame
    assert front["training_h"].is_monotonic_increasing and front["cost"].is_monotonic_decreasing
    for row in front.itertuples():
        beating = (frame["training_h"] <= row.training_h) & (frame["cost"] <= row.cost)
        same = (frame["training_h"] == row.training_h) & (frame["cost"] == row.cost)
        assert not (beating & ~same).any()
    circles = [item for item in ET.fromstring(plans_svg(priced)).iter() if item.tag.endswith("circle")]
    assert len(circles) == len(frame) + len(front)


def test_csv_and_json_hold_every_plan(priced, tmp_path):
    (tmp_path / "plans.csv").write_text(plans_csv(priced))
    table, value = pd.read_csv(tmp_path / "plans.csv"), json.loads(plans_json("formula: here", priced))
    assert len(table) == len(value["plans"]) == len(priced.frame)
    assert np.allclose(table["cost_usd"], priced.frame["cost"])
    assert list(value["plans"][0]) == list(table.columns)
    assert "cost_usd" not in plans_csv(plans(PlanOptions(counts=(1,)), names=("T4",))).splitlines()[0]


def test_only_known_rankings():
    with pytest.raises(UnknownNameError, match="energy"):
        plans(by="beauty", names=("T4",))
    by_energy = plans(by="energy", vendor="NVIDIA").frame
    assert by_energy[by_energy["is_measured"]]["energy_kwh"].is_monotonic_increasing
