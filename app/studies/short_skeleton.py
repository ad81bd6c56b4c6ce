"""The skeleton of a formula with few constants: one sum, of which parts may be multiplied by any factor.

    time = max(device, host, least) + copy

A limit of constants takes the place of most requirements. What stays is that each kind of work costs time:
products, depthwise convolutions, and each layer a launch; the bounds of host and peak rates hold as well.
Which further amounts and factors enter, and what a factor multiplies, is evolved.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

from trainlaw.app.studies.skeleton import BRACKETS, SkeletonSearch, names_of
from trainlaw.evolve import Bracket, FormulaRegressor, SearchSettings
from trainlaw.formulas import Expression
from trainlaw.formulas.algebra.text import parse_text

_COMPUTE, _SIMT, _MEMORY, _DEPTHWISE, _KERNELS, _COPY = BRACKETS
# Depthwise convolutions run on the same lanes as other work outside tensor cores.
_LANES = Bracket(
    "hole_lanes",
    (*_SIMT.terms, *_DEPTHWISE.terms),
    tuple({factor.feature: factor for factor in (*_DEPTHWISE.factors, *_SIMT.factors)}.values()),
    ("depthwise_simt_s",),
)
# Sums over layers of several kinds, each in place of several terms of the skeleton.
_BYTES = (("conv_output_cached_s", 20.0), ("elementwise_cached_s", 10.0))
SHORT_BRACKETS = (
    replace(_COMPUTE, required=("other_matrix_s",)),
    _LANES,
    replace(_MEMORY, terms=(*_BYTES, *_MEMORY.terms), required=()),
    replace(_KERNELS, terms=(("layer_launch_s", 10.0), *_KERNELS.terms), required=("layer_launch_s",)),
    _COPY,
)
SHORT_NAMES = names_of(SHORT_BRACKETS)
#: Usual limit of constants, and formulas tried by a search.
SHORT_CONSTANTS, SHORT_EVALUATIONS = 8, 4_000


# A search among larger formulas, of which each few generations drop a part, finds better ones of 15 constants
# than one that only holds such: 0.048 instead of 0.051 as loss on held-out groups. For 8 constants it finds
# worse ones, with an error of 24.0 instead of 22.5 % on GPUs that are held out.
_SEARCHED_CONSTANTS, _GENERATIONS_BETWEEN = 45, 2


class ShortSearch(SkeletonSearch):
    """Evolves a formula with few constants; settings : budget, random seed and most constants are kept.

    The limit makes formulas simple, so the one within it that has the least held-out error is chosen.
    """

    usual_brackets = SHORT_BRACKETS
    template: ClassVar[Expression] = parse_text(
        "max(max(((hole_compute + hole_lanes) + hole_memory) + hole_kernels, host_s), least_time_s)"
        " + hole_copy"
    )
    choice: ClassVar[str] = "validation"

    def __init__(self, settings: SearchSettings, brackets: Sequence[Bracket] | None = None) -> None:
        """Keep the settings, wider unless formulas are short or random; brackets : as of `BracketSearch`."""
        self.most_constants = settings.max_constants
        if settings.population != settings.evaluations and settings.max_constants > SHORT_CONSTANTS:
            wider = max(settings.max_constants, _SEARCHED_CONSTANTS)
            settings = replace(settings, max_constants=wider, simplify_interval=_GENERATIONS_BETWEEN)
        super().__init__(settings, brackets)

    def keep(self, search: FormulaRegressor) -> Self:
        """Take the result of a search, of its formulas those within the limit."""
        return super().keep(search.limited_to(self.most_constants))
