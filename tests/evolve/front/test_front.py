"""Fronts: fits, held-out losses, methods, and what a formula of a genome computes."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deap import base
from trainlaw.evolve import Amount, Factor, FrontSearch, FrontSettings, Space
from trainlaw.evolve.front.aimed import ranked
from trainlaw.evolve.front.genomes import BY_RULE, Genome, Power, genome_of, is_covered, to_expression
from trainlaw.evolve.front.moves import Moves
from trainlaw.evolve.front.problem import LOSS_WIDTH, Fitted, FrontProblem, encode, make_front_problem
from trainlaw.evolve.front.search import METHODS, law_of
from trainlaw.formulas import (
    SECOND,
    FeatureSpec,
    InputError,
    Unit,
    evaluate,
    parse_text,
    to_text,
)

GOLDEN = Path(__file__).parent / "golden_fronts.txt"
NAMES = ("products_s", "bytes_s", "launches_s", "windows_s", "rare_s")
SPACE = Space(
    (
        Amount("products_s", "lanes", "products", frozenset("p")),
        Amount("bytes_s", "memory", "bytes", frozenset("pl"), weight=5.0),
        Amount("launches_s", "host", "launches"),
        Amount("windows_s", "lanes", "windows"),
        Amount("rare_s", "lanes", "rare"),
    ),
    (
        Factor("cache", -1.2, 0.0, expected=-0.5),
        Factor("is_amd", 0.0, 2.5, expected=0.6, kind="exponential"),
    ),
    {"lanes": frozenset(["cache", "is_amd"]), "memory": frozenset(["is_amd"])},
    floor=parse_text("host_s"),
    after=parse_text("4 * copy_s"),
)
TARGET = FeatureSpec("time_s", "t", SECOND, "time")
SPECS = tuple(
    FeatureSpec(name, name, SECOND if name.endswith("_s") else Unit.parse("1"), name)
    for name in SPACE.features
)
GROUPS = np.repeat([f"gpu {i}" for i in range(12)], 20)


def table(noise: float = 0.02) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return columns and seconds of 240 runs on 12 GPUs of `3 products / cache**0.5 + bytes (AMD twice)`."""
    random = np.random.default_rng(3)
    columns = {name: random.lognormal(-6.0, 0.7, GROUPS.size) for name in NAMES}
    columns |= {"host_s": np.full(GROUPS.size, 1e-4), "copy_s": np.full(GROUPS.size, 1e-5)}
    columns["rare_s"] = np.where(GROUPS == "gpu 3", columns["rare_s"], 0.0)
    number = np.unique(GROUPS, return_inverse=True)[1]
    columns["cache"] = np.array([0.2 + 0.06 * i for i in range(12)])[number]
    columns["is_amd"] = (number % 3 == 0).astype(float)
    total = 3.0 * columns["products_s"] / columns["cache"] ** 0.5
    total += columns["bytes_s"] * np.exp(0.7 * columns["is_amd"])
    seconds = np.maximum(total, columns["host_s"]) + 4.0 * columns["copy_s"]
    return columns, seconds * np.exp(random.normal(0.0, noise, GROUPS.size))


def problem(noise: float = 0.02) -> FrontProblem:
    """Return the problem of `table`."""
    columns, seconds = table(noise)
    return make_front_problem(SPACE, columns, seconds, GROUPS)


PLANTED = genome_of({0: 1, 1: 2}, [Power(0, True, frozenset([0])), Power(1, True, frozenset([1]))], SPACE)


def fitted(genome: Genome, of: FrontProblem, steps: int = 50) -> Fitted:
    """Return a genome fitted to its end."""
    return of.fit([genome], [of.start(genome)], steps=steps, gain=1e-10)[0]


@cache
def searched(method: str = "evolution", **settings: Any) -> FrontSearch:
    """Return a small search of `table`, once for all tests; nothing may change it."""
    chosen = FrontSettings(**({"evaluations": 3000, "most_constants": 6} | settings), method=method)
    law = law_of(["products_s", "bytes_s"], [("cache", ["products_s"])], SPACE)
    return FrontSearch(SPACE, SPECS, TARGET, chosen, law=law if method == "pruned" else None).fit(
        *table(), GROUPS
    )


def test_planted_constants_are_found() -> None:
    """Weights and exponents of the planted formula, without noise, up to the pull of the priors."""
    found = fitted(PLANTED, problem(0.0)).constants
    np.testing.assert_allclose([*np.exp(found[:2]), *found[2:]], [3.0, 1.0, -0.5, 0.7], rtol=4e-2)


