import math

import numpy as np
from trainlaw.evolve.search.candidates import Candidate
from trainlaw.evolve.search.choice import choose
from trainlaw.formulas import Constant

from ...rows import each_row


def candidate(complexity, losses, loss=1.0):
    """A candidate with the losses of the groups; the more complex, the shorter its code."""
    return Candidate(Constant(1.0), loss, complexity, np.array(losses), 10.0 - complexity)


THREE = [
    candidate(1, [4.0, 4.2, 3.8], loss=4.0),
    candidate(2, [1.1, 1.0, 0.95], loss=3.0),
    candidate(3, [1.0, 0.9, 1.1], loss=2.0),
]
GROUPS = candidate(2, [1.0, 5.0, 9.0])
INVALID, VALID = candidate(1, [0.0, math.inf], loss=0.0), candidate(2, [5.0, 5.0], loss=9.0)
ALIKE = [candidate(7, [1.0]), candidate(3, [1.0])]


@each_row(
    ("rule", "known", "chosen"),
    [
        ("loss", THREE, 2),
        ("description_length", THREE, 2),
        ("one_standard_error", THREE, 1),
        # Groups differ a lot, candidates do not: 0.2 more in every group is beyond its error of 0.
        ("one_standard_error", [candidate(1, [1.2, 5.2, 9.2]), GROUPS], 1),
        ("one_standard_error", [candidate(1, [0.2, 5.6, 9.8]), GROUPS], 0),
        # A much worse group excludes a simpler formula.
        ("one_standard_error", [candidate(1, [0.2, 5.2, 10.2]), GROUPS], 1),
        ("one_standard_error", [INVALID, VALID], 1),
        ("one_standard_error", [INVALID], 0),
        ("loss", ALIKE, 1),
        ("description_length", ALIKE, 0),
    ],
)
def test_rules_choose(rule, known, chosen):
    assert choose(known, rule) is known[chosen]


def test_validation_losses_are_means_over_groups():
    assert GROUPS.validation_loss == 5.0 and INVALID.validation_loss == math.inf
