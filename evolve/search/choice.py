"""The choice of one formula among the candidates."""

import math
from collections.abc import Sequence

import numpy as np
from trainlaw.evolve.search.candidates import Candidate

# The worst group of a simpler formula may err by this factor more than the worst of the best formula.
WORST_GROUP = 1.1
# A formula that explodes at the edge is chosen only if its held-out loss is below this share of the least of
# all others: a tenth of the error, as where the law itself is an exponential.
EXPLODING_SHARE = 0.01


def choose(candidates: Sequence[Candidate], rule: str) -> Candidate:
    """Return one candidate by a rule of `CHOICES`.

    description_length : the shortest code, of those that do not explode at the edge of the rows.
    one_standard_error : the simplest candidate whose mean held-out loss exceeds the best one's by at most the
    standard error of their difference over the groups (Breiman et al., 1984, for trees; here paired), and
    whose worst group is hardly worse than the best one's.
    """
    if rule == "loss":
        return min(candidates, key=lambda candidate: (candidate.loss, candidate.complexity))
    if rule == "description_length":
        return min(_tame(candidates), key=lambda candidate: candidate.description)
    finite = [candidate for candidate in candidates if math.isfinite(candidate.validation_loss)]
    return _simplest_of_the_best(finite or list(candidates))


def _tame(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the candidates that do not explode, and those that are better by far; all where all explode."""
    least = min(
        (candidate.validation_loss for candidate in candidates if not candidate.explodes), default=math.inf
    )
    tame = [
        candidate
        for candidate in candidates
        if not candidate.explodes or candidate.validation_loss < EXPLODING_SHARE * least
    ]
    return tame or candidates


def _simplest_of_the_best(candidates: Sequence[Candidate]) -> Candidate:
    """Return the choice of "one_standard_error"."""
    losses = np.array([candidate.held_out for candidate in candidates])
    mean, worst = losses.mean(axis=1), losses.max(axis=1)
    best = int(np.lexsort(([candidate.complexity for candidate in candidates], mean))[0])
    with np.errstate(invalid="ignore"):
        difference = losses - losses[best]
        error = difference.std(axis=1) / math.sqrt(losses.shape[1])
        good = (worst <= WORST_GROUP * worst[best]) & ~(difference.mean(axis=1) > error)
    good[best] = True
    return candidates[int(np.flatnonzero(good)[0])]
