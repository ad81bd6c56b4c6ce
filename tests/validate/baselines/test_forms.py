"""Closed forms whose constants are fitted: planted constants are found, and the formula says what they do."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import load
from trainlaw.validate import run_study
from trainlaw.validate.baselines import TABLE, baseline, baselines_for, forms
from trainlaw.validate.baselines.forms import FittedForm
from trainlaw.validate.baselines.inputs import rows_drawn
from trainlaw.validate.baselines.null_models import ScaledForm
from trainlaw.validate.splits import splits_by_name

OWN = [row for row in TABLE if row.requires != "engine"]
FORMS = {row.name: row.make for row in OWN if isinstance(row.make(), FittedForm)}
SEVERAL_GPUS = baselines_for("multi_gpu")


def groups_of(runs):
    return runs.labels["gpu_group"].to_numpy(dtype=str)


@pytest.fixture(scope="module")
def many_gpus():
    """Features with the measured single-GPU time, seconds and labels of runs on several GPUs."""
    table = load("multi")
    known = table.frame["single_gpu_time_s"].notna().to_numpy()
    X = table.features().assign(single_gpu_time_s=table.frame["single_gpu_time_s"])[known]
    return X.reset_index(drop=True), table.seconds[known], table.labels()[known]


@pytest.fixture(scope="module")
def rows_of(few_runs, many_gpus):
    """Features, seconds and groups by scope."""
    layers = load("cde-layers")
    layers = layers.where(np.arange(len(layers)) % 40 == 0)
    X, seconds, labels = many_gpus
    return {
        "run": (few_runs.X, few_runs.seconds, groups_of(few_runs)),
        "multi_gpu": (X, seconds, labels["gpu_group"].to_numpy(dtype=str)),
        "measured_layer": (layers.features(), layers.seconds, layers.labels()["gpu_group"].to_numpy(str)),
    }


@pytest.mark.parametrize("name", [name for name in FORMS if name != "perfect_scaling"])
def test_planted_constants_are_found(name, rows_of):
    X, seconds, groups = rows_of[baseline(name).scope]
    form = FORMS[name]()
    truth = form.fit(X, seconds, groups).predict(X)
    again = FORMS[name]().fit(X, truth, groups).predict(X)
    # Up to the pull of the priors.
    assert np.median(np.abs(np.log(again / truth))) < 0.03


def test_a_planted_sum_over_effective_rates_is_recovered(runs):
    planted = forms.cf9()
    planted.parameters_ = {
        **dict(zip("c0 c1 c2 c3 c4 c5 c6 c7 c8".split(), [1.5, 60, 900, 30, 8, 15, 70, 10, 1], strict=True)),
        **{"k0": 0.3, "k1": 0.7, "k2": 0.5},
    }
    found = forms.cf9().fit(runs.X, planted.predict(runs.X), groups_of(runs)).parameters_
    assert found == pytest.approx(planted.parameters_, rel=0.05, abs=0.01)


@pytest.mark.parametrize("name", ["roofline", "cf9"])
def test_the_formula_computes_what_the_estimator_predicts(name, few_runs):
    form = FORMS[name]().fit(few_runs.X, few_runs.seconds, groups_of(few_runs))
    assert form.formula_.predict(few_runs.X) == pytest.approx(form.predict(few_runs.X), rel=1e-12)
    assert not any(outside.any() for outside in form.formula_.out_of_range(few_runs.X).values())


def test_a_term_that_no_run_has_stays_out_of_the_way(few_runs):
    X = few_runs.X.assign(depthwise_output_memory_s=0.0)
    form = forms.cf9().fit(X, few_runs.seconds, groups_of(few_runs))
    assert np.isfinite(list(form.parameters_.values())).all() and form.parameters_["c5"] < 10


def test_the_start_knows_nothing_of_the_held_out_kepler(runs):
    """Without Kepler rows its two exponents must stay at zero: a start at published ones would be a leak."""
    others = (runs.X["wide_sm"] == 0).to_numpy()
    form = forms.cf9().fit(runs.X[others], runs.seconds[others], groups_of(runs)[others])
    assert (form.parameters_["k1"], form.parameters_["k2"]) == (0.0, 0.0)


def test_the_closed_form_has_the_errors_of_the_accuracy_notes_and_picks_the_faster_gpu(runs):
    found = {
        scheme: run_study(
            runs.X,
            runs.seconds,
            runs.labels,
            splits_by_name(scheme, runs.labels),
            {"roofline": forms.roofline, "null": baseline("null_compute").make, "cf9": forms.cf9},
        )
        .summary()
        .set_index("estimator")
        for scheme in ("gpu", "cnn")
    }
    columns = ["mape_percent", "median_ape_percent", "macro_gpu_group_mape_percent"]
    assert found["gpu"].loc["null", columns].tolist() == pytest.approx([92, 73, 99], abs=1)
    assert found["gpu"].loc["roofline", columns].tolist() == pytest.approx([38.8, 35.9, 36.8], abs=1)
    assert found["cnn"].loc["roofline", columns[:2]].tolist() == pytest.approx([33.2, 28.4], abs=1)
    assert found["cnn"].loc["cf9", "faster_gpu_percent"] > 98


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("perfect_scaling", 20.6),
        ("ring_scaling", 17.0),
        ("mg13", 13.5),
        ("gradient_boosting_on_perfect_scaling", 4.0),
    ],
)
def test_several_gpus_are_predicted_from_the_time_on_one(name, limit, many_gpus):
    X, seconds, labels = many_gpus
    predicted = SEVERAL_GPUS[name]().fit(X, seconds, labels["gpu_group"].to_numpy(dtype=str)).predict(X)
    assert limit - 1.5 < 100 * np.abs(predicted / seconds - 1).mean() < limit


def test_more_knowledge_of_communication_lowers_the_error(many_gpus):
    names = ("perfect_scaling", "ring_scaling", "mg13")
    splits = splits_by_name("source", many_gpus[2].reset_index(drop=True))
    rows = (many_gpus[0], many_gpus[1], many_gpus[2].reset_index(drop=True))
    table = run_study(*rows, splits, {name: SEVERAL_GPUS[name] for name in names}).summary()
    errors = table.set_index("estimator").loc[list(names), "mape_percent"]
    # A ring alone is worse on a source whose network is of another kind.
    assert errors.tolist() == pytest.approx([20.5, 23.9, 14.5], abs=0.5)


def test_a_planted_ring_is_recovered():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "single_gpu_time_s": 10.0 ** random.uniform(-2, 0, 60),
            "n_gpus": random.choice([2.0, 4.0, 8.0], 60),
            "ring_transfer_s": 10.0 ** random.uniform(-3, -1, 60),
            "ring_steps": random.choice([2.0, 6.0, 14.0], 60),
        }
    )
    single, n_gpus, transfer, steps = X.to_numpy().T
    seconds = single * (1.0 + 0.02 * np.log2(n_gpus)) + 1.5 * transfer + 0.5e-4 * steps
    fitted = forms.ring_scaling().fit(X, seconds, np.repeat(["a", "b"], 30))
    assert list(fitted.parameters_.values()) == pytest.approx([0.02, 1.5, 0.5], rel=1e-3)


def test_mg13_is_the_sum_of_its_documented_parts():
    X = pd.DataFrame(
        {
            "single_gpu_time_s": [0.1, 0.2, 0.3, 0.4, 0.5],
            "gpus_per_node": [4.0, 8.0, 2.0, 1.0, 4.0],
            "n_nodes": [1.0, 4.0, 2.0, 8.0, 1.0],
            "node_ring_s": [0.02, 0.2, 0.04, 0.3, 0.3],
            "network_ring_s": [0.0, 0.1, 0.2, 0.3, 0.0],
            "gradient_bytes": [1e8] * 5,
            "link_byte_per_s": [3e10, 3e10, 3e10, 7e10, 1e9],
            "peer_access": [0.0, 1.0, 0.5, 0.0, 0.0],
            "gradient_tensors": [100.0] * 5,
            "n_layers": [50.0] * 5,
            "is_parameter_server": [0.0, 1.0, 0.0, 0.0, 0.0],
            "is_data_parallel": [0.0, 0.0, 0.0, 0.0, 1.0],
        }
    )
    k = [0.02, 0.03, 5.0, 0.1, 1.1, 0.7, 0.4, 1.2, 1.5, 40.0, 50.0, 1.3, 35.0]

    def seconds(row):
        transfer = row.gradient_bytes / row.link_byte_per_s
        doublings, of_nodes = np.log2(row.gpus_per_node), np.log2(row.n_nodes)
        compute = row.single_gpu_time_s * (1 + k[0] * doublings + k[1] * of_nodes)
        relayed = (1.0 if row.peer_access < 1 else 0.3) * max(row.gpus_per_node - 2, 0) * transfer
        relayed *= row.link_byte_per_s < 6e10
        across = k[7] * row.network_ring_s * (k[8] if row.is_parameter_server else 1.0)
        calls = row.gradient_tensors * 1e-6 * (k[9] * (doublings + of_nodes) + k[10] * of_nodes)
        shown = (k[4] + k[5] * (1 - row.peer_access)) * row.node_ring_s + k[6] * relayed + across + calls
        if row.is_data_parallel:
            copies = k[11] * (row.gpus_per_node - 1) * transfer
            return compute + k[2] * 1e-3 + shown + copies + k[12] * 1e-6 * row.n_layers * row.gpus_per_node
        rest = shown - k[3] * compute
        return compute + k[2] * 1e-3 + 0.5 * (rest + np.sqrt(rest**2 + (0.05 * compute) ** 2))

    form = forms.mg13()
    form.parameters_ = {f"c{place}": value for place, value in enumerate(k)}
    assert form.predict(X) == pytest.approx([seconds(row) for row in X.itertuples()], rel=1e-12)


@pytest.mark.parametrize("name", baselines_for("measured_layer"))
def test_layers_in_sample(name, rows_of):
    X, seconds, groups = rows_of["measured_layer"]
    predicted = baseline(name).make().fit(X, seconds, groups).predict(X)
    assert (predicted > 0).all()
    is_null = baseline(name).title.startswith(("null", "constant"))
    assert np.median(np.abs(np.log(predicted / seconds))) < (1.5 if is_null else 0.35)


def test_rows_are_drawn_from_large_groups_only():
    groups = np.array(["large"] * 50 + ["small"] * 3)
    rows = rows_drawn(groups, most=10)
    assert np.isin([50, 51, 52], rows).all()
    assert len(rows) == 13
    assert rows.tolist() == rows_drawn(groups, most=10).tolist()


def test_the_factor_of_a_null_model_is_the_median_ratio():
    X = pd.DataFrame({"ideal_s": [1.0, 2.0, 4.0]})
    fitted = ScaledForm("ideal_s").fit(X, np.array([2.0, 6.0, 400.0]), np.zeros(3))
    assert fitted.predict(X).tolist() == [3.0, 6.0, 12.0]
