"""Formulas of whole iterations with few constants: what may be in them is free, what must be is little.

    time = max(device, host) + copy

A limit of constants takes the place of most requirements. What stays is that each kind of work costs time:
products, depthwise convolutions, and each layer a launch. Which further amounts and factors enter, and what a
factor multiplies, is evolved.
"""

from dataclasses import replace
from typing import Self

from trainlaw.app.studies.kinds.whole_runs import FREE_RUNS, OF_RUNS
from trainlaw.app.studies.skeleton import RUN_SKELETON, Skeleton, SkeletonSearch, by_rules, searches_within
from trainlaw.evolve import Bracket, FormulaRegressor, SearchSettings
from trainlaw.formulas.algebra.text import parse_text


def _lanes() -> Bracket:
    """Return the bracket of all lanes: depthwise convolutions run on the same as other work."""
    plain, depthwise = by_rules("lanes"), by_rules("depthwise")
    factors = {factor.feature: factor for factor in (*depthwise.factors, *plain.factors)}
    return replace(
        plain,
        terms=(*plain.terms, *depthwise.terms),
        factors=tuple(factors.values()),
        required=("depthwise_input_simt_s",),
    )


# Sums over layers of several kinds, each in place of several terms, with weights of one and two passes each.
_BYTES = (("conv_output_cached_s", 20.0), ("elementwise_cached_s", 10.0))
_LAUNCHES = (("layer_launch_s", 10.0),)
_MEMORY, _KERNELS = by_rules("memory"), by_rules("kernels")
SHORT_SKELETON = replace(
    RUN_SKELETON,
    brackets=(
        replace(by_rules("matrix"), required=("other_matrix_s",)),
        _lanes(),
        replace(_MEMORY, terms=(*_BYTES, *_MEMORY.terms), required=()),
        replace(_KERNELS, terms=(*_LAUNCHES, *_KERNELS.terms), required=("layer_launch_s",)),
        by_rules("copy"),
    ),
    template=parse_text("max(hole_matrix + hole_lanes + hole_memory + hole_kernels, host_s) + hole_copy"),
    # The limit makes formulas simple, so the one within it that has the least held-out error is chosen.
    settings={**RUN_SKELETON.settings, "choice": "validation"},
)
#: Usual limit of constants, and formulas tried by a search.
SHORT_CONSTANTS, SHORT_EVALUATIONS = 8, 4_000
# A search among larger formulas, of which each few generations drop a part, finds better ones of 15 constants
# than one that only holds such: 0.048 instead of 0.051 as loss on held-out groups. For 8 constants it finds
# worse ones, with an error of 24.0 instead of 22.5 % on GPUs that are held out.
_SEARCHED_CONSTANTS, _GENERATIONS_BETWEEN = 45, 2


class ShortSearch(SkeletonSearch):
    """Evolves a formula with few constants; settings : budget, random seed and most constants are kept."""

    def __init__(self, settings: SearchSettings, skeleton: Skeleton = SHORT_SKELETON) -> None:
        """Keep the settings, wider unless formulas are short or random."""
        self.most_constants = settings.max_constants
        if settings.population != settings.evaluations and settings.max_constants > SHORT_CONSTANTS:
            wider = max(settings.max_constants, _SEARCHED_CONSTANTS)
            settings = replace(settings, max_constants=wider, simplify_interval=_GENERATIONS_BETWEEN)
        super().__init__(settings, skeleton)

    def keep(self, search: FormulaRegressor) -> Self:
        """Take the result of a search, of its formulas those within the limit."""
        return super().keep(search.limited_to(self.most_constants))


OF_SHORT_RUNS = replace(
    OF_RUNS,
    name="short-runs",
    title="whole runs on one GPU, with few constants",
    features=tuple(dict.fromkeys((*SHORT_SKELETON.names, *OF_RUNS.features))),
    **searches_within(SHORT_SKELETON, ShortSearch),
    defaults={
        **OF_RUNS.defaults,
        "evaluations": SHORT_EVALUATIONS,
        "seeds": 1,
        "max_constants": SHORT_CONSTANTS,
    },
    otherwise=FREE_RUNS,
)
