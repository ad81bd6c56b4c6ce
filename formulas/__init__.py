"""What a closed form is: units, expressions, values, simplification, bounds, proofs and printed forms."""

from trainlaw.formulas.derivatives import derivative
from trainlaw.formulas.enclosure import bounds
from trainlaw.formulas.errors import (
    InputError,
    MissingDependencyError,
    TrainlawError,
    UnitError,
    UnknownNameError,
    unknown_name,
)
from trainlaw.formulas.evaluation import evaluate
from trainlaw.formulas.expression import (
    MAX_DEPTH,
    MAX_NODES,
    Apply,
    Constant,
    Expression,
    Variable,
    additive_terms,
    check_size,
    complexity,
    constants,
    count_nodes,
    depth,
    fold,
    substitute,
    variables,
    with_constants,
)
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.files import read_text, write_bytes_atomically, write_text_atomically
from trainlaw.formulas.formula import Formula, GroupedConstant
from trainlaw.formulas.formula_file import load_formula, save_formula
from trainlaw.formulas.json_form import from_json, to_json
from trainlaw.formulas.operators import OPERATORS, Operator, operator_named
from trainlaw.formulas.pareto import ParetoFront, ScoredFormula
from trainlaw.formulas.proofs import Proof, prove_monotone, prove_sign
from trainlaw.formulas.rounding import RoundedExpression, round_constants
from trainlaw.formulas.row_sums import RowSums
from trainlaw.formulas.simplification import simplify, simplify_all
from trainlaw.formulas.sympy_bridge import from_sympy, to_sympy
from trainlaw.formulas.term_naming import term_names
from trainlaw.formulas.text import parse_text, to_text
from trainlaw.formulas.tidying import fold_constants, tidy
from trainlaw.formulas.unit_inference import constant_units, infer_unit
from trainlaw.formulas.units import DIMENSIONLESS, SECOND, Unit

__all__ = [
    "DIMENSIONLESS",
    "MAX_DEPTH",
    "MAX_NODES",
    "OPERATORS",
    "SECOND",
    "Apply",
    "Constant",
    "Expression",
    "FeatureSpec",
    "Formula",
    "GroupedConstant",
    "InputError",
    "MissingDependencyError",
    "Operator",
    "ParetoFront",
    "Proof",
    "RoundedExpression",
    "RowSums",
    "ScoredFormula",
    "TrainlawError",
    "Unit",
    "UnitError",
    "UnknownNameError",
    "Variable",
    "additive_terms",
    "bounds",
    "check_size",
    "complexity",
    "constant_units",
    "constants",
    "count_nodes",
    "depth",
    "derivative",
    "evaluate",
    "fold",
    "fold_constants",
    "from_json",
    "from_sympy",
    "infer_unit",
    "load_formula",
    "operator_named",
    "parse_text",
    "prove_monotone",
    "prove_sign",
    "read_text",
    "round_constants",
    "save_formula",
    "simplify",
    "simplify_all",
    "substitute",
    "term_names",
    "tidy",
    "to_json",
    "to_sympy",
    "to_text",
    "unknown_name",
    "variables",
    "with_constants",
    "write_bytes_atomically",
    "write_text_atomically",
]
