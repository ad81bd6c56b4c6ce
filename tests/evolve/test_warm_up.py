import os
import subprocess
import sys
import time

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, regressor

_SEARCH = """
import numpy as np
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.machine.batch import fit_some
from trainlaw.evolve.search import selection, trees

X = np.random.default_rng(1).uniform(1.0, 2.0, (80, 3))
FormulaRegressor(settings=SearchSettings(evaluations=50, population=20)).fit(X, X[:, 0] + X[:, 1])
compiled = [fit_some, selection._lexicase, selection._fronts, trees._structure_keys]
print([sum(function.stats.cache_misses.values()) for function in compiled])
"""


@pytest.mark.slow
def test_after_a_warm_up_nothing_is_compiled(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def output_of(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    command = "from trainlaw.app.cli import app; app(['warmup'])"
    assert output_of("-c", command).startswith("compiled code is ready")
    assert output_of("-c", _SEARCH).strip() == "[0, 0, 0, 0]"


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_a_limit_of_time_does_not_count_compilation(monkeypatch):
    """A first search of two seconds, in a new installation, would otherwise end before its first formula."""

    def compiled(compile_machine=regressor.compile_machine):
        began = time.monotonic()
        compile_machine()
        time.sleep(3.0)
        return time.monotonic() - began

    monkeypatch.setattr(regressor, "compile_machine", compiled)
    X = np.random.default_rng(1).uniform(1.0, 2.0, (80, 3))
    y = np.sin(X[:, 0]) / X[:, 1] + np.exp(-X[:, 2] * X[:, 0])
    FormulaRegressor(limit_seconds=2.0, random_seed=0).fit(X, y)
