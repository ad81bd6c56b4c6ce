"""The baseline of the time on a target GPU from that on an anchor GPU."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import load
from trainlaw.formulas import InputError
from trainlaw.validate.baselines import baseline


def test_ratios_of_rates_find_the_planted_constant_from_pairs_alone():
    pairs = load("profet-pairs")
    X = pairs.features(["anchor_time_s", "peak_flop_per_s", "anchor_peak_flop_per_s"])
    rate = "peak_flop_per_s"
    seconds = (1.7 * X["anchor_time_s"] * X[f"anchor_{rate}"] / X[rate]).to_numpy(copy=True)
    alone = X.assign(**{f"anchor_{rate}": X[rate]})  # each run is its own anchor
    both, times = pd.concat([X, alone]), np.concatenate([seconds, X["anchor_time_s"].to_numpy()])
    fitted = baseline("anchor_peak_ratio").make().fit(both, times, np.zeros(len(both)))
    assert fitted.predict(X) == pytest.approx(seconds)
    # Runs that are their own anchors say nothing of two GPUs: the ratio is that of the rates.
    unknown = baseline("anchor_peak_ratio").make().fit(alone, times[len(X) :], np.zeros(len(X)))
    assert unknown.predict(X) == pytest.approx(seconds / 1.7)
    with pytest.raises(InputError, match="anchor_peak_flop_per_s"):
        fitted = baseline("anchor_peak_ratio").make().fit(X[["anchor_time_s"]], seconds, seconds)
