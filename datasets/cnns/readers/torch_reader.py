"""CNNs from `torch.nn.Module`: one forward pass on the meta device, where tensors have no data.

The only file of the package, with the profiler, that imports torch.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.readers.foreign import foreign_faults
from trainlaw.datasets.cnns.readers.tensors import GraphTracer, Tensor
from trainlaw.datasets.cnns.readers.torch_operations import ALIASES, CREATORS, OPERATIONS, Call, Weight
from trainlaw.formulas.errors import InputError, optional_package, shown

if TYPE_CHECKING:
    import torch

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
        return self._with_parameter_note(cnn)

    def _with_parameter_note(self, cnn: Cnn) -> Cnn:
        own = sum(parameter.numel() for parameter in self._module.parameters())
        counted = sum(layer.parameters for layer in cnn.layers)
        if own == counted:
            return cnn
        note = f"the module holds {own} learned elements, its layers {counted}: some are shared or not used"
        return replace(cnn, notes=(*cnn.notes, note))

    def _keep(self, tensor: Any, value: Tensor) -> None:
        self._values[id(tensor)] = value
        self._kept.append(tensor)

    def _follow(self, function: Callable, arguments: Any, options: Mapping[str, Any], result: Any) -> None:
        """Record what a function of torch did to the tensors that come from the input."""
        call_arguments, call_options = self._as_values(arguments), self._as_values(options)
        produced = [tensor for tensor in _leaves(result) if isinstance(tensor, self._torch.Tensor)]
        touched = any(isinstance(leaf, Tensor) for leaf in _leaves([call_arguments, call_options]))
        name = getattr(function, "__name__", str(function)).strip("_")
        # Questions for a size or type give no tensor; writing into a part of one gives none either.
        if not touched or name in CREATORS or (not produced and name != "setitem"):
            return
        with foreign_faults(f"function {name}"):
            shape = tuple(produced[0].shape) if produced else ()
            made = self._made(name, Call(self._tracer, call_arguments, call_options, shape))
        for tensor, value in zip(produced, made, strict=False):
            self._keep(tensor, value)

    def _made(self, name: str, call: Call) -> tuple[Tensor, ...]:
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


def _mode(torch: Any, follow: Callable[[Callable, Any, Mapping[str, Any], Any], None]) -> Any:
    """A context in which `follow` sees every call of a function of torch, with its result."""

    class Following(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            follow(function, args, kwargs or {}, result)
            return result

    return Following()
