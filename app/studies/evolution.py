"""How a search found its formula: the held-out error over the formulas tried, and when terms entered."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from trainlaw.app.studies.kinds import StudyRows
from trainlaw.app.studies.terms_found import amounts_of, kinds_of
from trainlaw.datasets.measurements.formula_rows import feature_rows
from trainlaw.formulas import Formula, parse_text, variables
from trainlaw.validate import StudyResult
from trainlaw.validate.baselines import NO_SEARCH, RANDOM_SEARCH
from trainlaw.validate.error_table import BY_GPU
from trainlaw.validate.metrics import absolute_percentage_errors, macro, mape_percent
from trainlaw.validate.result import OURS

EVOLUTION = "evolution"  # the entry of a formula's errors
_DECIMALS = 3
_Point = tuple[int, float]
_Term = tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """What changed when a formula became the best one so far: terms by their features, sorted.

    tried : formulas fitted until then.
    """

    tried: int
    entered: tuple[_Term, ...]
    left: tuple[_Term, ...] = ()


@dataclass(frozen=True)
class Evolution:
    """How a study's search went.

    curves : by estimator (`OURS`, `RANDOM_SEARCH`), after n formulas the error on what the folds held
    out, %, mean over GPU groups, of the formulas that were best on the groups in training; of `NO_SEARCH` one
    point. steps : of the search on all rows, the delivered formula last. amounts : features that have a unit;
    others are factors.
    """

    curves: Mapping[str, tuple[_Point, ...]]
    steps: tuple[Step, ...] = ()
    amounts: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, object]:
        """Return the evolution as plain JSON values; `evolution_of` reads it from a formula's errors."""
        steps = [[step.tried, step.entered, step.left] for step in self.steps]
        curves = {name: [list(point) for point in points] for name, points in self.curves.items()}
        return {"curves": curves, "steps": steps, "amounts": sorted(self.amounts)}


def evolution_of(formula: Formula) -> Evolution | None:
    """Return how the search that found a formula went, from its errors; None where they do not say."""
    stored: Mapping[str, Any] | None = formula.errors.get(EVOLUTION)
    if not stored:
        return None
    curves = {name: tuple((int(n), float(error)) for n, error in at) for name, at in stored["curves"].items()}
    steps = (Step(int(n), *(tuple(map(tuple, terms)) for terms in parts)) for n, *parts in stored["steps"])
    return Evolution(curves, tuple(steps), frozenset(stored["amounts"]))


def evolution_curves(result: StudyResult, rows: StudyRows) -> dict[str, tuple[_Point, ...]]:
    """Return the curves of an `Evolution` of the finished folds, without those that have no history."""
    without_search: dict[str, tuple[_Point, ...]] = {}
    if NO_SEARCH in result.estimators:
        known = result.measured_s, result.predicted_s(NO_SEARCH), result.labels(BY_GPU)
        without_search[NO_SEARCH] = ((1, round(macro(mape_percent, *known), _DECIMALS)),)
    wanted = {OURS: result.searches, RANDOM_SEARCH: [RANDOM_SEARCH]}
    found: dict[str, tuple[_Point, ...]] = {}
    for name, searches in wanted.items():
        curves = [_curve(result, rows, each) for each in searches if each in result.estimators]
        if curves and all(curves):
            # The mean of all seeds, from where all have begun.
            mean = pd.DataFrame(curves).T.sort_index().ffill().dropna().mean(axis=1)
            errors = [round(error, _DECIMALS) for error in mean.tolist()]
            found[name] = tuple(zip(map(int, mean.index), errors, strict=True))
    return found | without_search


def study_evolution(
    result: StudyResult, rows: StudyRows, searched: Formula, delivered: Formula, tried: int
) -> Evolution | None:
    """Return how the search of a study went; None where no fold is finished, or it has no history.

    searched : of the search on all rows, as it left it. tried : formulas of a search.
    """
    steps = _steps(searched, delivered, tried)
    curves = evolution_curves(result, rows) if steps and len(result.predictions) else {}
    return Evolution(curves, steps, amounts_of(searched)) if OURS in curves else None


def _steps(searched: Formula, delivered: Formula, tried: int) -> tuple[Step, ...]:
    """What changed in the best formula of a search, step by step, and at last in what is delivered."""
    known, steps = set[_Term](), list[Step]()
    history = list(_history(searched))
    # The last generation may exceed the number of formulas that was asked for.
    ended = max([tried, *(n for n, _ in history)])
    for n, formula in [*history, *([(ended, delivered)] if history else [])]:
        terms = {tuple(sorted(kind)) for kind in kinds_of(formula)}
        if terms != known:
            steps.append(Step(n, tuple(sorted(terms - known)), tuple(sorted(known - terms))))
        known = terms
    return tuple(steps)


