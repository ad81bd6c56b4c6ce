"""CNNs from `torch.nn.Module`: one forward pass on the meta device, where tensors have no data.

The only file of the package, with the profiler, that imports torch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trainlaw.datasets.cnns.graph import Cnn, kinds_by
from trainlaw.datasets.cnns.readers.foreign import foreign_faults
from trainlaw.datasets.cnns.readers.tensors import LEARNED, GraphTracer, Tensor
from trainlaw.datasets.cnns.windows import pair
from trainlaw.formulas.errors import InputError, optional_package, shown

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor that does not come from the input: its shape, and whether the module learns it."""

    shape: tuple[int, ...]
    learned: bool


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of a function: its arguments, and the shapes of its results."""

    tracer: GraphTracer
    arguments: Sequence[Any]
    options: Mapping[str, Any]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.shapes[0] if self.shapes else ()

    def get(self, position: int, name: str, default: Any = None) -> Any:
        """The argument at a position or of a name."""
        if position < len(self.arguments):
            return self.arguments[position]
        return self.options.get(name, default)

    @property
    def data(self) -> Tensor:
        """The first argument, which must come from the input."""
        value = self.get(0, "input")
        if not isinstance(value, Tensor):
            raise InputError("expected its first argument to come from the input")
        return value


Operation = Callable[[ModuleCall], Tensor | tuple[Tensor, ...]]


def _learned(*weights: Any) -> int:
    return sum(prod(weight.shape) for weight in weights if isinstance(weight, Weight) and weight.learned)


def _convolving(call: ModuleCall, dilation_position: int) -> dict[str, Any]:
    padding = call.get(4, "padding", 0)
    return {
        "stride": pair(call.get(3, "stride", 1)),
        "padding": padding if isinstance(padding, str) else pair(padding),
        "dilation": pair(call.get(dilation_position, "dilation", 1)),
        "groups": call.get(6, "groups", 1),
        "bias": call.get(2, "bias") is not None,
    }


def _conv(call: ModuleCall) -> Tensor:
    channels, _, *kernel = call.get(1, "weight").shape
    return call.tracer.conv(call.data, channels, pair(kernel), **_convolving(call, 5))


def _conv_transpose(call: ModuleCall) -> Tensor:
    _, per_group, *kernel = call.get(1, "weight").shape
    options = _convolving(call, 7)
    options["output_padding"] = pair(call.get(5, "output_padding", 0))
    return call.tracer.conv_transpose(call.data, per_group * options["groups"], pair(kernel), **options)


def _pool(kind: str, ceil_position: int) -> Operation:
    def operation(call: ModuleCall) -> Tensor:
        kernel = pair(call.get(1, "kernel_size"))
        stride = call.get(2, "stride")
        return call.tracer.pool(
            call.data,
            kind,
            kernel,
            pair(call.get(4, "dilation", 1) if kind == "max_pool" else 1),
            stride=kernel if stride in (None, [], ()) else pair(stride),
            padding=pair(call.get(3, "padding", 0)),
            ceil=bool(call.get(ceil_position, "ceil_mode", False)),
        )

    return operation


def _adaptive_pool(kind: str) -> Operation:
    def operation(call: ModuleCall) -> Tensor:
        # The usual case has exact windows: the whole image.
        if call.shape[2:] == (1, 1):
            return call.tracer.global_pool(call.data, kind, call.shape)
        return call.tracer.adaptive_pool(call.data, kind, *call.shape[2:])

    return operation


def _global_pool(kind: str) -> Operation:
    return lambda call: call.tracer.global_pool(call.data, kind, call.shape)


def _elementwise(kind: str) -> Operation:
    def operation(call: ModuleCall) -> Tensor:
        learned = _learned(*call.arguments, *call.options.values()) if kind in LEARNED else 0
        return call.tracer.elementwise(call.data, kind, learned)

    return operation


def _arithmetic(kind: str) -> Operation:
    def operation(call: ModuleCall) -> Tensor:
        operands = [call.get(0, "input"), call.get(1, "other")]
        x = call.tracer.merge(kind, [operand for operand in operands if isinstance(operand, Tensor)])
        for operand in operands:
            if not isinstance(operand, Tensor):
                x = call.tracer.elementwise(x, "scale", _learned(operand))
        return x

    return operation


def _concat(call: ModuleCall) -> Tensor:
    tensors = call.get(0, "tensors")
    if not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise InputError("expected all its parts to come from the input")
    return call.tracer.concat(tensors, call.get(1, "dim", 0))


def _slices(call: ModuleCall) -> tuple[Tensor, ...]:
    return tuple(call.tracer.slice(call.data, shape) for shape in call.shapes)


def _pad(call: ModuleCall) -> Tensor:
    left, right, top, bottom, *others = (*call.get(1, "pad"), 0, 0, 0, 0)[:8]
    if any(others):
        raise InputError("expected a padding of height and width only")
    *whole, height, width = call.data.shape
    # A negative side cuts pixels off (NASNet shifts an image by one pixel so).
    left_over = (height + min(top, 0) + min(bottom, 0), width + min(left, 0) + min(right, 0))
    x = call.tracer.slice(call.data, (*whole, *left_over))
    return call.tracer.pad(x, [max(side, 0) for side in (top, left, bottom, right)])


def _channel_conv(call: ModuleCall) -> Tensor:
    """A convolution of one channel along a vector, as in efficient channel attention (arXiv:1910.03151)."""
    if call.shape != call.data.shape or call.shape[1] != 1:
        raise InputError(f"expected a vector of one channel that keeps its length, got {call.data.shape}")
    call.tracer.notes.append("one-dimensional convolutions along channels are counted as scales")
    return call.tracer.elementwise(call.data, "scale", _learned(call.get(1, "weight"), call.get(2, "bias")))


def _stack(call: ModuleCall) -> Tensor:
    """Equal images along a new axis before their channels."""
    tensors = call.get(0, "tensors")
    if call.get(1, "dim", 0) != 1 or not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise InputError("expected images from the input, stacked along axis 1")
    return Tensor(call.tracer.concat(tensors, 1).layer, call.shape)


def _sum(call: ModuleCall) -> Tensor:
    """The sum over groups of channels that a view has split off as axis 1."""
    x, axis = call.data, call.get(1, "dim")
    if axis not in (1, [1]) or len(x.shape) != 5 or len(call.shape) != 4:
        raise InputError(f"expected it over axis 1 of five, got axes {axis} of shape {x.shape}")
    whole = Tensor(x.layer, (x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:]))
    return call.tracer.merge("add", [call.tracer.slice(whole, call.shape) for _ in range(x.shape[1])])


def _transpose(call: ModuleCall) -> Tensor:
    x = call.data
    order = list(range(len(x.shape)))
    first, second = call.get(1, "dim0"), call.get(2, "dim1")
    order[first], order[second] = order[second], order[first]
    return call.tracer.transpose(x, order)


def _permute(call: ModuleCall) -> Tensor:
    order = call.get(1, "dims")
    order = call.arguments[1:] if isinstance(order, int) else order
    return call.tracer.transpose(call.data, [axis % len(call.shape) for axis in order])


ALIASES = frozenset(
    "contiguous detach clone requires_grad expand expand_as to type float half bfloat16".split()
)
# The same learned elements in another shape or type.
WEIGHT_VIEWS = frozenset("view reshape flatten unsqueeze squeeze to type float half".split())
# These take only the shape of a tensor, as for the noise of stochastic depth.
CREATORS = frozenset(
    "zeros_like ones_like empty_like full_like rand_like randn_like"
    " new_zeros new_ones new_empty new_full new_tensor".split()
)
OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        **{name: _elementwise(kind) for name, kind in kinds_by("torch").items()},
        "conv2d": _conv,
        "conv1d": _channel_conv,
        "stack": _stack,
        "sum": _sum,
        "conv_transpose2d": _conv_transpose,
        "linear": lambda call: call.tracer.dense(
            call.data, call.get(1, "weight").shape[0], bias=call.get(2, "bias") is not None
        ),
        "max_pool2d": _pool("max_pool", ceil_position=5),
        "avg_pool2d": _pool("average_pool", ceil_position=4),
        "adaptive_avg_pool2d": _adaptive_pool("average_pool"),
        "adaptive_max_pool2d": _adaptive_pool("max_pool"),
        "mean": _global_pool("average_pool"),
        "amax": _global_pool("max_pool"),
        **dict.fromkeys(("add", "iadd", "radd", "sub", "isub", "rsub"), _arithmetic("add")),
        **dict.fromkeys(
            ("mul", "imul", "rmul", "div", "itruediv", "rtruediv", "truediv"), _arithmetic("multiply")
        ),
        **dict.fromkeys(("cat", "concat", "concatenate"), _concat),
        # The shape of a part is that of the result.
        **dict.fromkeys(("getitem", "narrow", "chunk", "split"), _slices),
        "pad": _pad,
        **dict.fromkeys(
            ("interpolate", "upsample"), lambda call: call.tracer.resize(call.data, *call.shape[2:])
        ),
        **dict.fromkeys(
            ("view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as"),
            lambda call: call.tracer.reshape(call.data, call.shape),
        ),
        **dict.fromkeys(("transpose", "swapaxes"), _transpose),
        "permute": _permute,
        "channel_shuffle": lambda call: Tensor(
            call.tracer.builder.channel_shuffle(call.data.layer, call.get(1, "groups")), call.data.shape
        ),
    }
)


# Two samples: a batch normalisation in training refuses a single value per channel.
_BATCH = 2


def read_torch(module: "torch.nn.Module", input_shape: tuple[int, int, int], name: str = "") -> Cnn:
    """Read a CNN from a module by following its forward pass in training mode.

    `input_shape` is (channels, height, width), pixels. The module is not changed or moved, and no data are
    computed. Raises `InputError` for what cannot be followed, `MissingDependencyError` without torch.
    """
    torch = optional_package("torch", "profile")
    title = name or type(module).__name__
    with foreign_faults(f"module {shown(title)}"), _training_mode(module):
        return _Recording(torch, module).read(title, input_shape)


@contextmanager
def _training_mode(module: "torch.nn.Module") -> Iterator[None]:
    """All parts of the module in training mode, and back as they were."""
    modes = [(part, part.training) for part in module.modules()]
    module.train()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


class _Recording:
    """The layers that one forward pass of a module makes."""

    def __init__(self, torch: Any, module: "torch.nn.Module") -> None:
        self._torch = torch
        self._module = module
        self._tracer = GraphTracer()
        self._values: dict[int, Tensor] = {}
        # Tensors stay alive while their identity is a key.
        self._kept: list[Any] = []
        state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        self._state = {key: torch.empty_like(value, device="meta") for key, value in state.items()}
        self._learned = {id(self._state[key]) for key, _ in module.named_parameters()}

    def read(self, name: str, input_shape: tuple[int, int, int]) -> Cnn:
        shape = (_BATCH, *input_shape)
        value = self._tracer.input(shape)
        image = self._torch.empty(shape, device="meta")
        self._keep(image, value)
        try:
            # The call is made with stand-ins for parameters and buffers, so the module keeps its own.
            with _mode(self._torch, self._follow), self._torch.no_grad():
                result = self._torch.func.functional_call(self._module, self._state, (image,))
        except (AssertionError, RuntimeError) as error:
            raise InputError(f"its forward pass fails on the meta device: {shown(str(error), 160)}") from None
        outputs = [self._values[id(tensor)] for tensor in _leaves(result) if id(tensor) in self._values]
        cnn = self._tracer.finish(name, outputs)
        learned = sum(parameter.numel() for parameter in self._module.parameters())
        counted = sum(layer.parameters for layer in cnn.layers)
        if learned == counted:
            return cnn
        note = (
            f"the module holds {learned} learned elements, its layers {counted}: some are shared or not used"
        )
        return replace(cnn, notes=(*cnn.notes, note))

    def _keep(self, tensor: Any, value: Tensor) -> None:
        self._values[id(tensor)] = value
        self._kept.append(tensor)

    def _follow(
        self, function: Callable[..., Any], arguments: Any, options: Mapping[str, Any], result: Any
    ) -> None:
        """Record what a function of torch did to the tensors that come from the input."""
        call_arguments, call_options = self._as_values(arguments), self._as_values(options)
        produced = [tensor for tensor in _leaves(result) if isinstance(tensor, self._torch.Tensor)]
        touched = any(isinstance(leaf, Tensor) for leaf in _leaves([call_arguments, call_options]))
        name = getattr(function, "__name__", str(function)).strip("_")
        if not touched and name in WEIGHT_VIEWS and arguments and id(arguments[0]) in self._learned:
            # A learned vector in another shape is learned, too.
            self._learned.update(id(tensor) for tensor in produced)
            self._kept.extend(produced)
        # Questions for a size or type give no tensor; writing into a part of one gives none either.
        if not touched or name in CREATORS or (not produced and name != "setitem"):
            return
        with foreign_faults(f"function {name}"):
            shapes = tuple(tuple(tensor.shape) for tensor in produced)
            made = self._made(name, ModuleCall(self._tracer, call_arguments, call_options, shapes))
        for tensor, value in zip(produced, made, strict=False):
            self._keep(tensor, value)

    def _made(self, name: str, call: ModuleCall) -> tuple[Tensor, ...]:
        if name in ALIASES:
            return (call.data,)
        if name not in OPERATIONS:
            raise InputError("is not supported")
        made = OPERATIONS[name](call)
        made = made if isinstance(made, tuple) else (made,)
        # torch computed the shape too: a misunderstood argument shows here.
        if made[0].shape != call.shape:
            raise InputError(f"expected a result of shape {made[0].shape}, torch gives {call.shape}")
        return made

    def _as_values(self, given: Any) -> Any:
        """Arguments of a call with tensors replaced by what is known of them."""
        if isinstance(given, Mapping):
            return {key: self._as_values(value) for key, value in given.items()}
        if isinstance(given, (list, tuple)):
            return [self._as_values(value) for value in given]
        if isinstance(given, self._torch.Tensor):
            known = self._values.get(id(given))
            return Weight(tuple(given.shape), id(given) in self._learned) if known is None else known
        return given


def _leaves(nested: Any) -> Iterator[Any]:
    """What lists, tuples and mappings hold, at any depth."""
    if isinstance(nested, Mapping):
        nested = list(nested.values())
    if isinstance(nested, (list, tuple)):
        for value in nested:
            yield from _leaves(value)
    else:
        yield nested


def _mode(torch: Any, follow: Callable[[Callable[..., Any], Any, Mapping[str, Any], Any], None]) -> Any:
    """A context in which `follow` sees every call of a function of torch, with its result."""

    class Following(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = function(*args, **(kwargs or {}))
            follow(function, args, kwargs or {}, result)
            return result

    return Following()
