"""Baselines of runs on several GPUs."""

import numpy as np
import pandas as pd
import pytest
from trainlaw import datasets
from trainlaw.formulas import InputError
from trainlaw.validate import run_study, splits_by_name
from trainlaw.validate.baselines import baseline, baselines_for
from trainlaw.validate.baselines.several_gpus import _FULL_LINK_BYTE_PER_S, RingScaling, _seconds

SEVERAL_GPUS = baselines_for("multi_gpu")


@pytest.fixture(scope="module")
def many_gpus():
    """Features with the measured single-GPU time, seconds and labels of runs on several GPUs."""
    table = datasets.load("multi")
    known = table.frame["single_gpu_time_s"].notna().to_numpy()
    X = table.features().assign(single_gpu_time_s=table.frame["single_gpu_time_s"])[known]
    labels = table.labels().assign(algorithm=table.frame["algorithm"].astype(str))[known]
    return X, table.seconds[known], labels


@pytest.mark.parametrize("name", SEVERAL_GPUS)
def test_several_gpus_are_predicted_from_the_time_on_one(name, many_gpus):
    X, seconds, labels = many_gpus
    asked = {"labels": labels} if name == "mg13" else {}
    groups = labels["gpu_group"].to_numpy(dtype=str)
    predicted = SEVERAL_GPUS[name]().fit(X, seconds, groups, **asked).predict(X, **asked)
    limits = {
        "null_scaling": 18.0,
        "constant": 91.0,
        "perfect_scaling": 20.6,
        "ring_scaling": 16.5,
        "mg13": 13.5,
    }
    limit = {**limits, "gradient_boosting_on_perfect_scaling": 4.0}[name]
    assert limit - 1.5 < 100 * np.abs(predicted / seconds - 1).mean() < limit


def test_a_time_on_one_gpu_is_not_read_where_it_is_to_be_predicted(many_gpus):
    alone = datasets.load("precisions").where(gpu=["K80", "P40", "V100-PCIE-16GB", "P100-PCIE-16GB"])
    X, seconds, labels = many_gpus
    own = alone.features().assign(single_gpu_time_s=np.nan)
    rows = pd.concat([own, X.iloc[::4]], ignore_index=True)
    times = np.concatenate([alone.seconds, seconds[::4]])
    groups = np.concatenate([alone.labels()["gpu_group"], labels["gpu_group"].to_numpy()[::4]]).astype(str)
    model = baseline("composed_scaling").make().fit(rows, times, groups)
    predicted = model.predict(X)
    assert (predicted > 0).all()
    np.testing.assert_array_equal(predicted, model.predict(X.assign(single_gpu_time_s=1.0)))


@pytest.mark.slow
def test_more_knowledge_of_communication_lowers_the_error(many_gpus):
    splits = splits_by_name("source", many_gpus[2])
    table = run_study(*many_gpus, splits, SEVERAL_GPUS).summary().set_index("estimator")
    errors = [table.loc[name, "mape_percent"] for name in ("perfect_scaling", "ring_scaling", "mg13")]
    assert errors == pytest.approx([20.5, 16.8, 14.5], abs=0.5)


def test_mg13_needs_the_algorithm(many_gpus):
    with pytest.raises(InputError, match="label column 'algorithm'"):
        SEVERAL_GPUS["mg13"]().fit(many_gpus[0], many_gpus[1], many_gpus[2]["gpu_group"].to_numpy())


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
    fitted = RingScaling().fit(X, seconds, np.repeat(["a", "b"], 30))
    assert fitted.constants_ == pytest.approx([0.02, 1.5, 0.5], rel=1e-3)
    assert fitted.predict(X) == pytest.approx(seconds, rel=1e-4)


def test_mg13_is_the_sum_of_its_documented_parts():
    table = pd.DataFrame(
        {
            "single": [0.1, 0.2, 0.3, 0.4, 0.5], "in_node": [4.0, 8.0, 2.0, 1.0, 4.0],
            "nodes": [1.0, 4.0, 2.0, 8.0, 1.0], "ring": [0.02, 0.2, 0.04, 0.3, 0.3],
            "fabric": [0.0, 0.1, 0.2, 0.3, 0.0], "gradient": [1e8] * 5,
            "link": [_FULL_LINK_BYTE_PER_S / 2] * 3 + [_FULL_LINK_BYTE_PER_S, 1e9],
            "peer": [0.0, 1.0, 0.5, 0.0, 0.0], "tensors": [100.0] * 5, "layers": [50.0] * 5,
        }
    )  # fmt: skip
    algorithms = np.array(["ring", "parameter_server", "mpi", "ring", "data_parallel"])
    k = np.array([0.02, 0.03, 5.0, 0.1, 1.1, 0.7, 0.4, 1.2, 1.5, 40.0, 50.0, 1.3, 35.0])

    def seconds(row, algorithm):
        transfer = row.gradient / row.link
        compute = row.single * (1 + k[0] * np.log2(row.in_node) + k[1] * np.log2(row.nodes))
        relayed = (1.0 if row.peer < 1 else 0.3) * max(row.in_node - 2, 0) * transfer
        relayed *= row.link < _FULL_LINK_BYTE_PER_S
        across = k[7] * row.fabric * (k[8] if algorithm == "parameter_server" else 1.0)
        calls = row.tensors * 1e-6 * (k[9] * np.log2(row.in_node * row.nodes) + k[10] * np.log2(row.nodes))
        shown = (k[4] + k[5] * (1 - row.peer)) * row.ring + k[6] * relayed + across + calls
        if algorithm == "data_parallel":
            copies = k[11] * (row.in_node - 1) * transfer + k[12] * 1e-6 * row.layers * row.in_node
            return compute + k[2] * 1e-3 + shown + copies
        rest = shown - k[3] * compute
        return compute + k[2] * 1e-3 + 0.5 * (rest + np.sqrt(rest**2 + (0.05 * compute) ** 2))

    expected = [seconds(row, name) for row, name in zip(table.itertuples(), algorithms, strict=True)]
    assert _seconds(k, table.to_numpy(), algorithms) == pytest.approx(expected, rel=1e-12)


def test_the_ring_is_fitted_to_several_gpus_whose_single_time_is_known(many_gpus):
    alone = datasets.load("precisions").where(gpu=["K80", "P40", "V100-PCIE-16GB", "P100-PCIE-16GB"])
    X, seconds, labels = (part.iloc[::8] if hasattr(part, "iloc") else part[::8] for part in many_gpus)
    several = labels["gpu_group"].to_numpy(dtype=str)
    own = alone.features().assign(single_gpu_time_s=1.0)  # a time that no ring may be fitted to
    unknown = X.assign(single_gpu_time_s=np.nan)
    groups = np.concatenate([alone.labels()["gpu_group"].to_numpy(dtype=str), several, several])
    times = np.concatenate([alone.seconds, seconds, seconds])
    rows = pd.concat([own, X, unknown], ignore_index=True)
    model = baseline("composed_scaling").make().fit(rows, times, groups)
    ring = RingScaling().fit(X.reset_index(drop=True), seconds, several)
    assert model.ring_.constants_.tolist() == ring.constants_.tolist()
