"""The choice of one formula among the candidates."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.search.candidates import Candidate

# The worst group of a simpler formula may err by this factor more than the worst of the best formula.
WORST_GROUP = 1.1
# Rules that compare losses on held-out groups.
TRANSFERRING = ("one_standard_error", "most_stable", "validation")
# Resamples of the groups by which the most stable formula is chosen.
RESAMPLES = 200
# A formula that explodes at the edge is chosen only if its held-out loss is below this share of the least of
# all others: a tenth of the error, as where the law itself is an exponential.
EXPLODING_SHARE = 0.01


def choose(candidates: Sequence[Candidate], rule: str, random_seed: int = 0) -> Candidate:
    """Return one candidate by a rule of `CHOICES`.

    description_length : the shortest code, of those that do not explode at the edge of the rows.
    most_stable : the candidate that "one_standard_error" chooses most often when the groups are resampled.
    one_standard_error : the simplest candidate whose mean held-out loss exceeds the best one's, in every
    division, by at most the standard error of their difference over the groups (Breiman et al., 1984, for
    trees; here paired), and whose worst group is hardly worse than the best one's.
    """
    if rule == "loss":
        return min(candidates, key=lambda candidate: (candidate.loss, candidate.complexity))
    if rule == "description_length":
        return min(_tame(candidates), key=lambda candidate: candidate.description)
    finite = [candidate for candidate in candidates if math.isfinite(candidate.validation_loss)]
    finite = finite or list(candidates)
    if rule == "most_stable":
        again = choose_again(finite, rule, resamples=RESAMPLES, random_seed=random_seed)
        if again:
            return max(again, key=lambda chosen: chosen[1])[0]
    return finite[_chosen_place(_by_division(finite), [candidate.complexity for candidate in finite], rule)]


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


def _by_division(candidates: Sequence[Candidate]) -> list[NDArray[np.float64]]:
    """Return the losses of each division, (n_candidates, n_groups)."""
    return [
        np.array(division) for division in zip(*(candidate.held_out for candidate in candidates), strict=True)
    ]


def choose_again(
    candidates: Sequence[Candidate], rule: str, *, resamples: int, random_seed: int
) -> list[tuple[Candidate, float]]:
    """Return the candidates that the rule chooses when the held-out groups are resampled, and their shares.

    A resample takes as many groups as there are, with replacement, in every division (Efron, 1979). Each
    group keeps the loss with constants that were fitted without it, so that no resample needs a fit. What is
    most stable is counted by the rule that it resamples.
    """
    generator = np.random.default_rng(random_seed)
    sizes = [losses.size for losses in candidates[0].held_out] if candidates else []
    if rule not in TRANSFERRING or max(sizes, default=0) < 2:
        return []
    losses = _by_division(candidates)
    chosen = np.zeros(len(candidates), np.int64)
    for _ in range(resamples):
        picks = [generator.integers(size, size=size) for size in sizes]
        drawn = [division.take(places, axis=1) for division, places in zip(losses, picks, strict=True)]
        chosen[_chosen_place(drawn, [candidate.complexity for candidate in candidates], rule)] += 1
    return [(candidates[place], int(chosen[place]) / resamples) for place in np.flatnonzero(chosen).tolist()]


def _chosen_place(losses: Sequence[NDArray[np.float64]], costs: Sequence[int], rule: str) -> int:
    """Return which candidate a rule of `TRANSFERRING` chooses, from all losses at once.

    losses : of each division (n_candidates, n_groups). costs : complexities. Divisions cut the same rows, so
    that each is asked alone: their groups together would seem more evidence than there is.
    """
    mean = np.mean([division.mean(axis=1) for division in losses], axis=0)
    finite = np.isfinite(mean)
    best = int(np.lexsort((np.array(costs), mean))[0])
    if rule == "validation":
        return best
    worst = np.max([division.max(axis=1) for division in losses], axis=0)
    good = (worst <= WORST_GROUP * worst[best]) & (finite | ~finite.any())
    for division in losses:
        with np.errstate(invalid="ignore"):
            difference = division - division[best]
            error = difference.std(axis=1) / math.sqrt(difference.shape[1])
            good &= ~(difference.mean(axis=1) > error)
    good[best] = True
    return int(np.flatnonzero(good)[0])
