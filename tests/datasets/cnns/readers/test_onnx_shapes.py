import numpy as np
from trainlaw.datasets.cnns.readers.onnx_graph import ConstantTensor, Node
from trainlaw.datasets.cnns.readers.onnx_shapes import constant_result, slices

from ....rows import each_row


def result(operation, *values, **attributes):
    arguments = [value if isinstance(value, ConstantTensor) else ConstantTensor.of(value) for value in values]
    return constant_result(Node(operation, (), ("y",), attributes, ""), arguments)


CASES = [
    ("Add", ([1, 2], [3]), {}, [4, 5]),
    ("Sub", ([5], [3]), {}, [2]),
    ("Mul", ([2, 3], [4]), {}, [8, 12]),
    ("Div", ([7], [2]), {}, [3]),
    ("Div", ([7.0], [2.0]), {}, [3.5]),
    ("Floor", ([1.7],), {}, [1.0]),
    ("Shape", ([[1, 2, 3]],), {"start": 1}, [3]),
    ("Gather", ([4, 5, 6], [2]), {}, [6]),
    ("Concat", ([1], [2, 3]), {"axis": 0}, [1, 2, 3]),
    ("Slice", ([1, 2, 3, 4], [1], [3]), {}, [2, 3]),
    ("Slice", ([1, 2, 3, 4],), {"starts": [0], "ends": [4]}, [1, 2, 3, 4]),
    ("Slice", ([1, 2, 3, 4], [0], [4], [0], [2]), {}, [1, 3]),
    ("Squeeze", ([[7]],), {}, 7),
    ("Squeeze", ([[7, 8]], [0]), {}, [7, 8]),
    ("Unsqueeze", ([7],), {"axes": [0]}, [[7]]),
    ("Cast", ([1.5],), {"to": 7}, [1]),
    ("Cast", ([1],), {"to": 1}, [1.0]),
    ("CastLike", ([3], [1.0]), {}, [3]),
    ("Reshape", ([1, 2, 3, 4], [2, -1]), {}, [[1, 2], [3, 4]]),
    ("Expand", ([1], [3]), {}, [1, 1, 1]),
    ("ConstantOfShape", ([2],), {"value": ConstantTensor.of([9])}, [9, 9]),
    ("Identity", ([5],), {}, [5]),
]


@each_row(("operation", "values", "attributes", "expected"), CASES)
def test_small_constants_are_computed(operation, values, attributes, expected):
    np.testing.assert_array_equal(result(operation, *values, **attributes).values, expected)


def test_weights_keep_only_their_shape():
    weight = ConstantTensor((4, 3), learned=True)
    assert result("Transpose", weight) == ConstantTensor((3, 4), learned=True)
    assert result("Transpose", weight, perm=[0, 1]).shape == (4, 3)
    assert result("Cast", weight, to=10) == weight


def test_slices_count_axes_from_the_end():
    node = Node("Slice", (), (), {}, "")
    arguments = [ConstantTensor((1, 3, 8, 8)), *(ConstantTensor.of([n]) for n in (0, 4, -1))]
    assert slices(node, arguments, 4) == [(3, 0, 4, 1)]
