"""`trainlaw scaling`: the times of `trainlaw predict`, parts that add up, perfect scaling beside."""

import json
import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.predictions.scaling import scaling_curve
from trainlaw.app.terminal.scaling import scaling_csv, scaling_json, scaling_svg, scaling_text
from trainlaw.datasets import TARGET, configuration, feature_specs, find_cnn_counts, find_gpu
from trainlaw.datasets.hardware.collectives import ALGORITHMS
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.formulas import Formula, parse_text

CNN, GPU = find_cnn_counts("vgg16"), find_gpu("V100-SXM2-16GB")
WAY = {"link": "nvlink2-x6", "network": "infiniband-edr"}
SETUP = {"link": "nvlink2-x6", "fabric": "infiniband-edr"}


@pytest.mark.parametrize("algorithm", ALGORITHMS[1:])
def test_the_times_are_those_of_predict(formula, algorithm):
    points = scaling_curve(formula, CNN, GPU, 64, most=32, setup=Setup(algorithm=algorithm, **SETUP))
    for point in points:
        run = configuration(
            cnn=CNN,
            gpu=GPU,
            batch_per_gpu=64,
            n_gpus=point.n_gpus,
            n_nodes=point.n_nodes,
            algorithm=algorithm,
            **WAY,
        )
        asked = predict_runs(formula, run)[0]
        assert point.time_s == asked.time_s
        assert point.samples_per_second == pytest.approx(asked.samples_per_second, rel=1e-12)
        assert point.transfer_s + point.latency_s == pytest.approx(asked.exchange_s, rel=1e-12)


def test_parts_add_up_and_perfect_scaling_stands_beside(formula):
    points = scaling_curve(formula, CNN, GPU, 64, setup=Setup(**SETUP))
    assert [point.n_gpus for point in points] == [*range(1, 9), *range(16, 257, 8)]
    assert points[0].speed_up == 1
    for point in points:
        assert point.computing_s + point.transfer_s + point.latency_s == pytest.approx(
            point.time_s, rel=1e-12
        )
        assert 0 < point.efficiency <= 1
        assert point.perfect_samples_per_second == pytest.approx(point.n_gpus * 64 / points[0].time_s)
        # A ring has 2 (n - 1) steps, each with the latency of the slowest link.
        latency = (
            2
            * (point.n_gpus - 1)
            * configuration(
                cnn=CNN, gpu=GPU, batch_per_gpu=1, n_gpus=point.n_gpus, n_nodes=point.n_nodes, **WAY
            )
            .matrix(["slowest_latency_s"])
            .item()
        )
        assert point.latency_s == pytest.approx(latency, rel=1e-6)


def test_a_hidden_exchange_takes_no_time(formula):
    points = scaling_curve(formula, CNN, GPU, 64, most=16, hidden_share=1.0)
    assert all(point.efficiency == 1 for point in points)
    half, whole = (scaling_curve(formula, CNN, GPU, 64, most=2, hidden_share=share)[1] for share in (0.5, 0))
    assert half.transfer_s == pytest.approx(whole.transfer_s / 2)


def test_a_formula_of_several_gpus_gets_no_addition():
    law = Formula(
        parse_text("6 * conv_compute_s + ring_s"),
        feature_specs(["conv_compute_s", "ring_s"]),
        TARGET,
        scope="multi_gpu_run",
    )
    points = scaling_curve(law, CNN, GPU, 64, most=4)
    assert all(point.time_s == point.computing_s for point in points)
    assert points[1].time_s > points[0].time_s
    assert "covers several GPUs" in scaling_text("title", points, formula=law, origin="here")


def test_forms_hold_the_same_numbers(formula, tmp_path):
    points = scaling_curve(formula, CNN, GPU, 64, setup=Setup(**SETUP))
    (tmp_path / "s.csv").write_text(scaling_csv(points))
    table, rows = pd.read_csv(tmp_path / "s.csv").to_dict("records"), json.loads(scaling_json(points))
    for line, row in zip(table, rows, strict=True):
        assert "; ".join(row.pop("warnings")) == str(line.pop("warnings")).replace("nan", "")
        assert line == pytest.approx(row)
    assert len(table) == len(points)
    svg = ET.fromstring(scaling_svg("a < b & c", points))
    circles = [item for item in svg.iter() if item.tag.endswith("circle")]
    assert len(circles) == len(points)
    bars = [item.attrib for item in svg.iter() if item.tag.endswith("rect") and item.get("width") == "16.00"]
    for place in {bar["x"] for bar in bars}:
        ends = [(float(bar["y"]), float(bar["height"])) for bar in bars if bar["x"] == place]
        assert (min(ends)[0], max(map(sum, ends))) == pytest.approx((192, 262), abs=0.02)
        assert sum(height for _, height in ends) == pytest.approx(70, abs=0.02)
    ticks = {item.text: item.get("y") for item in svg.iter() if re.fullmatch(r"\d+ %", str(item.text))}
    assert ticks == {"0 %": "265.0", "50 %": "230.0", "100 %": "195.0"}
    text = scaling_text("title", points, formula=formula, origin="here")
    counts = [line.split()[0] for line in text.splitlines()[3:12]]
    assert counts == [str(2**power) for power in range(9)]
