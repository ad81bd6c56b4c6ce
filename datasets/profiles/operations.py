"""Groups of operations of a training iteration, by the names that frameworks and libraries give them.

The names of TensorFlow are those of the built-in profiles; operators of PyTorch and kernels of the NVIDIA
libraries are recognised by parts of their names. The groups follow what bounds an operation (products, bytes,
transfers), so that operations absent from the training profiles (a depthwise convolution, a ReLU6) share a
group with others. Both gradients of a convolution are one group, since the operator of PyTorch computes them
together. In `operations.csv`, names of TensorFlow ("name") are compared as they are; parts of names
("pattern") are regular expressions, searched for in lower case.
"""

import re
from functools import cache

from trainlaw.datasets.files.storage import read_data_rows

MAX_NAME = 2_000  # characters of a name that are matched; names of template kernels are long
_ROWS = read_data_rows("operations.csv")
#: Names of the groups, in the order in which their patterns are tried: "cudnn_convolution_backward" is not a
#: forward convolution. `<name>_s` is the feature with the seconds of a group.
OPERATION_GROUPS: tuple[str, ...] = tuple(dict.fromkeys(row["group"] for row in _ROWS))
_EXACT = {row["text"]: row["group"] for row in _ROWS if row["kind"] == "name"}
_PATTERNS = {
    group: "|".join(row["text"] for row in _ROWS if (row["group"], row["kind"]) == (group, "pattern"))
    for group in OPERATION_GROUPS
}
_NAMESPACE = re.compile(r"^[a-z_]\w*::")


@cache
def operation_group(name: str) -> str | None:
    """Return the name of the group of an operation, None if it belongs to no known group.

    >>> [operation_group(name) for name in ("Conv2DBackpropFilter", "aten::cudnn_convolution", "aten::mm")]
    ['conv_backward', 'conv_forward', 'dense']
    >>> operation_group("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)")
    'channelwise'
    >>> operation_group("frobnicate") is None
    True
    """
    if name in _EXACT:
        return _EXACT[name]
    plain = _NAMESPACE.sub("", name[:MAX_NAME].lower())
    return next((group for group, pattern in _PATTERNS.items() if re.search(pattern, plain)), None)
