import pytest
from trainlaw.datasets import FEATURES, configuration
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas import InputError
from trainlaw.validate import run_study, splits_by_name
from trainlaw.validate.baselines import named_baselines
from trainlaw.validate.levels import anchor_errors, at_rates


def test_every_feature_comes_out_as_for_a_gpu_with_these_rates():
    """Fails for a feature that is derived from rates in a way that `at_rates` does not know."""
    run = {"cnn": "resnet50", "batch_per_gpu": 32}
    # Measured, not derived; what the data sheet allows, whatever a GPU achieves; a maximum of two rates.
    others = (SINGLE_GPU_TIME, "least_time_s", "forward_least_s", "conv_excess_s")
    names = [name for name in FEATURES if name not in others]
    plain = configuration(gpu="T4", **run).features(names)
    other = configuration(gpu="T4 with 0.5x peak, 4x bandwidth", **run).features(names)
    calibrated = at_rates(plain, compute=2.0, memory=0.25)
    for name in names:
        assert calibrated[name] == pytest.approx(other[name].to_numpy(), rel=1e-9), name


@pytest.fixture(scope="module")
def study(few_runs):
    splits = splits_by_name("gpu", few_runs.labels)
    estimators = named_baselines("cf9", "null_compute")
    return run_study(few_runs.X, few_runs.seconds, few_runs.labels, splits, estimators)


@pytest.mark.slow
def test_measured_runs_lower_the_error_on_a_new_gpu(few_runs, study):
    table = anchor_errors(study, "cf9", few_runs.X, n_anchors=(0, 3), draws=3)
    macro = table.groupby("n_anchors")["mape_percent"].mean()
    assert macro[3] < macro[0] - 1.0
    by_gpu = study.errors_by("gpu_group")
    alone = by_gpu[by_gpu["estimator"] == "cf9"].set_index("gpu_group")["mape_percent"]
    zero = table[table["n_anchors"] == 0].set_index("split")["mape_percent"]
    assert zero.to_dict() == pytest.approx(alone.to_dict(), rel=1e-9)


@pytest.mark.slow
def test_anchors_are_never_evaluated_and_draws_are_repeatable(few_runs, study):
    tables = [
        anchor_errors(study, "cf9", few_runs.X, n_anchors=(5,), draws=2, seed=seed) for seed in (1, 1, 2)
    ]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])
    small = {name for name, size in study.predictions["split"].value_counts().items() if size <= 5}
    assert small
    assert not small & set(tables[0]["split"])


@pytest.mark.slow
def test_an_estimator_without_formulas_cannot_be_calibrated(few_runs, study):
    with pytest.raises(InputError, match="has no formula"):
        anchor_errors(study, "null_compute", few_runs.X)
