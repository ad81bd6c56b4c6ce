import numpy as np
from trainlaw.datasets import FEATURES, load
from trainlaw.datasets.features.work import EXPECTED_WEIGHTS, resources, works
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas.algebra.units import DIMENSIONLESS


def test_weights_follow_from_rules_but_for_two_exceptions_with_reasons():
    rows = {row["name"]: row for row in read_data_rows("work.csv")}
    exceptions = [name for name, row in rows.items() if "weight" in row]
    assert len(exceptions) <= 2 and all("reason" in rows[name] for name in exceptions)
    for work in works():
        if work.name not in exceptions:
            assert work.expected == EXPECTED_WEIGHTS[rows[work.name]["rule"]]


def test_each_resource_has_work_and_factors_of_pure_numbers():
    assert {work.resource for work in works()} == set(resources())
    for row in (row for rows in resources().values() for row in rows):
        assert FEATURES[row["feature"]].spec.unit == DIMENSIONLESS
        assert float(row["low"]) <= float(row["expected"]) <= float(row["high"])
        assert row["reason"]


def test_each_amount_of_work_occurs_on_three_groups_of_gpus():
    """Where fewer had some, its weight would be the rule's, and the rule could not be measured."""
    table = load("default")
    groups = table.labels()["gpu_group"].to_numpy()
    # Of old software on one GPU, and in no prediction.
    for work in (work for work in works() if work.name != "grouped_slow_simt_s"):
        amounts = table.matrix([work.name])[:, 0]
        assert amounts.min() >= 0.0
        assert len(np.unique(groups[amounts > 0.0])) >= 3, work.name


def test_only_old_software_has_slow_grouped_convolutions():
    table = load("default")
    slow = table.frame[table.matrix(["is_slow_grouped"])[:, 0] > 0.0]
    assert set(slow["framework_version"]) == {"1.10 (CUDA 11.3)", "1.11 (CUDA 11.3)"}
    assert set(slow["layout"]) == {"channels_last"}
