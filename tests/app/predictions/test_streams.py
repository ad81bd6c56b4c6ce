"""`trainlaw schedule`: layers of real networks on streams, by the built-in formula of a layer."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import pytest
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.models.builtin import LAYER_FORMULA
from trainlaw.app.predictions.streams import layer_tasks, plan_streams
from trainlaw.app.terminal.schedules import gantt_svg, plan_csv, plan_json, plan_text
from trainlaw.datasets import find_cnn_counts, find_gpu
from trainlaw.formulas import load_formula
from trainlaw.validate.formula_errors import overall_error
from trainlaw.validate.result import OURS

LAW, GPU = load_formula(LAYER_FORMULA), find_gpu("V100-SXM2-16GB")
# Nets with branches, and nets whose layers follow each other.
BRANCHED = ("googlenet", "inception_v3", "inception_v4", "inception_resnet_v2", "squeezenet1_0")
CHAINS = ("alexnet_mx", "vgg16", "lenet5", "mobilenet_v1")


def plan(cnn, batch=8, streams=4, **settings):
    return plan_streams(find_cnn_counts(cnn), GPU, batch, streams, formula=LAW, **settings)


@pytest.mark.parametrize("phase", ["training", "forward"])
@pytest.mark.parametrize("cnn", CHAINS)
def test_chains_gain_nothing(cnn, phase):
    found = plan(cnn, phase=phase)
    assert [each.speed_up for each in found.schedules] == pytest.approx([1.0] * 4, rel=1e-12)
    assert found.critical == tuple(range(len(found.layers)))


@pytest.mark.parametrize("cnn", BRANCHED)
def test_branches_run_side_by_side(cnn):
    found = plan(cnn)
    assert found.chosen.speed_up > 1.0
    assert found.schedules[0].makespan_s == pytest.approx(found.chosen.tasks.total_s, rel=1e-12)
    for each in found.schedules:
        assert each.lower_bound_s <= each.makespan_s * (1 + 1e-8)
        assert each.makespan_s <= each.upper_bound_s * (1 + 1e-12)


def test_inception_gains_at_the_default_batch():
    assert plan("inception_v4", batch=32).chosen.speed_up > 1.0


def test_training_runs_back_through_the_graph():
    cnn = find_cnn_counts("googlenet")
    layers, tasks = layer_tasks(cnn.graph, GPU, 8, "training", LAW)
    forward = len(cnn.graph.layers)
    places = {layer.layer: place for place, layer in enumerate(layers) if not layer.backward}
    back = {places[layer.layer]: place for place, layer in enumerate(layers) if layer.backward}
    assert len(back) == forward - 1  # all but the input
    for place, layer in enumerate(cnn.graph.layers):
        for source in layer.inputs:
            if source in back:
                assert back[place] in tasks.waits_for[back[source]]
    (output,) = set(range(forward)) - {s for layer in cnn.graph.layers for s in layer.inputs}
    assert tasks.waits_for[back[output]] == (output,)


def test_the_sum_is_the_law_of_a_training_pass():
    from trainlaw.datasets.measurements.formula_rows import layer_columns

    cnn = find_cnn_counts("resnet50")
    _, tasks = layer_tasks(cnn.graph, GPU, 16, "training", LAW)
    columns = layer_columns(cnn.graph, GPU, 16, 3)
    whole = LAW.predict(columns)[columns["n_layers"] > 0].sum()
    assert tasks.total_s == pytest.approx(whole, rel=1e-9)


def test_a_slower_event_never_helps_and_a_full_gpu_gains_nothing():
    free, dear = plan("googlenet", event_s=0.0), plan("googlenet", event_s=1.0)
    assert free.chosen.speed_up >= plan("googlenet").chosen.speed_up > 1.0
    assert dear.chosen.events == 0 or dear.chosen.speed_up < 1.0
    assert plan("googlenet", batch=2048).chosen.speed_up < 1.02


def test_forms_hold_the_same_schedule():
    found = plan("googlenet")
    rows = list(csv.DictReader(io.StringIO(plan_csv(found))))
    ends = [float(row["start_s"]) + float(row["time_s"]) for row in rows]
    data = json.loads(plan_json(found))
    assert max(ends) == pytest.approx(data["schedules"][-1]["makespan_s"])
    critical = [row["layer"] for row in rows if row["on_critical_path"] == "1"]
    assert len(critical) == len(data["critical_path"]) == len(found.critical)
    text = plan_text(found, LAW, "a formula of layers")
    assert "1.30x" in text
    assert "for comparison only" in text
    drawn = ET.fromstring(gantt_svg(found))
    boxes = [item for item in drawn.iter() if item.tag.endswith("rect")]
    assert len(boxes) >= sum(seconds > 0 for seconds in found.chosen.tasks.seconds)


def test_the_law_states_its_errors_and_origin():
    assert 0 < overall_error(LAW, OURS) < 25
    assert len(LAW.errors["gpu_group"]) == 17
    assert LAW.scope == "layer"


@pytest.mark.parametrize("suffix", [".py", ".c", ".js", ".json", ".tex"])
def test_the_law_is_exported(suffix, tmp_path):
    export_formula(LAW, tmp_path / f"layer{suffix}")
    assert (tmp_path / f"layer{suffix}").stat().st_size > 500
