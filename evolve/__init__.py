"""The search: arrays and feature specs in, a Pareto front of formulas out."""

from trainlaw.evolve.form import Bracket
from trainlaw.evolve.front.search import FrontSearch, FrontSettings
from trainlaw.evolve.front.space import Amount, Space
from trainlaw.evolve.regressor import FormulaRegressor
from trainlaw.evolve.search.loop import Progress
from trainlaw.evolve.settings import Factor, SearchSettings

__all__ = [
    "Amount",
    "Bracket",
    "Factor",
    "FormulaRegressor",
    "FrontSearch",
    "FrontSettings",
    "Progress",
    "SearchSettings",
    "Space",
]
