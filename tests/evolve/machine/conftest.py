from collections.abc import Callable

import numpy as np
import pytest
from trainlaw.evolve.machine import arrays, evaluation, fitting, kernels, moves
from trainlaw.evolve.machine.arrays import Programs, Rows, make_rows


@pytest.fixture
def programs_of() -> Callable[..., Programs]:
    """A function that makes programs from pairs of tokens and constants."""

    def make(*sources, lower=-np.inf, upper=np.inf, pull=0.0, centre=0.0, scaling=False):
        tokens = [np.array(tokens, np.int64) for tokens, _ in sources]
        constants = [np.array(values, np.float64) for _, values in sources]
        theta = np.concatenate([*constants, np.zeros(0)])
        return Programs(
            np.concatenate(tokens),
            np.cumsum([0, *map(len, tokens)]),
            theta,
            np.full(theta.size, lower),
            np.full(theta.size, upper),
            np.full(theta.size, scaling),
            np.full(theta.size, pull),
            np.full(theta.size, centre),
            np.cumsum([0, *map(len, constants)]),
        )

    return make


@pytest.fixture
def plain_rows() -> Callable[..., Rows]:
    """A function that makes rows of weight one, by default of one group and with squares as the loss."""

    def make(columns, y, group=None, **form):
        n = y.size
        group = np.zeros(n, np.int64) if group is None else group
        return make_rows(columns, y, np.ones(n), np.ones(n), group, **({"logarithmic": False} | form))

    return make


@pytest.fixture
def interpreted(monkeypatch) -> None:
    """Run the functions of the machine as plain Python: compiling one for a call from a test takes long."""
    for module in (arrays, kernels, evaluation, fitting, moves):
        for name, value in list(vars(module).items()):
            original = getattr(value, "py_func", None)
            # The elementary functions are compiled for scalars in a moment, and cannot be interpreted.
            if original is not None and not original.__module__.endswith("vector_maths"):
                monkeypatch.setattr(module, name, original)
