"""Fronts: formulas by number of constants with their held-out errors, and what evolution is worth."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from trainlaw.app.models.stated_error import evolution_gains
from trainlaw.app.text.numbers import show_percent
from trainlaw.app.text.tables import Table, TableColumn, null_for_nan
from trainlaw.formulas import Formula, constants
from trainlaw.validate.baselines import LASSO, PRUNED_LAW, RANDOM_SEARCH, STEPWISE, title_of
from trainlaw.validate.error_table import MACRO
from trainlaw.validate.formula_errors import carried_errors, overall_error, summary_interval
from trainlaw.validate.result import OURS

#: The controls that have a formula of each size.
SIZED_CONTROLS = (RANDOM_SEARCH, STEPWISE, PRUNED_LAW, LASSO)
#: What evolution has to beat so that it shows; the lasso path is of another space.
SEARCHED_CONTROLS = (RANDOM_SEARCH, STEPWISE, PRUNED_LAW)
#: How the formula of a row was found: evolved, or as the law.
EVOLVED, LAW = "evolution", "law"
#: Key of the front in the errors of the delivered formula.
FRONT = "front"


@dataclass(frozen=True)
class FrontRow:
    """One row of a front: a formula of at most that many constants, with its errors and its controls'."""

    constants: int
    formula: Formula
    method: str = EVOLVED

    @property
    def held_out_percent(self) -> float:
        """The held-out error, mean over GPU groups and seeds."""
        return overall_error(self.formula, OURS, MACRO)

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of its 90 % interval, GPU groups resampled, %; nan where unknown."""
        return summary_interval(self.formula, OURS, MACRO)

    @property
    def seeds_percent(self) -> tuple[float, ...]:
        """The errors of single searches, where there are several."""
        return tuple(self.formula.errors.get("seeds", {}).get(MACRO, ()))

    def control_percent(self, control: str) -> float:
        """The held-out error of a control with as many constants; nan where there is none."""
        return overall_error(self.formula, control, MACRO)

    @cached_property
    def gains(self) -> dict[str, tuple[float, float, float]]:
        """The points by which it is better than each control, and their 90 % interval."""
        return evolution_gains(carried_errors(self.formula))

    @property
    def shows_evolution(self) -> bool:
        """Whether it is better than each searched control of its size, with the interval above 0."""
        known = [self.gains[name] for name in SEARCHED_CONTROLS if name in self.gains]
        return bool(known) and all(round(low, 1) > 0 for _, low, _ in known)


def front_csv(rows: Sequence[FrontRow]) -> Table:
    """Return the front as front.csv has it: a row per number of constants, unknown figures as nan."""
    names = ("constants", "method", "held_out_percent", "low_percent", "high_percent")
    controls = [f"{name}_percent" for name in SIZED_CONTROLS]
    seeds = ("seed_low_percent", "seed_high_percent")
    gains = [f"{name}_{part}_points" for name in SIZED_CONTROLS for part in ("gain", "gain_low", "gain_high")]
    return Table.of([*names, *controls, *seeds, *gains, "formula"], map(_csv_row, rows))


def front_json(rows: Sequence[FrontRow]) -> list[dict[str, object]]:
    """Return the front without its formulas as plain JSON, for the errors of the delivered one."""
    records = front_csv(rows).records()
    return [
        {name: null_for_nan(value) for name, value in row.items() if name != "formula"} for row in records
    ]


def _csv_row(row: FrontRow) -> list[object]:
    unknown, seeds = (math.nan,) * 3, row.seeds_percent
    controls = [row.control_percent(name) for name in SIZED_CONTROLS]
    gains = [value for name in SIZED_CONTROLS for value in row.gains.get(name, unknown)]
    spread = (min(seeds), max(seeds)) if seeds else (math.nan, math.nan)
    figures = [row.held_out_percent, *row.interval, *controls, *spread, *gains]
    return [row.constants, row.method, *(round(figure, 3) for figure in figures), row.formula.text()]


def front_table(rows: Sequence[FrontRow], *, with_formula: bool = False) -> Table:
    """Return the front for readers, errors in %, with the formulas as text where asked for."""
    known = [name for name in SIZED_CONTROLS if any(math.isfinite(row.control_percent(name)) for row in rows)]
    several = any(row.seeds_percent for row in rows)
    header: list[str | TableColumn] = ["constants", "held-out error, %", "90 % interval"]
    header += [*(["seeds, %"] if several else []), *(f"{title_of(name)}, %" for name in known)]
    header += [TableColumn("formula", "formula")] if with_formula else []
    cells = []
    for row in rows:
        seeds = row.seeds_percent
        spread = f"{min(seeds):.1f} to {max(seeds):.1f}" if seeds else "-"
        cells.append(
            [
                f"{row.constants} (the law)" if row.method == LAW else str(row.constants),
                show_percent(row.held_out_percent),
                "{} to {}".format(*map(show_percent, row.interval)),
                *([spread] if several else []),
                *(show_percent(row.control_percent(name)) for name in known),
                *([row.formula.text()] if with_formula else []),
            ]
        )
    return Table.of(header, cells, "number")


def worth_lines(rows: Sequence[FrontRow]) -> Iterator[str]:
    """Yield what evolution is worth at the smallest sizes where it shows, and up to which size it does."""
    evolved = [row for row in rows if row.method == EVOLVED and row.gains]
    if not evolved:
        return
    shown = [row for row in evolved if row.shows_evolution]
    for row in shown[:2] or evolved[:1]:
        yield f"{row.constants} constants: {show_percent(row.held_out_percent)} %, {worth_text(row)}"
    if not shown:
        yield "at no size is evolution better than every control with certainty: the differences include 0"
    elif shown[-1] is not evolved[-1]:
        yield f"above {shown[-1].constants} constants search no longer shows: a control may be as good"


def worth_text(row: FrontRow) -> str:
    """Return how far a formula is below each control of its size, with the intervals."""
    parts = []
    for name, (gain, low, high) in row.gains.items():
        where = "below" if gain >= 0 else "above"
        parts.append(f"{abs(gain):.1f} points {where} {title_of(name)} ({low:.1f} to {high:.1f})")
    return f"{', '.join(parts)}; in parentheses 90 % intervals over GPU groups"


def law_row(formula: Formula) -> FrontRow:
    """Return the row of the law."""
    return FrontRow(len(constants(formula.expression)), formula, LAW)