@pytest.mark.parametrize("off", [1.0, 1e3])
def test_a_wide_space_is_searched_from_nothing(off: float) -> None:
    """Evolution finds formulas as good as the planted one of 7 of 40 amounts and 2 of 4 factors.

    off : by how much the rules of the weights err; a pull towards them ends no fit early.
    """
    random, number = np.random.default_rng(1), np.unique(GROUPS, return_inverse=True)[1]
    amounts, ratios = [f"work_{i}_s" for i in range(40)], [f"ratio_{i}" for i in range(4)]
    columns = {name: random.lognormal(-6.0, 0.7, GROUPS.size) for name in amounts}
    columns |= {name: random.uniform(0.3, 3.0, 12)[number] for name in ratios}
    total = sum(columns[name] for name in amounts[:4]) * columns["ratio_0"] ** 0.5
    total = total + sum(2.0 * columns[name] for name in amounts[4:7]) * columns["ratio_1"] ** -0.7
    seconds = total * np.exp(random.normal(0.0, 0.05, GROUPS.size) + random.normal(0.0, 0.05, 12)[number])
    space = Space(
        tuple(Amount(name, "lanes", name, weight=1.0 / off) for name in amounts),
        tuple(Factor(name, -2.0, 2.0, expected=0.5) for name in ratios),
        {"lanes": frozenset(ratios)},
    )
    problem = make_front_problem(space, columns, seconds, GROUPS)
    powers = [Power(0, True, frozenset(range(4))), Power(1, True, frozenset(range(4, 7)))]
    planted = genome_of({i: i + 1 for i in range(7)}, powers, space)
    known = problem.fit([planted], [problem.start(planted)], steps=60, gain=1e-8)[0]
    specs = [FeatureSpec(name, name, SECOND, name) for name in amounts]
    specs += [FeatureSpec(name, name, Unit.parse("1"), name) for name in ratios]
    settings = FrontSettings(evaluations=1500, most_constants=12)
    found = FrontSearch(space, tuple(specs), TARGET, settings).fit(columns, seconds, GROUPS).archive_.best(12)
    assert found is not None
    assert found.score < 1.1 * known.score


def test_the_formula_of_a_genome_computes_what_was_fitted() -> None:
    """Its log ratios to the measured times, and the pulls of the priors, give the loss of the fit."""
    columns, seconds = table()
    one, of = fitted(PLANTED, problem()), problem()
    programs = encode([PLANTED], [one.constants], of)
    pull = np.sum(programs.pull * (programs.theta - programs.centre) ** 2)
    predicted, valid = evaluate(to_expression(one.genome, one.constants, SPACE), columns)
    assert valid.all()
    assert np.mean(np.log(predicted / seconds) ** 2) + pull == pytest.approx(one.loss, rel=1e-9)


def test_held_out_losses_are_those_of_fits_without_each_group() -> None:
    """One Newton step away is where a fit without the group ends, to a twentieth."""
    columns, seconds = table(0.1)
    one = fitted(PLANTED, problem(0.1))
    for number, name in enumerate(np.unique(GROUPS)[:4]):
        kept = GROUPS != name
        some = {key: values[kept] for key, values in columns.items()}
        alone = fitted(PLANTED, make_front_problem(SPACE, some, seconds[kept], GROUPS[kept]))
        expression = to_expression(PLANTED, alone.constants, SPACE)
        left = {key: values[~kept] for key, values in columns.items()}
        ratio = np.abs(np.log(evaluate(expression, left)[0] / seconds[~kept]))
        exact = np.where(ratio > LOSS_WIDTH, LOSS_WIDTH * (2 * ratio - LOSS_WIDTH), ratio**2).mean()
        assert one.cases[number] == pytest.approx(np.sqrt(exact), rel=0.05)


def test_a_genome_has_one_form() -> None:
    """Weights are numbered by use; what a factor may not multiply goes; powers that may be one are one."""
    powers = [
        Power(0, True, frozenset([0, 1])),
        Power(0, True, frozenset([0])),
        Power(0, False, frozenset([1])),
    ]
    found = genome_of({1: 7, 0: 9}, powers, SPACE)
    assert found == Genome(((0, 1), (1, 2)), (Power(0, True, frozenset([0])),))
    assert found.constants == 3
    assert genome_of({0: BY_RULE, 1: BY_RULE}, [], SPACE).constants == 0


