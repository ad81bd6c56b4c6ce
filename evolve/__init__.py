"""The search: arrays and feature specs in, a Pareto front of formulas out."""

from trainlaw.evolve.live_front import LiveFront
from trainlaw.evolve.regressor import FormulaRegressor
from trainlaw.evolve.search.loop import Progress, SearchState
from trainlaw.evolve.settings import Bracket, Constraint, Factor, SearchSettings
from trainlaw.evolve.several_outputs import FormulaRegressors

__all__ = [
    "Bracket",
    "Constraint",
    "Factor",
    "FormulaRegressor",
    "FormulaRegressors",
    "LiveFront",
    "Progress",
    "SearchSettings",
    "SearchState",
]
