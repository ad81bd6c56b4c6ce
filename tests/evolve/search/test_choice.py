import math
from dataclasses import replace

import numpy as np
import pytest
from trainlaw.evolve.search.candidates import Candidate
from trainlaw.evolve.search.choice import choose, choose_again
from trainlaw.formulas import Constant

from ...rows import each_row


def candidate(complexity, *divisions, loss=1.0):
    """A candidate with the losses of the groups of each division; the more complex, the shorter its code."""
    return Candidate(Constant(1.0), loss, complexity, tuple(map(np.array, divisions)), 10.0 - complexity)


THREE = [
    candidate(1, [4.0, 4.2, 3.8], loss=4.0),
    candidate(2, [1.1, 1.0, 0.95], loss=3.0),
    candidate(3, [1.0, 0.9, 1.1], loss=2.0),
]
GROUPS, DIVIDED = candidate(2, [1.0, 5.0, 9.0]), candidate(2, [1.0, 5.0], [1.0, 2.0, 3.0])
INVALID, VALID = candidate(1, [0.0, math.inf], loss=0.0), candidate(2, [5.0, 5.0], loss=9.0)
ALIKE = [candidate(7, [1.0]), candidate(3, [1.0])]


@each_row(
    ("rule", "known", "chosen"),
    [
        ("validation", THREE, 2),
        ("loss", THREE, 2),
        ("description_length", THREE, 2),
        ("one_standard_error", THREE, 1),
        # Groups differ a lot, candidates do not: 0.2 more in every group is beyond its error of 0.
        ("one_standard_error", [candidate(1, [1.2, 5.2, 9.2]), GROUPS], 1),
        ("one_standard_error", [candidate(1, [0.2, 5.6, 9.8]), GROUPS], 0),
        # A much worse group excludes a simpler formula.
        ("one_standard_error", [candidate(1, [0.2, 5.2, 10.2]), GROUPS], 1),
        # It must transfer in every division.
        ("one_standard_error", [candidate(1, [1.0, 5.0], [2.0, 3.0, 4.0]), DIVIDED], 1),
        ("one_standard_error", [candidate(1, [1.0, 5.0], [1.0, 2.0, 3.0]), DIVIDED], 0),
        ("validation", [INVALID, VALID], 1),
        ("validation", [INVALID], 0),
        ("validation", ALIKE, 1),
        ("loss", ALIKE, 1),
        ("description_length", ALIKE, 0),
        ("most_stable", [candidate(1, [1.0])], 0),
    ],
)
def test_rules_choose(rule, known, chosen):
    assert choose(known, rule) is known[chosen]


def test_validation_losses_are_means_over_divisions():
    assert DIVIDED.validation_loss == 2.5 and INVALID.validation_loss == math.inf


@each_row(("rule", "known"), [("loss", THREE), ("validation", []), ("validation", ALIKE)])
def test_rules_that_compare_no_groups_are_not_repeated(rule, known):
    assert choose_again(known, rule, resamples=5, random_seed=0) == []


def test_groups_that_agree_choose_the_same_in_every_draw():
    losses = (np.full(6, 2.0), np.full(6, 1.0))
    worse, better = (candidate(i, cases) for i, cases in enumerate(losses))
    for rule in ("validation", "one_standard_error"):
        assert choose_again([worse, better], rule, resamples=50, random_seed=0) == [(better, 1.0)]


def test_groups_that_disagree_divide_the_draws():
    first, second = candidate(1, [0.0, 1.0] * 4), candidate(2, [1.0, 0.0] * 4)
    again = choose_again([first, second], "validation", resamples=400, random_seed=0)
    assert [own for own, _ in again] == [first, second]
    shares = [share for _, share in again]
    assert sum(shares) == pytest.approx(1.0)
    # Of eight groups with replacement, 36 % of the resamples prefer the second: ties go to the simpler one.
    assert shares[1] == pytest.approx(0.363, abs=0.07)
    assert again == choose_again([first, second], "validation", resamples=400, random_seed=0)
    assert again != choose_again([first, second], "validation", resamples=400, random_seed=1)


@pytest.mark.slow
def test_the_most_stable_candidate_is_chosen_most_often_when_groups_are_resampled():
    generator, others = np.random.default_rng(0), 0
    for _ in range(25):
        found = [candidate(i, 10.0 - 0.1 * i + 0.3 * generator.standard_normal(8)) for i in range(1, 6)]
        again = choose_again(found, "one_standard_error", resamples=200, random_seed=3)
        chosen = choose(found, "most_stable", random_seed=3)
        assert next(share for own, share in again if own is chosen) == max(share for _, share in again)
        assert choose_again(found, "most_stable", resamples=200, random_seed=3) == again
        others += chosen is not choose(found, "one_standard_error")
    assert 0 < others < 12


def test_a_formula_that_explodes_is_chosen_only_if_it_is_better_by_far():
    tame, wild = candidate(1, [1.0]), replace(candidate(2, [0.5]), explodes=True)
    assert choose([tame, wild], "description_length") is tame
    by_far = replace(wild, held_out=(np.array([0.005]),))
    assert choose([tame, by_far], "description_length") is by_far
    assert choose([wild], "description_length") is wild
