import subprocess
import sys

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings, regressor

from ..commands import output

# A search in a new process, which loads what the warm-up compiled: nothing is compiled for other types.
_SEARCH = """
import numpy as np
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.machine.batch import fit_some
from trainlaw.evolve.machine.moves import grow_tree, vary_trees
from trainlaw.evolve.regressor import compile_machine
from trainlaw.evolve.search import selection, trees

compile_machine()
of_selection = selection._filter_draws, selection._number_fronts
compiled = [fit_some, vary_trees, grow_tree, *of_selection, trees._structure_keys]
before = [len(function.signatures) for function in compiled]
X = np.random.default_rng(1).uniform(1.0, 2.0, (80, 3))
FormulaRegressor(settings=SearchSettings(evaluations=50, population=20)).fit(X, X[:, 0] + X[:, 1])
same = before == [len(function.signatures) for function in compiled] and min(before) > 0
print(same, sum(sum(function.stats.cache_misses.values()) for function in compiled))
"""


def test_after_a_warm_up_nothing_is_compiled():
    assert output("warmup").startswith("compiled code is ready")
    done = subprocess.run([sys.executable, "-c", _SEARCH], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True 0"


@pytest.mark.filterwarnings("error")
def test_a_limit_of_time_does_not_count_compilation(monkeypatch):
    """A first search of two seconds, in a new installation, would otherwise end before its first formula."""
    monkeypatch.setattr(regressor, "compile_machine", lambda: 1000.0)
    X = np.random.default_rng(1).uniform(1.0, 2.0, (80, 3))
    y = np.sin(X[:, 0]) / X[:, 1] + np.exp(-X[:, 2] * X[:, 0])
    settings = SearchSettings(evaluations=600, limit_seconds=1e-3)
    assert FormulaRegressor(settings=settings).fit(X, y).evaluations_ >= 300
