"""Shapes and small constants of an ONNX graph, as the package onnx infers and computes them."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from trainlaw.datasets.cnns.readers.onnx_graph import MAX_VALUES, ConstantTensor, Node
from trainlaw.datasets.cnns.readers.tensors import Tensor
from trainlaw.formulas.errors import InputError, optional_package, shown

Argument = Tensor | ConstantTensor | None

# The same values in another shape: those of a weight, which are not read, are not needed.
_VIEWS = frozenset({"Identity", "CastLike", "Reshape", "Squeeze", "Unsqueeze"})
_KEEPING_WEIGHTS = _VIEWS | {"Cast", "Transpose"}
# What exporters compute shapes, axes and limits with; other operations on constants may take any time.
_COMPUTED = _KEEPING_WEIGHTS | frozenset(
    "Add Sub Mul Div Floor Ceil Neg Expand Gather Concat Slice ConstantOfShape".split()
)


def result_shapes(node: Node, arguments: Sequence[Argument]) -> tuple[tuple[int, ...], ...]:
    """Return the shape of each result of a node by the rules of its operation; InputError without one."""
    onnx = optional_package("onnx", "cnn")
    named = {
        name: value for name, value in zip(node.proto.input, arguments, strict=True) if value is not None
    }
    known = {name: values for name, value in named.items() if (values := _values(value)) is not None}
    types = {
        name: onnx.helper.make_tensor_type_proto(_type(value, onnx), value.shape)
        for name, value in named.items()
    }
    data = {name: onnx.numpy_helper.from_array(values) for name, values in known.items()}
    try:
        schema = onnx.defs.get_schema(node.proto.op_type, node.opset, "")
        found = onnx.shape_inference.infer_node_outputs(schema, node.proto, types, data)
    except (
        onnx.checker.ValidationError,
        onnx.defs.SchemaError,
        onnx.shape_inference.InferenceError,
    ) as error:
        raise InputError(f"its result has no shape: {shown(str(error), 160)}") from None
    shapes = [found[name].tensor_type.shape if name in found else None for name in node.proto.output]
    sides = [[side.dim_value for side in shape.dim] if shape else [0] for shape in shapes]
    if any(0 in each for each in sides):
        raise InputError("its result has no known shape, or no elements")
    return tuple(map(tuple, sides))


def _values(value: Argument) -> np.ndarray | None:
    return value.values if isinstance(value, ConstantTensor) else None


def _type(value: Argument, onnx: Any) -> int:
    values = _values(value)
    kind = np.dtype(np.float32) if values is None else values.dtype
    return int(onnx.helper.np_dtype_to_tensor_dtype(kind))


def constant_result(node: Node, arguments: Sequence[ConstantTensor]) -> ConstantTensor:
    """Return the result of an operation on constants; raises `InputError` if it cannot be computed."""
    if node.proto.op_type not in _COMPUTED:
        raise InputError(f"operation {node.proto.op_type} on constants is not supported")
    first, (shape,) = arguments[0], result_shapes(node, arguments)
    if node.proto.op_type in _KEEPING_WEIGHTS and first.values is None:
        return ConstantTensor(shape, learned=first.learned)
    if prod(shape) > MAX_VALUES:
        raise InputError(
            f"operation {node.proto.op_type}: expected a small constant, got one of shape {shape}"
        )
    if node.proto.op_type in _VIEWS:
        return ConstantTensor(shape, first.array().reshape(shape), first.learned)
    for attribute in node.attributes.values():
        if isinstance(attribute, ConstantTensor):
            # Without values here, they lie in another file, which is not opened.
            attribute.array()
    evaluator = optional_package("onnx.reference", "cnn").ReferenceEvaluator
    given = {name: each.array() for name, each in zip(node.proto.input, arguments, strict=True)}
    with np.errstate(all="ignore"):
        (result,) = evaluator(node.proto, opsets={"": node.opset}).run(None, given)
    return ConstantTensor.of(result)