def test_weights_by_rule_and_fixed_exponents_are_written_out() -> None:
    """They cost no constant, and the text has them."""
    powers = [Power(0, False, frozenset([0])), Power(1, False, frozenset([1]))]
    text = to_text(to_expression(genome_of({0: 1, 1: BY_RULE}, powers, SPACE), np.log([2.0]), SPACE))
    assert text == "max(2 * products_s / cache + 5 * bytes_s * exp(is_amd), host_s) + 4 * copy_s"


def test_amounts_with_the_same_factors_are_in_one_bracket() -> None:
    """A factor is written once, whatever the number of its amounts."""
    shared = [Power(0, False, frozenset([0, 3]))]
    genome = genome_of({0: 1, 3: BY_RULE}, shared, SPACE)
    text = to_text(to_expression(genome, np.log([2.0]), SPACE))
    assert text == "max((2 * products_s + windows_s) / cache, host_s) + 4 * copy_s"


def test_what_few_groups_have_is_no_choice() -> None:
    """An amount of one GPU says nothing about another one."""
    found = problem()
    assert [SPACE.amounts[place].feature for place in found.supported] == list(NAMES[:-1])
    assert found.usable == (0, 1)


def test_the_best_addition_is_the_missing_factor() -> None:
    """Of all that could be added to the planted formula without its cache, the cache promises most."""
    of = problem()
    best = ranked(fitted(genome_of({0: 1, 1: 2}, [PLANTED.powers[1]], SPACE), of), of)[0]
    assert (best.factor, best.amounts) == (0, frozenset([0]))


def test_moves_keep_what_must_be() -> None:
    """Every genome that is drawn is possible, and a mutation changes something."""
    moves = Moves(problem(), np.random.default_rng(0), 4)
    drawn = [moves.drawn() for _ in range(50)]
    assert all(one.constants <= 4 and is_covered(one, SPACE) for one in drawn)
    assert all(moves.mutated(one) != one for one in drawn)
    assert all(isinstance(moves.crossed(one, two), Genome) for one, two in pairwise(drawn))


def front_of(search: FrontSearch) -> Sequence[tuple[int, str]]:
    """Return sizes and texts of a front."""
    return [(one.complexity, to_text(one.formula.expression)) for one in search.front_]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_a_front(method: str) -> None:
    """Losses fall with the number of constants, within the limit; evolution finds the planted terms."""
    found = searched(method)
    sizes = [one.complexity for one in found.front_]
    assert sizes == sorted(set(sizes))
    assert max(sizes) <= 6
    assert all(one.validation_loss == one.loss for one in found.front_)
    assert found.formula_ == found.front_[-1].formula
    if method in ("evolution", "stepwise"):
        assert {"products_s", "bytes_s", "cache", "is_amd"} <= {spec.name for spec in found.formula_.features}
        assert found.front_[-1].loss < 0.025


def test_fronts_are_as_they_were(overwrite_golden: bool) -> None:
    """A constant or sign of a search that changes shows in the losses and formulas of one method at least."""
    lines = []
    # Few formulas: with more, any way of searching comes to the planted one.
    for search in [searched(name, evaluations=400) for name in METHODS]:
        kept = np.mean([one.score for one in search.archive_.members])
        lines.append(f"{search.settings.method}, {search.evaluations_} evaluations, mean loss {kept:.6g}")
        for one in search.front_:
            lines.append(f"{one.complexity} {one.loss:.6g} {to_text(one.formula.expression, 3)}")
    found = "\n".join(lines) + "\n"
    if overwrite_golden:
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


def test_only_evolution_begins_with_the_law() -> None:
    """A control that is given what pruning leaves of the law would be none; to prune, a law is needed."""
    law = law_of(["products_s", "bytes_s"], [("cache", ["products_s"])], SPACE)
    settings = FrontSettings(evaluations=130, most_constants=6, method="random")
    with_law = FrontSearch(SPACE, SPECS, TARGET, settings, law=law).fit(*table(), GROUPS)
    without = FrontSearch(SPACE, SPECS, TARGET, settings).fit(*table(), GROUPS)
    assert front_of(with_law) == front_of(without)
    with pytest.raises(InputError, match="expected the law"):
        FrontSearch(SPACE, SPECS, TARGET, FrontSettings(method="pruned")).fit(*table(), GROUPS)


