"""The functions over arrays: numpy, torch, and JAX, for which numpy stands in where it is not installed."""

import sys
import types

import numpy as np
import pytest
from trainlaw.formulas import parse_text, variables
from trainlaw.formulas.printers import print_jax_function, print_numpy_function, print_torch_function

PRINTED = {
    "numpy": print_numpy_function,
    "torch": print_torch_function,
    "jax": print_jax_function,
}


@pytest.fixture(params=PRINTED)
def load(request, monkeypatch):
    """A function that returns the printed function of an expression, over and to numpy arrays."""
    if request.param == "torch":
        pytest.importorskip("torch")
    if request.param == "jax":
        stand_in = types.ModuleType("jax")
        stand_in.numpy = np
        monkeypatch.setitem(sys.modules, "jax", stand_in)
        monkeypatch.setitem(sys.modules, "jax.numpy", np)

    def loaded(item):
        module = types.ModuleType("printed")
        exec(compile(PRINTED[request.param](item), "printed", "exec"), module.__dict__)
        return lambda *columns: np.asarray(module.predict(*columns))

    return loaded


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_printed_functions_compute_the_same(many_expressions, points, judge, load):
    compared = []
    for item in many_expressions:
        values = load(item)(*(points[name] for name in variables(item)))
        compared.append(judge(item, np.broadcast_to(values, 60)))
    assert np.sum(compared, axis=0)[0] > 5000


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "text", ["x + 1 / 0", "(1 / 0) ^ 0 * x", "max(log(-1), x)", "x * 1e308 * (1e308 * 10)"]
)
def test_constants_that_are_not_finite(text, load):
    assert np.isnan(load(parse_text(text))(np.array([2.0]))).all()


def test_gradients_pass_through_torch():
    torch = pytest.importorskip("torch")
    space = {}
    exec(compile(print_torch_function(parse_text("x^2 * max(y, 1)")), "printed", "exec"), space)
    x = torch.tensor([3.0], requires_grad=True)
    space["predict"](x, 2.0).backward()
    assert x.grad.tolist() == [12.0]
