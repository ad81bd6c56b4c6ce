"""Constant folding: what an ONNX graph computes from shapes alone, such as the target of a reshape."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from trainlaw.datasets.cnns.readers.onnx_graph import MAX_VALUES, ConstantTensor, Node
from trainlaw.formulas.errors import InputError

Arguments = Sequence[ConstantTensor]


def _axes(node: Node, arguments: Arguments) -> list[int]:
    """Return the axes, an attribute (older versions of the operations) or the second input."""
    if "axes" in node.attributes:
        return list(node.attributes["axes"])
    return arguments[1].integers() if len(arguments) > 1 else []


def _gather(node: Node, arguments: Arguments) -> np.ndarray:
    axis = node.attributes.get("axis", 0)
    return np.take(arguments[0].array(), arguments[1].array().astype(np.int64), axis=axis)


def _concat(node: Node, arguments: Arguments) -> np.ndarray:
    return np.concatenate([argument.array() for argument in arguments], axis=node.attributes.get("axis", 0))


def _slice(node: Node, arguments: Arguments) -> np.ndarray:
    array = arguments[0].array()
    for axis, first, last, step in slices(node, arguments, array.ndim):
        array = array[(slice(None),) * axis + (slice(first, last, step),)]
    return array


def _squeeze(node: Node, arguments: Arguments) -> np.ndarray:
    return np.squeeze(arguments[0].array(), axis=tuple(_axes(node, arguments)) or None)


def _unsqueeze(node: Node, arguments: Arguments) -> np.ndarray:
    return np.expand_dims(arguments[0].array(), tuple(_axes(node, arguments)))


def _filled(node: Node, arguments: Arguments) -> np.ndarray:
    shape = arguments[0].integers()
    if any(side < 0 for side in shape) or np.prod(shape, dtype=float) > MAX_VALUES:
        raise InputError(f"expected a small constant, got one of shape {shape[:8]}")
    value = node.attributes.get("value", ConstantTensor.of([0.0]))
    return np.full(shape, value.numbers()[0])


def _expand(node: Node, arguments: Arguments) -> np.ndarray:
    array = arguments[0].array()
    shape = np.broadcast_shapes(array.shape, tuple(arguments[1].integers()))
    if np.prod(shape, dtype=float) > MAX_VALUES:
        raise InputError(f"expected a small constant, got one of shape {shape}")
    return np.broadcast_to(array, shape)


def _shape(node: Node, arguments: Arguments) -> np.ndarray:
    part = slice(node.attributes.get("start"), node.attributes.get("end"))
    return np.array(arguments[0].shape, dtype=np.int64)[part]


def _numeric(rule: Callable[..., Any]) -> Callable[[Node, Arguments], np.ndarray]:
    return lambda _, arguments: np.asarray(rule(*(argument.array() for argument in arguments)))


# ONNX divides integers as C does; shapes are never negative, so rounding down is the same.
def _divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    quotient: np.ndarray = a // b if np.issubdtype(a.dtype, np.integer) else a / b
    return quotient


# Numbers of the integer and boolean types in onnx.TensorProto.
_INTEGER_TYPES = frozenset({2, 3, 4, 5, 6, 7, 12, 13})


def _cast(node: Node, arguments: Arguments) -> np.ndarray:
    array = arguments[0].array()
    return array.astype(np.int64 if node.attributes.get("to") in _INTEGER_TYPES else np.float64)


_RULES: Mapping[str, Callable[[Node, Arguments], np.ndarray]] = {
    "Add": _numeric(np.add),
    "Sub": _numeric(np.subtract),
    "Mul": _numeric(np.multiply),
    "Div": _numeric(_divided),
    "Floor": _numeric(np.floor),
    "Ceil": _numeric(np.ceil),
    "Neg": _numeric(np.negative),
    "Shape": _shape,
    "Reshape": lambda _, arguments: arguments[0].array().reshape(arguments[1].integers()),
    "Expand": _expand,
    "Cast": _cast,
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "ConstantOfShape": _filled,
}


def constant_result(node: Node, arguments: Arguments) -> ConstantTensor:
    """Return the result of an operation on constants; raises `InputError` if it cannot be computed."""
    first = arguments[0]
    if node.operation in {"Identity", "CastLike"} or (node.operation == "Cast" and first.values is None):
        return first
    if node.operation == "Transpose":
        order = node.attributes.get("perm") or range(len(first.shape))[::-1]
        return ConstantTensor(tuple(first.shape[axis] for axis in order), learned=first.learned)
    if node.operation not in _RULES:
        raise InputError(f"operation {node.operation} on constants is not supported")
    with np.errstate(all="ignore"):
        result = np.asarray(_RULES[node.operation](node, arguments))
    if result.size > MAX_VALUES:
        raise InputError(f"operation {node.operation}: expected a small constant, got {result.size} values")
    return ConstantTensor.of(result)


def slices(node: Node, arguments: Arguments, rank: int) -> list[tuple[int, int, int, int]]:
    """Return axis, first, last and step of each part of a Slice; `arguments` start with what is sliced."""
    if "starts" in node.attributes:
        given = [list(node.attributes.get(name) or ()) for name in ("starts", "ends", "axes")]
    else:
        given = [argument.integers() for argument in arguments[1:]]
    firsts, lasts = given[0], given[1]
    axes = given[2] if len(given) > 2 and given[2] else range(len(firsts))
    steps = given[3] if len(given) > 3 else [1] * len(firsts)
    return list(zip((axis % rank for axis in axes), firsts, lasts, steps, strict=True))
