"""Third-party engines: the missing package is named, an installed one fits."""

import numpy as np
import pytest
from trainlaw.formulas import MissingDependencyError
from trainlaw.validate.baselines import baselines_for

ENGINES = baselines_for("run", "engine")


@pytest.mark.parametrize("name", ENGINES)
def test_without_the_package_the_command_is_named(name, monkeypatch):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr("trainlaw.formulas.errors.import_module", absent)
    with pytest.raises(MissingDependencyError, match=rf"needs the package {name}.*trainlaw\[peers\]"):
        ENGINES[name]()


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_fits_the_built_in_runs(name, few_runs):
    pytest.importorskip(name)
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    predicted = ENGINES[name]().fit(few_runs.X, few_runs.seconds, groups).predict(few_runs.X)
    assert (predicted > 0).all()
    assert np.median(np.abs(np.log(predicted / few_runs.seconds))) < 0.8
