"""A formula made readable: short constants at a measured cost, and equivalent forms, the shortest first."""

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from trainlaw.app.explain.sensitivity import in_raw_columns, training_rows
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.models.terms import terms_of
from trainlaw.formulas import Apply, Expression, Formula, complexity, round_constants, to_text
from trainlaw.formulas.algebra.simplification import agree, simplify_all

LIMIT_POINTS = 0.1


@dataclass(frozen=True)
class Rounding:
    """A formula with the fewest digits, and the mean absolute percentage errors before and after.

    `rows` : number of training rows; without them nothing is rounded, and errors are None.
    """

    formula: Formula
    rows: int = 0
    exact_percent: float | None = None
    rounded_percent: float | None = None

    @property
    def sentence(self) -> str:
        """The rounding and its cost, as text."""
        if self.exact_percent is None or self.rounded_percent is None:
            return "constants unchanged: the training rows are not available, so no rounding was measured"
        errors = f"error {self.exact_percent:.2f} % before, {self.rounded_percent:.2f} % after"
        return (
            f"constants have the fewest digits that cost less than {LIMIT_POINTS:g} points of error: "
            f"{errors}, mean over the {self.rows:,} training rows"
        )


@dataclass(frozen=True)
class Form:
    """One way to write a formula down, and its complexity: one per name and number, more per operator."""

    title: str
    expression: Expression

    @property
    def complexity(self) -> int:
        """Its complexity."""
        return complexity(self.expression)


def rounded_formula(formula: Formula) -> Rounding:
    """Return the formula with the fewest digits that cost less than 0.1 points on its training rows."""
    table = training_rows(formula)
    if table is None or formula.grouped:
        return Rounding(formula)
    rows = formula_rows(formula, table)
    short = round_constants(formula.expression, rows.columns, table.seconds, LIMIT_POINTS, rows.sums)
    changed = replace(formula, expression=short.expression)
    return Rounding(changed, len(table), short.exact_error_percent, short.rounded_error_percent)


def equivalent_forms(formula: Formula) -> list[Form]:
    """Return different ways to write the formula down that agree to 1e-9 relative, the shortest first."""
    plain = formula.ungrouped
    summed = reduce(lambda left, right: Apply("add", (left, right)), terms_of(formula))
    raw = in_raw_columns(formula)
    shorter, merged, short_raw = simplify_all([plain, summed, raw])
    # Random points within the training ranges; from 0.1 to 10 where there are none.
    generator = np.random.default_rng(0)
    ends = {spec.name: formula.ranges.get(spec.name, (0.1, 10.0)) for spec in formula.used_features}
    points = {name: generator.uniform(*pair, 256) for name, pair in ends.items()}
    wanted = [
        Form("as evolved", plain),
        Form("simplified", shorter),
        Form("as a sum of terms", summed),
        Form("as a sum of terms, simplified", merged),
        Form("in base columns of GPU, CNN and run", short_raw),
    ]
    found: dict[str, Form] = {}
    for form in wanted:
        known = form.title.startswith("in base columns") or agree(plain, form.expression, points)
        if known and to_text(form.expression) not in found:
            found[to_text(form.expression)] = form
    return sorted(found.values(), key=lambda form: form.complexity)
