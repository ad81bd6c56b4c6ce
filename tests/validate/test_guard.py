import numpy as np
import pandas as pd
import pytest
from trainlaw.formulas import InputError
from trainlaw.validate import LeakError, Split, leave_one_group_out, run_study
from trainlaw.validate.guard import IDENTITY_COLUMNS, _statistics, check_features, check_fold

from ..rows import each_row
from .blind import assert_blind


class Line:
    """No leak: time in proportion to the first column, scaled by statistics of the training rows."""

    def fit(self, X, y, groups):
        self.centre_ = X.to_numpy().mean(axis=0)
        self.slope_ = float(np.median(y / X.iloc[:, 0].to_numpy()))
        return self

    def predict(self, X):
        return self.slope_ * X.iloc[:, 0].to_numpy()


def study(toy, factory, **changes):
    X, labels = changes.get("X", toy.X), changes.get("labels", toy.labels)
    splits = changes.get("splits") or leave_one_group_out(toy.labels["gpu_group"])
    return run_study(X, toy.seconds, labels, splits, {"model": factory})


def test_an_honest_estimator_passes(toy):
    assert study(toy, Line).summary()["mape_percent"].item() == pytest.approx(1.0, abs=0.5)


@each_row("name", sorted(IDENTITY_COLUMNS))
def test_identity_columns_never_pass_as_features(toy, name):
    with pytest.raises(LeakError, match="identifies the run"):
        study(toy, Line, X=toy.X.assign(**{name: 1.0}))


def test_names_and_the_target_never_pass_as_features(toy):
    with pytest.raises(InputError, match="expected numbers"):
        study(toy, Line, X=toy.X.assign(gpu_name="A100"))
    for disguise in (toy.seconds, 3.0 * toy.seconds, 1.0 / toy.seconds):
        with pytest.raises(LeakError, match="measured time in disguise"):
            check_features(pd.DataFrame({"speed": disguise}), toy.seconds)


@pytest.mark.parametrize("ddof", [0, 1])
def test_columns_scaled_over_all_rows_are_caught(toy, ddof):
    batch = toy.X["macs"] + 0.1 * toy.X["batch_per_gpu"]
    scaled = (batch - batch.mean()) / batch.std(ddof=ddof)
    with pytest.raises(LeakError, match="standardised over all rows"):
        study(toy, Line, X=toy.X.assign(macs=scaled))


class PrefittedScaler(Line):
    """Planted leak: its scaler was fitted to all rows."""

    scaler = None

    def __init__(self):
        self.scaler = PrefittedScaler.scaler


@pytest.mark.parametrize("ddof", [0, 1])
def test_a_scaler_fitted_on_all_rows_is_caught(toy, ddof):
    PrefittedScaler.scaler = [toy.X.mean().to_numpy(), toy.X.std(ddof=ddof).to_numpy()]
    with pytest.raises(LeakError, match=r"before fit.*over all rows.*fit scalers on the training rows"):
        study(toy, PrefittedScaler)


def test_sklearns_scaler_fitted_on_all_rows_is_caught_in_a_closure(toy):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    scaler = preprocessing.StandardScaler().fit(np.log(toy.X))

    class Pipeline(Line):
        def __init__(self):  # the closure holds the scaler
            self.transform = lambda X: scaler.transform(np.log(X))

    with pytest.raises(LeakError, match="over all rows"):
        study(toy, Pipeline)


class KnowsAll(Line):
    """Planted leak: a constant per GPU, including the held-out one."""

    def fit(self, X, y, groups):
        self.factor_of_gpu_ = {f"gpu{index}": 1.0 for index in range(5)}
        return super().fit(X, y, groups)


def test_a_grouped_constant_of_the_held_out_gpu_is_caught(toy):
    with pytest.raises(LeakError, match="after fit, the estimator knows the held-out key 'gpu0'"):
        study(toy, KnowsAll)


class Transductive(Line):
    """Planted leak: scales by the rows to predict."""

    def predict(self, X):
        return super().predict(X) * (1.0 + 1e-3 * X.iloc[:, 0].mean())


