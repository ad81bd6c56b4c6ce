"""Closed-form expressions: units, values, simplification, bounds, proofs and printed forms."""

from typing import TYPE_CHECKING

from trainlaw.formulas.errors import (
    InputError,
    MissingDependencyError,
    TrainlawError,
    UnitError,
    UnknownNameError,
)
from trainlaw.formulas.evaluation import evaluate
from trainlaw.formulas.expression import (
    Apply,
    Constant,
    Expression,
    Variable,
    complexity,
    constants,
    substitute,
    variables,
)
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.formula import Formula, GroupedConstant, load_formula, save_formula
from trainlaw.formulas.lazy_names import lazy_names
from trainlaw.formulas.operators import OPERATORS
from trainlaw.formulas.pareto import ParetoFront, ScoredFormula
from trainlaw.formulas.row_sums import RowSums
from trainlaw.formulas.scopes import SCOPES, Scope
from trainlaw.formulas.text import parse_text, to_text
from trainlaw.formulas.units import DIMENSIONLESS, SECOND, Unit

if TYPE_CHECKING:
    from trainlaw.formulas.derivatives import derivative
    from trainlaw.formulas.enclosure import bounds
    from trainlaw.formulas.proofs import Proof, prove_monotone, prove_sign
    from trainlaw.formulas.simplification import simplify
    from trainlaw.formulas.tidying import RoundedExpression, round_constants, tidy
    from trainlaw.formulas.unit_inference import infer_unit

__all__ = [
    "DIMENSIONLESS",
    "OPERATORS",
    "SCOPES",
    "SECOND",
    "Apply",
    "Constant",
    "Expression",
    "FeatureSpec",
    "Formula",
    "GroupedConstant",
    "InputError",
    "MissingDependencyError",
    "ParetoFront",
    "Proof",
    "RoundedExpression",
    "RowSums",
    "Scope",
    "ScoredFormula",
    "TrainlawError",
    "Unit",
    "UnitError",
    "UnknownNameError",
    "Variable",
    "bounds",
    "complexity",
    "constants",
    "derivative",
    "evaluate",
    "infer_unit",
    "load_formula",
    "parse_text",
    "prove_monotone",
    "prove_sign",
    "round_constants",
    "save_formula",
    "simplify",
    "substitute",
    "tidy",
    "to_text",
    "variables",
]

_HOMES = {
    "derivative": "derivatives",
    "bounds": "enclosure",
    "Proof": "proofs",
    "prove_monotone": "proofs",
    "prove_sign": "proofs",
    "simplify": "simplification",
    "RoundedExpression": "tidying",
    "round_constants": "tidying",
    "tidy": "tidying",
    "infer_unit": "unit_inference",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
