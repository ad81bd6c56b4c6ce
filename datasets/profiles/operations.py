"""Groups of operations of a training iteration, by the names that frameworks and libraries give them.

The names of TensorFlow are those of the built-in profiles; operators of PyTorch and kernels of the NVIDIA
libraries are recognised by parts of their names. The groups follow what bounds an operation (products, bytes,
transfers), so that operations absent from the training profiles (a depthwise convolution, a ReLU6) share a
group with others. Both gradients of a convolution are one group, since the operator of PyTorch computes them
together.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

MAX_NAME = 2_000  # characters of a name that are matched; names of template kernels are long


@dataclass(frozen=True)
class OperationGroup:
    """A group of operations.

    name : `<name>_s` is the feature with its seconds. operations : names of TensorFlow.
    patterns : regular expressions, searched for in other names in lower case.
    """

    name: str
    symbol: str
    meaning: str
    operations: tuple[str, ...]
    patterns: tuple[str, ...]


# Patterns are tried in this order: "cudnn_convolution_backward" is not a forward convolution.
_ROWS = (
    OperationGroup(
        "channelwise",
        "o_n",
        "normalisations and depthwise convolutions, forward and backward: each channel by itself",
        (
            "FusedBatchNormV3",
            "FusedBatchNormGradV3",
            "DepthwiseConv2dNative",
            "DepthwiseConv2dNativeBackpropFilter",
            "DepthwiseConv2dNativeBackpropInput",
        ),
        (r"(batch|layer|group|instance)_?norm", "batchnorm", r"\bbn_(fw|bw)", "depthwise", "dwconv"),
    ),
    OperationGroup(
        "conv_backward",
        "o_cb",
        "convolutions, gradients of inputs and weights",
        ("Conv2DBackpropInput", "Conv2DBackpropFilter"),
        (r"conv\w*backward", r"conv\w*backprop", "dgrad", "wgrad", "convolve_.*grad"),
    ),
    OperationGroup(
        "pool",
        "o_p",
        "pooling and means over pixels, forward and backward",
        ("MaxPool", "MaxPoolGrad", "AvgPool", "AvgPoolGrad", "Mean"),
        ("pool", r"^mean"),
    ),
    OperationGroup(
        "conv_forward",
        "o_cf",
        "convolutions, forward",
        ("Conv2D", "_FusedConv2D"),
        ("fprop", "conv", "scudnn", "winograd"),
    ),
    OperationGroup(
        "update",
        "o_u",
        "the optimizer's update of the weights",
        ("ResourceApplyGradientDescent", "AssignAddVariableOp", "AssignSubVariableOp"),
        (
            "optimizer",
            "_foreach_",
            "_fused_sgd",
            "_fused_adam",
            "resourceapply",
            "multi_tensor_apply",
            r"^assign",
        ),
    ),
    OperationGroup(
        "loss",
        "o_l",
        "loss, its gradient, accuracy",
        (
            "Softmax",
            "SoftmaxCrossEntropyWithLogits",
            "ArgMax",
            "Equal",
            "GreaterEqual",
            "LogicalAnd",
            "RandomUniform",
        ),
        ("softmax", "nll_loss", "entropy", "loss", "argmax", "random", "dropout", r"^(eq|[nlg]e|[gl]t)$"),
    ),
    OperationGroup(
        "dense",
        "o_d",
        "matrix products of dense layers, forward and backward",
        ("MatMul",),
        ("gemm", "gemv", "matmul", r"^(add)?b?a?mm$", "linear", r"^addmv$", "splitkreduce"),
    ),
    OperationGroup(
        "activation",
        "o_a",
        "activations, forward and backward",
        ("Relu", "ReluGrad", "Relu6", "Relu6Grad", "Sigmoid", "SigmoidGrad"),
        (
            "relu",
            "clamp",
            "threshold",
            "hardtanh",
            "sigmoid",
            "silu",
            "swish",
            "gelu",
            "tanh",
            r"^elu",
            "softplus",
        ),
    ),
    OperationGroup(
        "transfer",
        "o_t",
        "copies between the host and the device",
        ("_Send", "_Recv", "_HostRecv", "_HostSend"),
        ("memcpy ?(htod|dtoh)", "memcpyhtod", "memcpydtoh", "pin_memory", r"^_?(host)?(send|recv)$"),
    ),
    OperationGroup(
        "movement",
        "o_m",
        "operations that only move, fill or convert elements",
        ("ConcatV2", "Slice", "Pad", "Transpose", "Tile", "BroadcastTo", "DynamicStitch", "Cast"),
        (
            "concat",
            r"^_?cat$",
            "catarray",
            "copy",
            "clone",
            "detach",
            "flatten",
            "resolve_",
            "strided",
            "contiguous",
            "pad",
            "transpose",
            "permute",
            "slice",
            "index",
            "gather",
            "scatter",
            "expand",
            "view",
            "reshape",
            "stack",
            "fill",
            "zero",
            "ones",
            "empty",
            "memset",
            "memcpy",
            "convert",
            "nchwtonhwc",
            "nhwctonchw",
            r"^(_to|to|cast|t|tile|identity|split|narrow|select|resize_)$",
            "tensortransform",
            "im2col",
            "upsample",
        ),
    ),
    OperationGroup(
        "elementwise",
        "o_e",
        "other operations on each element: sums, products, biases",
        (
            "AddV2", "AddN", "BiasAdd", "BiasAddGrad", "Mul", "Sub", "Square", "SquaredDifference", "RealDiv",
            "Rsqrt", "RsqrtGrad", "Neg", "DivNoNan", "Sum",
        ),
        (
            "elementwise",
            r"^_?(i?add|mul|sub|rsub|div|neg|sum|square|sqrt|rsqrt|pow|exp|log|abs|sign|addc(mul|div)|lerp)",
            "bias",
            "reduce",
        ),
    ),
)  # fmt: skip
OPERATION_GROUPS: Mapping[str, OperationGroup] = MappingProxyType({row.name: row for row in _ROWS})
_EXACT = {operation: row.name for row in _ROWS for operation in row.operations}
_PATTERNS = tuple((re.compile("|".join(row.patterns)), row.name) for row in _ROWS)
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
    return next((group for pattern, group in _PATTERNS if pattern.search(plain)), None)