def _history(formula: Formula) -> Iterator[tuple[int, Formula]]:
    """Yield the formulas that were the best when they were found, and how many had been tried."""
    names = {spec.name for spec in formula.features}
    for tried, _, text in formula.provenance.get("history", ()):
        expression = parse_text(text)
        # What is fitted as a constant per group is known to the search only.
        if names.issuperset(variables(expression)):
            yield int(tried), replace(formula, expression=expression, grouped=())


def _curve(result: StudyResult, rows: StudyRows, estimator: str) -> dict[int, float]:
    """The curve of one search in the folds that are finished; empty where one of them has no history."""
    groups, places = np.unique(result.labels(BY_GPU), return_inverse=True)
    splits = result.labels("split")
    folds = []  # of each, the sum of the errors of each group after how many formulas
    for split in dict.fromkeys(splits):
        inside = splits == split
        formula = result.formulas.get((split, estimator))
        history = [] if formula is None else list(_history(formula))
        if not history:
            return {}
        X = rows.X.iloc[result.predictions["row"].to_numpy()[inside]]
        measured = result.measured_s[inside]
        unseen = feature_rows(X, [spec.name for spec in history[0][1].features], rows.cnn_layers)
        missed = ((n, absolute_percentage_errors(measured, unseen.predict(best))) for n, best in history)
        folds.append({n: np.bincount(places[inside], each, len(groups)) for n, each in missed})
    counts = sorted(set[int]().union(*folds))
    # Between two formulas that were the best, the first of them counts; all folds must have begun.
    known = [pd.DataFrame.from_dict(fold, orient="index").reindex(counts).ffill() for fold in folds]
    by_group = pd.DataFrame(np.sum(known, axis=0), counts).dropna().div(np.bincount(places))
    return dict(zip(by_group.index, by_group.mean(axis=1).tolist(), strict=True))


@dataclass(frozen=True)
class Lane:
    """One amount, or several that are multiplied, over a search.

    spans : pairs of the formulas tried when it entered the best formula, and when it left; None where it is
    delivered. changes : when its factors changed, and to which, while it was there.
    """

    amounts: _Term
    spans: tuple[tuple[int, int | None], ...]
    changes: tuple[tuple[int, _Term], ...]

    @property
    def is_delivered(self) -> bool:
        """Whether the delivered formula has it."""
        return self.spans[-1][1] is None

    @property
    def name(self) -> str:
        """The amounts as text."""
        return _named(self.amounts)


def lanes_of(evolution: Evolution) -> tuple[Lane, ...]:
    """Return a lane for each amount that was ever in the best formula, in the order in which they entered."""
    terms, factors = set[_Term](), dict[_Term, _Term]()
    spans, changes = dict[_Term, list[tuple[int, int | None]]](), dict[_Term, list[tuple[int, _Term]]]()
    for step in evolution.steps:
        terms = (terms - set(step.left)) | set(step.entered)
        now = _factors(terms, evolution.amounts)
        for amounts in sorted(now.keys() - factors.keys()):
            spans.setdefault(amounts, []).append((step.tried, None))
        for amounts in factors.keys() - now.keys():
            spans[amounts][-1] = (spans[amounts][-1][0], step.tried)
        for amounts, found in now.items():
            if factors.get(amounts, found) != found:
                changes.setdefault(amounts, []).append((step.tried, found))
        factors = now
    return tuple(Lane(amounts, tuple(spans[amounts]), tuple(changes.get(amounts, ()))) for amounts in spans)


def _factors(terms: set[_Term], amounts: frozenset[str]) -> dict[_Term, _Term]:
    """The factors by the amounts of a term; amounts in several terms have the factors of all."""
    found: dict[_Term, set[str]] = {}
    for term in terms:
        key = tuple(name for name in term if name in amounts)
        found.setdefault(key, set()).update(name for name in term if name not in amounts)
    return {key: tuple(sorted(names)) for key, names in found.items()}


def changes_of(step: Step, amounts: frozenset[str]) -> tuple[str, ...]:
    """Return what a step changed, as phrases; a term that only has other factors is one change.

    >>> changes_of(Step(7, (("a_s", "f"), ("b_s",)), (("a_s",), ("c_s",))), frozenset({"a_s", "b_s", "c_s"}))
    ('a_s gains f', 'b_s enters', 'c_s leaves')
    """
    entered, left = (_factors(set(terms), amounts) for terms in (step.entered, step.left))
    found = []
    for key in sorted(entered.keys() | left.keys()):
        name, now, before = _named(key), entered.get(key), left.get(key)
        if now is None or before is None:
            found.append(f"{name} {'leaves' if now is None else 'enters'}")
        else:
            gained, lost = (", ".join(sorted(set(a) - set(b))) for a, b in ((now, before), (before, now)))
            said = (f"gains {gained}" * bool(gained), f"loses {lost}" * bool(lost))
            found.append(f"{name} {' and '.join(filter(None, said)) or 'changes'}")
    return tuple(found)


def _named(amounts: _Term) -> str:
    return " x ".join(amounts) or "constant"
