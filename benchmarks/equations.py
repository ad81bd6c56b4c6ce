"""Unseen equations in the style of physics texts: made from a seed, so that no setting can be fitted to them.

Settings are chosen on the equations of one seed. Those of another test them, with forms that the first
has not.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec

from benchmarks.problems import BenchmarkProblem, Ranges, make_problem

# Seeds of the equations that settings may be chosen on, and of those that test them.
TUNING_SEED, TEST_SEED = 1, 2
NAMES = "a b c d f g h k m".split()
CONSTANTS = ("1", "1", "0.5", "2", "3", "0.25", "12.566370614359172", "0.3989422804014327", "1.5")
# A form returns the text of an equation in features of the names that are left, and their ranges.
Form = Callable[[Random], tuple[str, Ranges]]


def _wide(names: str, low: float = 1.0, high: float = 5.0) -> Ranges:
    return {name: (low, high) for name in names.split()}


def _powers(random: Random, names: str) -> str:
    """Return a product and quotient of powers of the named features, times a constant."""
    text = random.choice(CONSTANTS)
    for name in names.split():
        exponent = random.choice(("", "", "", "^2", "^3", "^0.5"))
        text += f" {random.choice('*/')} {name}{exponent}"
    return text


def _product(random: Random) -> tuple[str, Ranges]:
    names = " ".join(NAMES[: random.randint(3, 6)])
    return _powers(random, names), _wide(names)


def _log_ratio(random: Random) -> tuple[str, Ranges]:
    return f"{_powers(random, 'a b c')} * log(d / f)", _wide("a b c d f")


def _boltzmann(random: Random) -> tuple[str, Ranges]:
    inner = random.choice(("b / c", "b * d / c", "b * d * f / (c * g)", "b * d^2 / (2 * c)"))
    names = "a " + " ".join(name for name in NAMES[1:] if name in inner)
    return f"{_powers(random, 'a')} * exp(-({inner}))", _wide(names, 1.0, 3.0)


def _bose(random: Random) -> tuple[str, Ranges]:
    return f"{_powers(random, 'a')} / (exp(b * c / (d * f)) - 1)", _wide("a b c d f", 1.0, 4.0)


def _distance(random: Random) -> tuple[str, Ranges]:
    pairs = ["square(a - b)", "square(c - d)", "square(f - g)"][: random.randint(2, 3)]
    ranges = _wide("a c f", 3.0, 5.0) | _wide("b d g", 1.0, 2.0)
    kept = {name: ranges[name] for name in sorted(ranges) if any(name in pair for pair in pairs)}
    inner = " + ".join(pairs)
    form = random.choice(("sqrt({})", "h * k * m / ({})", "h * sqrt({})", "h / sqrt({})"))
    return form.format(inner), kept | {n: (1.0, 2.0) for n in "hkm" if n in form.replace("sqrt", "")}


def _relativistic(random: Random) -> tuple[str, Ranges]:
    form = random.choice(
        ("a / sqrt(1 - b^2 / c^2)", "a * c^2 / sqrt(1 - b^2 / c^2)", "(d - b * a) / sqrt(1 - b^2 / c^2)",
         "(a + b) / (1 + a * b / c^2)", "a * sqrt(1 - b^2 / c^2) / d")
    )  # fmt: skip
    names = "a b d" if "d" in form else "a b"
    return form, {**_wide(names, 1.0, 2.0), "c": (3.0, 10.0)}


def _energy(random: Random) -> tuple[str, Ranges]:
    form = random.choice(
        ("0.5 * a * (b^2 + c^2 + d^2)", "a * (b^2 - c^2) / d", "0.5 * a * b^2 + a * c * d",
         "0.25 * a * (b^2 + c^2) * d^2", "a * b * (1 / c - 1 / d)", "a / b - c / d")
    )  # fmt: skip
    return form, _wide("a b c d")


def _mean(random: Random) -> tuple[str, Ranges]:
    form = random.choice(
        ("(a * b + c * d) / (a + c)", "1 / (1 / a + b / c)", "a * b / (a + b)", "a * b / (c + d)",
         "a * (b - c) / (b + c)", "a * b / (c^2 - d^2)")
    )  # fmt: skip
    if "d^2" in form:
        return form, {**_wide("a b d", 1.0, 3.0), "c": (4.0, 6.0)}
    return form, _wide(" ".join(name for name in "abcd" if name in form))


def _wave(random: Random) -> tuple[str, Ranges]:
    form = random.choice(
        ("a * (b + c * d * sin(f))", "a * sin(b * c)", "sqrt(a^2 + b^2 - 2 * a * b * cos(c - d))",
         "a * square(sin(b * c / 2)) / square(sin(c / 2))", "a * cos(b) / (c * d^2)",
         "a * (cos(b * c) + d * square(cos(b * c)))", "a + b + 2 * sqrt(a * b) * cos(c)")
    )  # fmt: skip
    return form, _wide(" ".join(name for name in "abcdf" if name in form.replace("cos", "")), 1.0, 3.0)


def _inner_product(random: Random) -> tuple[str, Ranges]:
    form = random.choice(
        ("a * b + c * d + f * g", "a * (b * c + d * f)", "a * b * c + d * f", "a * b - c * d")
    )
    return form, _wide(" ".join(name for name in "abcdfg" if name in form))


def _saturation(random: Random) -> tuple[str, Ranges]:
    form = random.choice(
        ("a * (1 - exp(-(b / c)))", "a / (1 + b * c / d)", "a * b * log(1 + c / d)", "a / (b^2 + c^2)",
         "a * (1 + b * c / (d * f))", "a * b^2 / (c * (b + d))")
    )  # fmt: skip
    return form, _wide(" ".join(name for name in "abcdf" if name in form.replace("exp", "")), 1.0, 4.0)


TUNING_FORMS: tuple[Form, ...] = (
    _product, _log_ratio, _boltzmann, _distance, _relativistic, _energy, _mean, _wave, _inner_product,
)  # fmt: skip
TEST_FORMS: tuple[Form, ...] = (*TUNING_FORMS, _bose, _saturation)


def unseen_equations(seed: int, count: int = 30, rows: int = 1000) -> list[BenchmarkProblem]:
    """Return `count` different equations, each without and with 1 % noise on its training rows.

    The noise is in standard deviations of the target; test rows have none.

    >>> [problem.name for problem in unseen_equations(1, count=1, rows=10)]
    ['unseen 1.0 noise 0', 'unseen 1.0 noise 0.01']
    """
    random = Random(seed)
    forms = TUNING_FORMS if seed == TUNING_SEED else TEST_FORMS
    texts: dict[str, Ranges] = {}
    while len(texts) < count:
        text, ranges = forms[len(texts) % len(forms)](random)
        texts.setdefault(text, ranges)
    return [
        make_problem(f"unseen {seed}.{number}", text, ranges, noise, rows, seed=[seed, number])
        for number, (text, ranges) in enumerate(texts.items())
        for noise in (0.0, 0.01)
    ]


def with_irrelevant(problem: BenchmarkProblem, count: int) -> BenchmarkProblem:
    """Return the problem with `count` columns more, on which the target does not depend, in random places."""
    if not count:
        return problem
    generator = np.random.default_rng(count)
    order = generator.permutation(len(problem.features) + count)
    extra = tuple(FeatureSpec(f"z{i}", f"z{i}", DIMENSIONLESS, "irrelevant") for i in range(count))
    features = (*problem.features, *extra)
    tables = [
        np.column_stack([table, generator.uniform(1.0, 5.0, (table.shape[0], count))])[:, order]
        for table in (problem.train_x, problem.test_x)
    ]
    return replace(problem, features=tuple(features[i] for i in order), train_x=tables[0], test_x=tables[1])