def test_evolution_keeps_the_pruned_law_that_it_begins_with() -> None:
    """As pruning alone finds it; without a law there is none."""
    law = law_of(["products_s", "bytes_s"], [("cache", ["products_s"])], SPACE)
    settings = FrontSettings(evaluations=60, most_constants=6)
    found = FrontSearch(SPACE, SPECS, TARGET, settings, law=law).fit(*table(), GROUPS)
    assert found.pruned_ is not None and front_of(found.pruned_) == front_of(searched("pruned"))
    assert searched().pruned_ is None


def test_the_same_seed_gives_the_same_front() -> None:
    """And another seed tries other formulas."""
    assert front_of(searched.__wrapped__()) == front_of(searched())
    assert searched().logbook_ != searched(random_seed=1).logbook_


def test_a_size_is_the_most_that_is_asked_for() -> None:
    """One that no formula is small enough for is refused."""
    found = searched()
    assert found.of_size(20) == found.formula_
    assert found.of_size(2) == next(
        one.formula for one in reversed(list(found.front_)) if one.complexity <= 2
    )
    with pytest.raises(InputError, match="expected at least"):
        found.of_size(0)


def test_shares_say_what_the_rows_support() -> None:
    """What was planted is in nearly all formulas that resampled groups choose."""
    shares = searched().shares(6)
    assert min(shares["products_s"], shares["cache"], shares["is_amd"]) > 0.9


def test_a_toolbox_replaces_operators() -> None:
    """Those of the user are called; a control has none."""
    calls: list[Genome] = []
    toolbox = base.Toolbox()
    toolbox.register("mutate", lambda genome: calls.append(genome) or genome)
    settings = FrontSettings(evaluations=900)
    FrontSearch(SPACE, SPECS, TARGET, settings, toolbox=toolbox).fit(*table(), GROUPS)
    assert calls
    with pytest.raises(InputError, match="no toolbox"):
        FrontSearch(SPACE, SPECS, TARGET, FrontSettings(method="random"), toolbox=toolbox).fit(
            *table(), GROUPS
        )


def test_an_interrupt_keeps_what_was_found() -> None:
    """The callback ends the search; the front is that of the formulas tried."""

    def stop(progress: Any) -> None:
        assert progress.evaluations > 0
        raise KeyboardInterrupt

    found = FrontSearch(SPACE, SPECS, TARGET, progress=stop).fit(*table(), GROUPS)
    assert 0 < found.evaluations_ < 1000
    assert len(found.front_) > 0


def test_the_faster_alternative_counts_and_both_are_found() -> None:
    """Weights and exponent of both sides come back; with one side alone there is no alternative."""
    random = np.random.default_rng(5)
    columns = {name: np.exp(random.normal(0.0, 1.5, 400)) for name in ("product_s", "tiles_s", "bytes_s")}
    columns["cache"] = np.repeat(np.exp(random.normal(0.0, 0.5, 8)), 50)
    groups = np.repeat([f"g{number}" for number in range(8)], 50)
    faster = np.minimum(3.0 * columns["product_s"] / columns["cache"] ** 0.5, 0.4 * columns["tiles_s"])
    space = Space(
        tuple(Amount(f"{name}_s", name, name) for name in ("product", "tiles", "bytes")),
        (Factor("cache", -1.0, 0.0, -0.3),),
        {"product": frozenset(["cache"])},
        alternatives=("product", "tiles"),
    )
    both = genome_of({0: 1, 1: 2, 2: 3}, [Power(0, True, frozenset([0]))], space)
    of = make_front_problem(space, columns, faster + 0.5 * columns["bytes_s"], groups)
    one = of.fit([both], [of.start(both)], steps=200, gain=1e-12)[0]
    np.testing.assert_allclose(
        [*np.exp(one.constants[:3]), one.constants[3]], [3.0, 0.4, 0.5, -0.5], rtol=0.05
    )
    expression = to_expression(both, one.constants, space)
    assert "min(" in to_text(expression)
    np.testing.assert_allclose(evaluate(expression, columns)[0], faster + 0.5 * columns["bytes_s"], rtol=0.1)
    alone = genome_of({0: 1, 2: 2}, [], space)
    assert "min(" not in to_text(to_expression(alone, np.zeros(2), space))
    assert any(addition.amount == 1 for addition in ranked(of.fit([alone], [of.start(alone)])[0], of))
