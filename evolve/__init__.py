"""The search: arrays and feature specs in, a Pareto front of formulas out."""

from trainlaw.evolve.regressor import FormulaRegressor
from trainlaw.evolve.search.loop import Progress, SearchState
from trainlaw.evolve.settings import Constraint, SearchSettings

__all__ = ["Constraint", "FormulaRegressor", "Progress", "SearchSettings", "SearchState"]
