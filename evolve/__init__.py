"""The search: arrays and feature specs in, a Pareto front of formulas out."""

from trainlaw.evolve.regressor import FormulaRegressor
from trainlaw.evolve.search.loop import Progress, SearchState
from trainlaw.evolve.settings import Bracket, Constraint, Factor, SearchSettings

__all__ = ["Bracket", "Constraint", "Factor", "FormulaRegressor", "Progress", "SearchSettings", "SearchState"]
