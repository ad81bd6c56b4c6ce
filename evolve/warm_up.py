"""Compile the machine before it is needed, for an image of a container or a first run without waiting."""

import time

import numpy as np
from trainlaw.evolve.regressor import FormulaRegressor
from trainlaw.evolve.settings import SearchSettings


def compile_machine() -> float:
    """Compile everything and keep it on disk, by a search on a small table; return the seconds spent."""
    began = time.monotonic()
    columns = np.random.default_rng(0).uniform(1.0, 2.0, (60, 2))
    settings = SearchSettings(evaluations=60, population=20, polish_steps=5)
    FormulaRegressor(settings=settings).fit(columns, columns[:, 0] * columns[:, 1], np.arange(60) % 3)
    return time.monotonic() - began
