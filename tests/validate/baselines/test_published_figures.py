"""The error figures of the project's accuracy notes, on the same rows and groups, within one point.

They were computed by hand before the project existed; where ours differ by more, a comment says why.
"""

from functools import partial

import pytest
from trainlaw.validate import run_study, splits_by_name
from trainlaw.validate.baselines import baseline, baselines_for

# MAPE, median APE and macro over GPU groups, percent; leave one GPU group out.
NEW_GPU = {
    "null_compute": (92, 73, 99),
    "null_memory": (53, 49, 60),
    "roofline": (38.8, 35.9, 36.8),
    "nonnegative_linear": (32.4, 27.9, 20.7),
    "cf5 x harness": (26.6, 21.3, 17.0),
    "cf9 x harness": (23.4, 17.5, 15.8),
    "cf21": (23.1, 17.1, 16.8),
    "cf21 x harness": (23.5, 17.3, 17.0),
    # The nine features were not recorded; with ours the macro is 2.1 points higher.
    "power_law": (46.9, 44.5, 40.8),
}

# MAPE and median APE, percent; leave one base CNN out.
NEW_CNN = {
    "null_compute": (95, 74),
    "null_memory": (50, 45),
    "roofline": (33.2, 28.4),
    # The nineteen terms were not recorded; with ours the error is 1.5 points lower (noted: 29.5).
    "nonnegative_linear": (28.0, 23.2),
    "cf5 x harness": (19.2, 14.4),
    "cf9 x harness": (16.1, 12.3),
    "cf21": (16.6, 11.9),
    "cf21 x harness": (17.4, 12.3),
    "power_law": (32.7, 26.7),
}
ESTIMATORS = {
    **baselines_for("run"),
    **{
        f"{name} x harness": partial(baseline(name).make, harness_constants=True)
        for name in ("cf5", "cf9", "cf21")
    },
}
pytestmark = pytest.mark.slow

COLUMNS = ["mape_percent", "median_ape_percent", "macro_gpu_group_mape_percent"]


def summary(runs, scheme, names):
    splits = splits_by_name(scheme, runs.labels)
    estimators = {name: ESTIMATORS[name] for name in names}
    return run_study(runs.X, runs.seconds, runs.labels, splits, estimators).summary().set_index("estimator")


@pytest.fixture(scope="module")
def new_gpu(runs):
    return summary(runs, "gpu", NEW_GPU)


@pytest.fixture(scope="module")
def new_cnn(runs):
    return summary(runs, "cnn", NEW_CNN)


@pytest.mark.parametrize("name", NEW_GPU)
def test_leave_one_gpu_out(new_gpu, name):
    assert new_gpu.loc[name, COLUMNS].tolist() == pytest.approx(NEW_GPU[name], abs=1.0)


@pytest.mark.parametrize("name", NEW_CNN)
def test_leave_one_cnn_out(new_cnn, name):
    assert new_cnn.loc[name, COLUMNS[:2]].tolist() == pytest.approx(NEW_CNN[name], abs=1.0)


def test_the_closed_forms_pick_the_faster_gpu(new_cnn):
    assert new_cnn.loc["cf21", "faster_gpu_percent"] > 98
