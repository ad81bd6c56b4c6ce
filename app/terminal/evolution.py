"""How a study's search found its formula, for a terminal."""

from collections.abc import Mapping, Sequence

from trainlaw.app.studies.evolution import changes_of, evolution_of
from trainlaw.app.text.curves import curves_text
from trainlaw.app.text.tables import fitted_lines
from trainlaw.formulas import Formula
from trainlaw.validate.baselines import NO_SEARCH, RANDOM_SEARCH
from trainlaw.validate.result import OURS

CURVE_NAMES = {OURS: "evolved", RANDOM_SEARCH: "random search"}
_TITLE = "error on what was held out, %, of the best formula so far, over the formulas tried"


def evolution_text(formula: Formula) -> str:
    """Return curves and the steps of the search on all rows; "" where the formula does not have them."""
    evolution = evolution_of(formula)
    if evolution is None:
        return ""
    lines = curve_lines(evolution.curves)
    lines += ["", "what changed in the best formula of the search on all rows, by formulas tried:"]
    first, *later = evolution.steps
    lines.append(f"{first.tried:>8,}  begins with {len(first.entered)} terms")
    for step in later:
        lines.append(f"{step.tried:>8,}  {'; '.join(changes_of(step, evolution.amounts))}")
    return fitted_lines("\n".join(lines))


def curve_lines(curves: Mapping[str, Sequence[tuple[int, float]]]) -> list[str]:
    """Return the curves of an `Evolution` as lines: evolved, random search, and no search as a level."""
    named = {CURVE_NAMES[name]: points for name, points in curves.items() if name in CURVE_NAMES}
    levels = {"no search": curves[NO_SEARCH][-1][1]} if NO_SEARCH in curves else {}
    return curves_text(named, levels, _TITLE) if named else []
