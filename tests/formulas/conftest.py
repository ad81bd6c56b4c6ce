"""Random expressions over all operators: `st.from_type(Apply)`, and `random_expressions` in bulk."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from trainlaw.formulas import OPERATORS, Apply, Constant, FeatureSpec, Formula, Unit, Variable, parse_text

settings.register_profile("formulas", deadline=None, max_examples=80, derandomize=True)
settings.load_profile("formulas")

NAMES = ("x", "y", "z")
numbers = st.one_of(
    st.integers(-5, 5).map(float), st.floats(-1e3, 1e3), st.floats(allow_nan=False, allow_infinity=False)
)
leaves = st.one_of(st.builds(Variable, st.sampled_from(NAMES)), st.builds(Constant, numbers))


def applied(inner):
    """Any operator over arguments drawn from `inner`."""
    return st.sampled_from(list(OPERATORS.values())).flatmap(
        lambda row: st.builds(Apply, st.just(row.name), st.tuples(*[inner] * row.arity))
    )


st.register_type_strategy(Apply, applied(st.recursive(leaves, applied, max_leaves=10)))


def random_expression(generator, size):
    """A random expression of about `size` nodes."""
    if size <= 1:
        if generator.random() < 0.6:
            return Variable(str(generator.choice(NAMES)))
        scale = generator.choice([1.0, 1.0, 10.0, 1e6])
        return Constant(float(np.round(generator.normal() * scale, generator.integers(0, 6))))
    row = list(OPERATORS.values())[generator.integers(len(OPERATORS))]
    share = (size - 1) // row.arity
    return Apply(row.name, tuple(random_expression(generator, share) for _ in range(row.arity)))


@pytest.fixture(scope="session")
def random_expressions():
    """Return `count` random expressions, the same in every run, every operator at the root at least once."""

    def make(count, seed=0):
        generator = np.random.default_rng(seed)
        expressions = [random_expression(generator, int(generator.integers(2, 24))) for _ in range(count)]
        for index, row in enumerate(OPERATORS.values()):
            arguments = tuple(random_expression(generator, 4) for _ in range(row.arity))
            expressions[index] = Apply(row.name, arguments)
        return expressions

    return make


def small_law():
    """A small formula with units: compute time plus memory time."""
    specs = (
        FeatureSpec("macs", "M", Unit.parse("MAC/sample"), "multiply-accumulates of one image", low=0),
        FeatureSpec("batch", "b", Unit.parse("sample"), "images per iteration", low=1),
        FeatureSpec("peak", "P", Unit.parse("FLOP/s"), "peak rate", "data sheet", low=0),
        FeatureSpec("traffic", "A", Unit.parse("B"), "bytes moved", low=0),
        FeatureSpec("bandwidth", "B", Unit.parse("B/s"), "memory rate", low=0),
    )
    return Formula(
        expression=parse_text("6.12345 * batch * macs / peak + 2.5 * traffic / bandwidth + 0.001"),
        features=specs,
        target=FeatureSpec("time_s", "t", Unit.parse("s"), "time of one iteration"),
        ranges={"batch": (1, 256), "macs": (1e8, 2e10)},
        provenance={"data_sha256": "ab12", "version": "0.1.0"},
        errors={"macro_mape_percent": 15.5},
    )


law = pytest.fixture(small_law, name="law")
