"""The symbolic regressions of others: named when absent, run when present."""

import numpy as np
import pytest
from trainlaw.formulas import MissingDependencyError
from trainlaw.validate import PEER_BASELINES
from trainlaw.validate.baselines import inputs


@pytest.mark.parametrize("name", PEER_BASELINES)
def test_without_the_package_the_command_is_named(name, monkeypatch):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr(inputs, "import_module", absent)
    with pytest.raises(MissingDependencyError, match=rf"{name} is not installed.*trainlaw\[peers\]"):
        PEER_BASELINES[name]()


@pytest.mark.slow
@pytest.mark.parametrize("name", PEER_BASELINES)
def test_a_peer_fits_the_built_in_runs(name, few_runs):
    pytest.importorskip(name)
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    predicted = PEER_BASELINES[name]().fit(few_runs.X, few_runs.seconds, groups).predict(few_runs.X)
    assert (predicted > 0).all()
    assert np.median(np.abs(np.log(predicted / few_runs.seconds))) < 0.8
