import numpy as np
import pytest
from trainlaw.datasets.cnns.readers.onnx_graph import ConstantTensor, Node
from trainlaw.datasets.cnns.readers.onnx_shapes import constant_result, result_shapes
from trainlaw.datasets.cnns.readers.tensors import Tensor
from trainlaw.formulas.errors import InputError

from ....rows import each_row

onnx = pytest.importorskip("onnx", reason="the extra 'cnn' brings onnx")


def node(operation, arguments, opset=20, outputs=("y",), **attributes):
    names = [f"x{position}" for position in range(len(arguments))]
    proto = onnx.helper.make_node(operation, names, list(outputs), **attributes)
    return Node(proto, opset, attributes)


def result(operation, *values, **attributes):
    arguments = [value if isinstance(value, ConstantTensor) else ConstantTensor.of(value) for value in values]
    return constant_result(node(operation, arguments, **attributes), arguments)


CASES = [
    ("Add", ([1, 2], [3]), {}, [4, 5]),
    ("Div", ([7], [2]), {}, [3]),
    ("Gather", ([4, 5, 6], [2]), {}, [6]),
    ("Concat", ([1], [2, 3]), {"axis": 0}, [1, 2, 3]),
    ("Slice", ([1, 2, 3, 4], [1], [3]), {}, [2, 3]),
    ("Slice", ([1, 2, 3, 4],), {"starts": [0], "ends": [4], "opset": 7}, [1, 2, 3, 4]),
    ("Squeeze", ([[7]],), {}, 7),
    ("Unsqueeze", ([7],), {"axes": [0], "opset": 11}, [[7]]),
    ("Cast", ([1.5],), {"to": 7}, [1]),
    ("CastLike", ([3], [1.0]), {}, [3]),
    ("Reshape", ([1, 2, 3, 4], [2, -1]), {}, [[1, 2], [3, 4]]),
    ("Expand", ([1], [3]), {}, [1, 1, 1]),
    ("ConstantOfShape", ([2],), {}, [0, 0]),
]


@each_row(("operation", "values", "attributes", "expected"), CASES)
def test_small_constants_are_computed(operation, values, attributes, expected):
    np.testing.assert_array_equal(result(operation, *values, **attributes).values, expected)


def test_weights_keep_only_their_shape():
    weight = ConstantTensor((4, 3), learned=True)
    assert result("Transpose", weight) == ConstantTensor((3, 4), learned=True)
    assert result("Transpose", weight, perm=[0, 1]).shape == (4, 3)
    assert result("Cast", weight, to=10) == weight


def test_shapes_follow_from_axes_counted_from_the_end():
    arguments = [Tensor(0, (1, 3, 8, 8)), *(ConstantTensor.of([n]) for n in (0, 4, -1))]
    assert result_shapes(node("Slice", arguments), arguments) == ((1, 3, 8, 4),)
    assert result_shapes(
        node("Split", arguments[:1], outputs="ab", num_outputs=2, axis=1), arguments[:1]
    ) == (
        (1, 2, 8, 8),
        (1, 1, 8, 8),
    )


def test_values_in_another_file_are_not_read():
    stored = onnx.TensorProto(name="v", dims=[1], data_type=7, data_location=1)
    stored.external_data.add(key="location", value="/etc/passwd")
    proto = onnx.helper.make_node("ConstantOfShape", ["x0"], ["y"], value=stored)
    with pytest.raises(InputError, match="known values"):
        constant_result(Node(proto, 20, {"value": ConstantTensor((1,))}), [ConstantTensor.of([2])])