@pytest.mark.parametrize(("rows", "deviation"), [([1.0, 3.0], 2**0.5), ([2.0], 0.0)])
@pytest.mark.filterwarnings("error")
def test_the_fewest_rows_have_a_sample_deviation(rows, deviation):
    assert deviation in _statistics(np.array([rows]).T, np.array(rows))


def test_learning_from_the_predicted_rows_is_caught(toy):
    with pytest.raises(LeakError, match="depends on other test rows"):
        study(toy, Transductive)


def test_a_split_that_leaves_its_key_in_training_is_caught(toy):
    gpu0 = np.flatnonzero(toy.labels["gpu_group"] == "gpu0")
    others = np.setdiff1d(np.arange(len(toy.X)), gpu0)
    leaky = leave_one_group_out(["x" if row == gpu0[0] else "y" for row in range(len(toy.X))])[0]
    split = type(leaky)("leaky", np.append(others, gpu0[1:]), gpu0[:1], ("gpu0",))
    with pytest.raises(LeakError, match="held-out gpu_group 'gpu0' is also in training"):
        study(toy, Line, splits=[split])
    with pytest.raises(InputError, match="no test row has the label 'gpu9'"):
        check_fold(type(leaky)("strange", others, gpu0, ("gpu9",)), toy.labels)


def test_a_key_may_also_name_something_that_is_in_training(toy):
    """As an architecture of a family of the same name, which has another architecture."""
    gpu0 = np.flatnonzero(toy.labels["gpu_group"] == "gpu0")
    others = np.setdiff1d(np.arange(len(toy.X)), gpu0)
    labels = toy.labels.assign(family="gpu0")
    split = Split("one", others, gpu0, ("gpu0",))
    check_fold(split, labels)
    with pytest.raises(LeakError, match="held-out family 'gpu0' is also in training"):
        check_fold(split, labels[["family"]])


def procedure(prepare):
    """A custom study: `prepare` sees everything, then a line is fitted to the training rows."""

    def run(X, seconds, labels, split):
        table, target = prepare(X, seconds, labels, split)
        model = Line().fit(table.iloc[split.train], target[split.train], None)
        return model.predict(table.iloc[split.test])

    return run


def scaled_on_all(X, seconds, labels, split):
    return 1.0 + (X - X.min()) / X.std(), seconds


def scaled_on_training(X, seconds, labels, split):
    return 1.0 + (X - X.iloc[split.train].min()) / X.iloc[split.train].std(), seconds


def weighted_by_all_times(X, seconds, labels, split):
    return X, seconds / seconds.mean()


def shifted_by_labels(X, seconds, labels, split):
    return X + (labels["gpu_group"] == split.held_out[0]).sum(), seconds


@pytest.mark.parametrize("leak", [scaled_on_all, weighted_by_all_times, shifted_by_labels])
def test_a_leaky_procedure_is_not_blind(toy, leak):
    split = leave_one_group_out(toy.labels["gpu_group"])[0]
    with pytest.raises(AssertionError, match="replaced by nonsense"):
        assert_blind(procedure(leak), toy.X, toy.seconds, toy.labels, split)


def test_an_honest_procedure_is_blind(toy):
    for split in leave_one_group_out(toy.labels["gpu_group"]):
        assert_blind(procedure(scaled_on_training), toy.X, toy.seconds, toy.labels, split)


@pytest.mark.parametrize(("spread", "is_leak"), [(0.9e-3, False), (1.1e-3, True)])
def test_nearly_equal_times_identify_nothing(spread, is_leak):
    """Every nearly constant feature is proportional to them."""
    seconds = np.exp(np.array([0.0, 0.0, spread]))
    if not is_leak:
        check_features(pd.DataFrame({"speed": seconds}), seconds)
        return
    with pytest.raises(LeakError, match="in disguise"):
        check_features(pd.DataFrame({"speed": seconds}), seconds)
