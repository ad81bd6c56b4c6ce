import numpy as np
import pytest
from trainlaw.datasets import load
from trainlaw.datasets.measurements.end_points import (
    BATCH,
    END_POINT_FEATURES,
    PIXELS,
    runs_between_end_points,
)
from trainlaw.formulas.errors import UnknownNameError
from trainlaw.validate.baselines.anchors import PolynomialScaler


@pytest.fixture(scope="module")
def runs():
    return load("fp32-2026").where(source="profet")


@pytest.mark.parametrize(("along", "count"), [(BATCH, 737), (PIXELS, 707)])
def test_runs_lie_between_their_ends(runs, along, count):
    found = runs_between_end_points(runs, along)
    assert len(found.X) == len(found.seconds) == len(found.labels) == count
    assert list(found.X) == [spec.name for spec in END_POINT_FEATURES]
    assert found.X["position"].between(0, 1, inclusive="neither").all()
    assert (found.X["low_time_s"] > 0).all() and np.isfinite(found.X.to_numpy()).all()
    assert 0 < found.whole.sum() < count


def test_ends_are_those_of_the_series(runs):
    series = runs.where(gpu="T4", cnn="vgg16_profet", input_size_px=64)
    found = runs_between_end_points(series, BATCH)
    frame = series.frame.sort_values("batch_per_gpu")
    assert len(found.X) == len(frame) - 2
    assert (found.X["low_time_s"] == frame["time_s"].iloc[0]).all()
    assert (found.X["high_time_s"] == frame["time_s"].iloc[-1]).all()
    assert found.seconds.tolist() == frame["time_s"].iloc[1:-1].tolist()


def test_a_straight_series_is_met_by_the_line(runs):
    frame = runs.where(gpu="T4", cnn="lenet5", input_size_px=64).frame
    straight = frame.assign(time_s=0.01 + 1e-4 * frame["batch_per_gpu"])
    found = runs_between_end_points(type(runs)("straight", straight), BATCH)
    assert found.X["line_by_area_s"].to_numpy() == pytest.approx(found.seconds)
    fitted = PolynomialScaler().fit(found.X, found.seconds, np.zeros(len(found.X)))
    assert fitted.bend_ == pytest.approx(0.0, abs=1e-9)
    assert fitted.predict(found.X) == pytest.approx(found.seconds)


def test_another_way_is_refused(runs):
    with pytest.raises(UnknownNameError, match="batch"):
        runs_between_end_points(runs, "epochs")
