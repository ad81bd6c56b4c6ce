"""Closed-form expressions: units, values, simplification, bounds, proofs and printed forms."""

from typing import TYPE_CHECKING

from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import (
    Apply,
    Constant,
    Expression,
    Variable,
    complexity,
    constants,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.row_sums import RowSums
from trainlaw.formulas.algebra.text import parse_text, to_text
from trainlaw.formulas.algebra.units import DIMENSIONLESS, SECOND, Unit
from trainlaw.formulas.errors import (
    InputError,
    MissingDependencyError,
    TrainlawError,
    UnitError,
    UnknownNameError,
)
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.formula import Formula, GroupedConstant, load_formula, save_formula
from trainlaw.formulas.lazy_names import lazy_names
from trainlaw.formulas.pareto import ParetoFront, ScoredFormula
from trainlaw.formulas.scopes import SCOPES

if TYPE_CHECKING:
    from trainlaw.formulas.algebra.simplification import simplify
    from trainlaw.formulas.algebra.tidying import round_constants, tidy
    from trainlaw.formulas.algebra.unit_inference import infer_unit
    from trainlaw.formulas.proofs.elasticities import Elasticities

__all__ = [
    "DIMENSIONLESS",
    "OPERATORS",
    "SCOPES",
    "SECOND",
    "Apply",
    "Constant",
    "Elasticities",
    "Expression",
    "FeatureSpec",
    "Formula",
    "GroupedConstant",
    "InputError",
    "MissingDependencyError",
    "ParetoFront",
    "RowSums",
    "ScoredFormula",
    "TrainlawError",
    "Unit",
    "UnitError",
    "UnknownNameError",
    "Variable",
    "complexity",
    "constants",
    "evaluate",
    "infer_unit",
    "load_formula",
    "parse_text",
    "round_constants",
    "save_formula",
    "simplify",
    "substitute",
    "tidy",
    "to_text",
    "variables",
]

_HOMES = {
    "proofs.elasticities": "Elasticities",
    "algebra.simplification": "simplify",
    "algebra.tidying": "round_constants tidy",
    "algebra.unit_inference": "infer_unit",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
