"""Shapes and small constants of an ONNX graph, as the package onnx infers and computes them."""

from collections.abc import Sequence
from math import prod

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
# Position of the first input that is a shape, sides or axes.
_FIRST_PARAMETER = {"ConstantOfShape": 0, "CastLike": 2}


def result_shapes(node: Node, arguments: Sequence[Argument]) -> tuple[tuple[int, ...], ...]:
    """Return the shape of each result of a node by the rules of its operation; InputError without one."""
    onnx, operation = optional_package("onnx", "cnn"), node.proto.op_type
    # Of unknown sides, onnx would make as many as are declared, which may be billions.
    for value in arguments[_FIRST_PARAMETER.get(operation, 1) :]:
        if isinstance(value, Tensor) or (value is not None and value.values is None):
            raise InputError(f"expected known values of a shape, sides or axes, got those of {value.shape}")
    types, data = {}, {}
    for name, value in zip(node.proto.input, arguments, strict=True):
        values = value.values if isinstance(value, ConstantTensor) else None
        kind = np.dtype(np.float32) if values is None else values.dtype
        if value is not None:
            number = onnx.helper.np_dtype_to_tensor_dtype(kind)
            types[name] = onnx.helper.make_tensor_type_proto(number, value.shape)
        if values is not None:
            data[name] = onnx.numpy_helper.from_array(values)
    try:
        schema = onnx.defs.get_schema(operation, node.opset, "")
        found = onnx.shape_inference.infer_node_outputs(schema, node.proto, types, data)
    # Its parts raise errors of classes that have only Exception in common.
    except Exception as error:
        raise InputError(f"its result has no shape: {shown(str(error), 160)}") from None
    shapes = [found[name].tensor_type.shape if name in found else None for name in node.proto.output]
    sides = [[side.dim_value for side in shape.dim] if shape else [0] for shape in shapes]
    if any(side < 1 for each in sides for side in each):
        raise InputError("its result has no shape, or no elements")
    return tuple(map(tuple, sides))


def constant_result(node: Node, arguments: Sequence[Argument]) -> ConstantTensor:
    """Return the result of an operation on constants; raises `InputError` if it cannot be computed."""
    if node.proto.op_type not in _COMPUTED:
        raise InputError(f"operation {node.proto.op_type} on constants is not supported")
    named = dict(zip(node.proto.input, arguments, strict=True))
    constants = {name: value for name, value in named.items() if isinstance(value, ConstantTensor)}
    first, (shape,) = constants[node.proto.input[0]], result_shapes(node, arguments)
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
    given = {name: constant.array() for name, constant in constants.items()}
    with np.errstate(all="ignore"):
        (result,) = evaluator(node.proto, opsets={"": node.opset}).run(None, given)
    return ConstantTensor.of(result)
