"""Shares of a predicted time: terms of the formula by resource, and which side of a maximum binds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.models.term_descriptions import DescribedTerm, described_terms, title_of
from trainlaw.app.models.terms import part_values
from trainlaw.datasets import RunTable
from trainlaw.formulas import Expression, Formula, Variable, evaluate, to_text, variables
from trainlaw.formulas.algebra.expression import additive_terms, sides_of

_EXCHANGE = "exchange of gradients between GPUs"
_SEVERAL = "the work of the GPU"  # the side of a maximum that is a sum


@dataclass(frozen=True)
class TermTime:
    """A term of a formula, its time in one run, in seconds, and its share of the time on one GPU.

    Both are 0 for a term on a side of a maximum that is not the largest.
    """

    term: DescribedTerm
    seconds: float
    share: float

    @property
    def text(self) -> str:
        """The term as written, constants with three digits."""
        return to_text(self.term.part.expression, 3)


def term_times(formula: Formula, runs: RunTable) -> list[list[TermTime]]:
    """Return the terms of each run, the largest first; those without a value are left out."""
    rows, terms = formula_rows(formula, runs), described_terms(formula)
    values = part_values(formula, rows.columns, rows.sums)
    shares = values / np.nansum(values, axis=0)
    return [
        [
            TermTime(terms[place], float(values[place, run]), float(shares[place, run]))
            for place in np.argsort(-values[:, run], kind="stable").tolist()
            if np.isfinite(values[place, run])
        ]
        for run in range(values.shape[1])
    ]


def explanations(
    formula: Formula, runs: RunTable, exchange_s: Sequence[float | None]
) -> Iterator[dict[str, object]]:
    """Yield what the time of each run is made of, as plain JSON: seconds by resource and term.

    `largest_of` has the sides of each maximum by name, in seconds: the largest binds.

    exchange_s : what several GPUs add to the time on one, in seconds, (n_runs,); None where it is not known.
    """
    bound = _largest_sides(formula, runs)
    for row, (terms, added) in enumerate(zip(term_times(formula, runs), exchange_s, strict=True)):
        total = sum(one.seconds for one in terms) + (added or 0.0)
        groups = dict[str, list[TermTime]]()
        for one in terms:
            groups.setdefault(one.term.resource, []).append(one)
        sums = {name: sum(one.seconds for one in group) for name, group in groups.items()}
        sums |= {_EXCHANGE: added} if added else {}
        yield {
            "time_s": total,
            "resources": [
                {
                    "resource": name,
                    "time_s": time,
                    "share": time / total,
                    "terms": [
                        {"term": one.text, "meaning": one.term.title, "time_s": one.seconds}
                        for one in groups.get(name, [])
                        if one.seconds
                    ],
                }
                for name, time in sorted(sums.items(), key=lambda item: -item[1])
                if time
            ],
            "largest_of": [{name: float(values[row]) for name, values in sides.items()} for sides in bound],
        }


def _largest_sides(formula: Formula, runs: RunTable) -> list[Mapping[str, np.ndarray]]:
    """Return the sides of each maximum by name, in seconds, (n_runs,); none for sums over layers."""
    rows = formula_rows(formula, runs)
    if rows.sums is not None:
        return []
    titles: dict[Expression, str] = {Variable(spec.name): title_of(spec) for spec in formula.used_features}
    every = map(sides_of, additive_terms(formula.ungrouped))
    return [
        {titles.get(side, _SEVERAL): _values(side, rows.columns) for side in sides}
        for sides in every
        if len(sides) > 1
    ]


def _values(expression: Expression, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    values, valid = evaluate(expression, {name: columns[name] for name in variables(expression)})
    return np.where(valid, values, np.nan)
