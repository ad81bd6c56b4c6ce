import numpy as np
import pytest
from trainlaw.datasets import FEATURES, configuration, feature_specs
from trainlaw.datasets.features.run_features import TARGET
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas import Formula, InputError, parse_text
from trainlaw.validate import Calibration, calibrate, run_study, splits_by_name
from trainlaw.validate.baselines import named_baselines
from trainlaw.validate.calibration import anchor_errors

NAMES = ("total_compute_s", "activation_memory_s", "layer_launch_s")
FORMULA = Formula(
    parse_text("2 * total_compute_s + 3 * activation_memory_s + layer_launch_s"), feature_specs(NAMES), TARGET
)


def columns(n_runs, seed=0):
    random = np.random.default_rng(seed)
    return {name: 10.0 ** random.uniform(-3, -1, n_runs) for name in NAMES}


def test_many_runs_find_the_factors_of_a_gpu():
    known = columns(200)
    slow = Calibration(compute_factor=1.5, memory_factor=0.7)
    found = calibrate(FORMULA.predict, known, FORMULA.predict(slow.apply(known)))
    assert found.compute_factor == pytest.approx(1.5, rel=0.02)
    assert found.memory_factor == pytest.approx(0.7, rel=0.02)


def test_one_run_moves_the_factors_part_of_the_way():
    known = {name: values[:1] for name, values in columns(1).items()}
    found = calibrate(FORMULA.predict, known, 1.5 * FORMULA.predict(known))
    after = FORMULA.predict(found.apply(known))[0] / FORMULA.predict(known)[0]
    assert 1.1 < after < 1.5


def test_runs_as_predicted_keep_the_nominal_rates():
    known = columns(20)
    found = calibrate(FORMULA.predict, known, FORMULA.predict(known))
    assert (found.compute_factor, found.memory_factor) == pytest.approx((1.0, 1.0), abs=1e-6)


def test_a_formula_without_a_time_cannot_be_calibrated():
    with pytest.raises(InputError, match="no finite, positive time"):
        calibrate(lambda known: -FORMULA.predict(known), columns(3), np.ones(3))


def test_every_feature_comes_out_as_for_a_gpu_with_these_rates():
    """Fails for a feature that is derived from rates in a way that `Calibration` does not know."""
    run = {"cnn": "resnet50", "batch_per_gpu": 32}
    # One is measured, not derived; the other is what the data sheet allows, whatever a GPU achieves.
    names = [name for name in FEATURES if name not in (SINGLE_GPU_TIME, "least_time_s")]
    plain = configuration(gpu="T4", **run).features(names)
    other = configuration(gpu="T4 with 0.5x peak, 4x bandwidth", **run).features(names)
    calibrated = Calibration(compute_factor=2.0, memory_factor=0.25).apply(plain)
    for name in names:
        assert calibrated[name] == pytest.approx(other[name].to_numpy(), rel=1e-9), name


@pytest.fixture(scope="module")
def study(few_runs):
    splits = splits_by_name("gpu", few_runs.labels)
    estimators = named_baselines("cf9", "null_memory")
    return run_study(few_runs.X, few_runs.seconds, few_runs.labels, splits, estimators)


def test_measured_runs_lower_the_error_on_a_new_gpu(few_runs, study):
    table = anchor_errors(study, "cf9", few_runs.X, n_anchors=(0, 3), draws=3)
    macro = table.groupby("n_anchors")["mape_percent"].mean()
    assert macro[3] < macro[0] - 1.0
    by_gpu = study.errors_by("gpu_group")
    alone = by_gpu[by_gpu["estimator"] == "cf9"].set_index("gpu_group")["mape_percent"]
    zero = table[table["n_anchors"] == 0].set_index("split")["mape_percent"]
    assert zero.to_dict() == pytest.approx(alone.to_dict(), rel=1e-9)


def test_anchors_are_never_evaluated_and_draws_are_repeatable(few_runs, study):
    tables = [
        anchor_errors(study, "cf9", few_runs.X, n_anchors=(5,), draws=2, seed=seed) for seed in (1, 1, 2)
    ]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])
    small = {name for name, size in study.predictions["split"].value_counts().items() if size <= 5}
    assert small
    assert not small & set(tables[0]["split"])


def test_an_estimator_without_formulas_cannot_be_calibrated(few_runs, study):
    with pytest.raises(InputError, match="has no formula"):
        anchor_errors(study, "null_memory", few_runs.X)
