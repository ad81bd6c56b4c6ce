"""Small spaces of formulas of few constants: stepwise selection and pruning try all changes of large ones."""

from dataclasses import replace

from trainlaw.app.studies.kinds import kind, one_gpu
from trainlaw.app.studies.skeleton import RUN_SKELETON
from trainlaw.app.studies.spaces import skeleton_space
from trainlaw.evolve.front import strategies

MOST_TERMS, MOST_FACTORS = 2, 1  # of each resource


def shortened(skeleton):
    """A skeleton with the first terms and factors of each bracket."""
    brackets = (
        replace(one, terms=one.terms[:MOST_TERMS], factors=one.factors[:MOST_FACTORS])
        for one in skeleton.brackets
    )
    return replace(skeleton, brackets=tuple(brackets))


def small_space(skeleton):
    """The space of a shortened skeleton, and the law in it."""
    return skeleton_space(shortened(skeleton))


def use_small_fronts(change=setattr):
    """Let studies search small spaces, until little is new; change : sets an attribute of a module."""
    change(strategies, "_MOST_TRIES", 2)
    space, law = small_space(RUN_SKELETON)
    change(one_gpu, "run_space", lambda: space)
    change(one_gpu, "law_genome", lambda: law)
    change(kind, "skeleton_space", small_space)
