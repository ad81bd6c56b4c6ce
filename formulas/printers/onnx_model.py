"""A formula as an ONNX model of double precision, for any runtime of ONNX; needs the package onnx."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from trainlaw.formulas.algebra.expression import Apply, Expression, fold
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.errors import optional_package
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.formula import Formula, GroupedConstant
from trainlaw.formulas.printers.language import hides_infinity, may_overflow
from trainlaw.formulas.printers.naming import as_formula, header, identifiers, inert

# The first set of operators in which Equal compares texts, and the file format that belongs to it.
OPSET, IR_VERSION = 19, 9
ROWS = "n_runs"

# Operators that ONNX has; the others are written in terms of these.
OPERATIONS = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "neg": "Neg",
    "abs": "Abs",
    "inv": "Reciprocal",
    "sqrt": "Sqrt",
    "exp": "Exp",
    "log": "Log",
    "min": "Min",
    "max": "Max",
    "sin": "Sin",
    "cos": "Cos",
    "tanh": "Tanh",
}


def print_onnx(formula: Formula | Expression) -> bytes:
    """Return the bytes of an ONNX model: one input per feature, float64 of shape (n_runs,), in its unit.

    Grouped constants take the groups' labels as a further input of texts. The output is the target, nan where
    the formula is not valid. The model's documentation says what every printed form says in its header.
    Raises MissingDependencyError without the package onnx.
    """
    formula, onnx = as_formula(formula), _onnx()
    writer = _Writer(formula, onnx)
    writer.write()
    graph = onnx.helper.make_graph(
        writer.nodes, "formula", writer.inputs, [writer.output], doc_string=inert(formula.text(None))
    )
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="trainlaw",
        doc_string="\n".join(header(formula)),
    )
    onnx.checker.check_model(model)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def _onnx() -> ModuleType:
    for part in ("onnx.checker", "onnx.helper"):
        optional_package(part, "cnn")
    return optional_package("onnx", "cnn")


class _Writer:
    """Collects the nodes of a graph; every value has a name, equal expressions share one."""

    def __init__(self, formula: Formula, onnx: ModuleType) -> None:
        self.formula, self.helper, self.kinds = formula, onnx.helper, onnx.TensorProto
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.known: dict[tuple[str, ...], str] = {}
        self.infinite: set[str] = set()
        self.names = identifiers([spec.name for spec in formula.used_features], ())
        self.label_names = identifiers([constant.key for constant in formula.grouped], self.names.values())
        taken = [*self.names.values(), *self.label_names.values()]
        self.target_name = identifiers([formula.target.name], taken)[formula.target.name]

    def write(self) -> None:
        """Write the whole formula."""
        self.places = {spec.name: self.input(spec) for spec in self.formula.used_features}
        self.places |= {constant.name: self.choice(constant) for constant in self.formula.grouped}
        result = self.written(self.formula.expression, self.places)
        self.output = self.value(self.target_name, self.kinds.DOUBLE, self.formula.target)
        # Values have technical names; the output carries the target's.
        self.nodes.append(self.helper.make_node("Identity", [self.finite(result)], [self.target_name]))

    def written(self, expression: Expression, places: Mapping[str, str]) -> str:
        """Return the value of an expression over values by the names of its variables."""
        return fold(
            expression, lambda node: self.number(node.value), lambda node: places[node.name], self.apply
        )

    def value(self, name: str, kind: int, spec: FeatureSpec | None) -> Any:
        """Return the description of an input or output; without any input there is but one value."""
        text = f"{spec.name} [{spec.unit}] {spec.meaning}" if spec else name
        shape = [ROWS] if self.inputs or name != self.target_name else []
        return self.helper.make_tensor_value_info(name, kind, shape, doc_string=inert(text))

    def input(self, spec: FeatureSpec) -> str:
        """Declare the input of a feature and return its value, nan where it is not finite."""
        self.inputs.append(self.value(self.names[spec.name], self.kinds.DOUBLE, spec))
        return self.finite(self.names[spec.name])

    def choice(self, constant: GroupedConstant) -> str:
        """Return the value of a grouped constant by the group's label."""
        label = self.label_names[constant.key]
        if label not in [item.name for item in self.inputs]:
            self.inputs.append(self.value(label, self.kinds.STRING, None))
        found = self.number(constant.default)
        for group, value in constant.values.items():
            same = self.node("Equal", label, self.tensor(self.kinds.STRING, str(group).encode()))
            found = self.node("Where", same, self.number(value), found)
        return found

    def apply(self, node: Apply, arguments: tuple[str, ...]) -> str:
        """Return the value of an operator, checked where it would hide that an argument is not finite."""
        hidden = hides_infinity(node.operator)
        sure = [
            self.finite(name) if hides and name in self.infinite else name
            for name, hides in zip(arguments, hidden, strict=True)
        ]
        found = self.operation(node.operator, sure)
        if may_overflow(node.operator) or not self.infinite.isdisjoint(sure):
            self.infinite.add(found)
        return found

    def operation(self, operator: str, arguments: list[str]) -> str:
        """Return the value of an operator over finite arguments or nan."""
        first = arguments[0]
        if operator in OPERATIONS:
            return self.node(OPERATIONS[operator], *arguments)
        if (definition := OPERATORS[operator].definition) is not None:
            places = dict(zip("ab", arguments, strict=False))
            return self.written(parse_text(definition), places)
        if operator == "cbrt":
            root = self.node("Pow", self.node("Abs", first), self.number(1 / 3))
            return self.node("Mul", self.node("Sign", first), root)
        if operator == "step":
            return self.node(
                "Mul", self.number(0.5), self.node("Add", self.node("Sign", first), self.number(1.0))
            )
        # nan to the power 0 is 1 in the libraries that runtimes call.
        lost = self.node("IsNaN", self.node("Add", *arguments))
        return self.node("Where", lost, self.number(float("nan")), self.node("Pow", *arguments))

    def finite(self, name: str) -> str:
        """Return a value with nan in place of infinity."""
        return self.node("Where", self.node("IsInf", name), self.number(float("nan")), name)

    def number(self, value: float) -> str:
        """Return the value of a constant."""
        return self.tensor(self.kinds.DOUBLE, float(value))

    def tensor(self, kind: int, value: float | bytes) -> str:
        """Return a constant without dimensions, of a kind of ONNX."""
        key = ("Constant", repr(value))
        if key not in self.known:
            self.known[key] = self.free_name()
            content = self.helper.make_tensor("value", kind, [], [value])
            self.nodes.append(self.helper.make_node("Constant", [], [self.known[key]], value=content))
        return self.known[key]

    def node(self, operation: str, *arguments: str) -> str:
        """Return the value of an operation of ONNX over values."""
        key = (operation, *arguments)
        if key not in self.known:
            self.known[key] = self.free_name()
            self.nodes.append(self.helper.make_node(operation, list(arguments), [self.known[key]]))
        return self.known[key]

    def free_name(self) -> str:
        """Return a name for the next value; a colon is in no name of an input."""
        return f"value:{len(self.known) + 1}"
