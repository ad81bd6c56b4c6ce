"""Calls of kernels by their address, pointers into arrays, and tuples of arrays as one pointer.

numba copies the code of a compiled function into each function that calls it, and LLVM optimises every copy
again. A kernel is compiled once, as a function of C, and called through its address. A tuple of many arrays
would be some hundred arguments of every call. Outside compiled code all of this is plain Python.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import extending as numba_extending
from numba.core import cgutils as numba_builders
from numba.core.typing import templates
from trainlaw.evolve.machine.compiler_cache import CACHED
from trainlaw.formulas import InputError

# Much of numba has no types.
types: Any = numba.types
extending: Any = numba_extending
cgutils: Any = numba_builders
from_dtype: Any = numba.from_dtype
_POINTER = types.CPointer(types.float64)
# What a letter of a kernel's signature stands for: a whole number, a number, an array of numbers.
_LETTERS = {"i": types.int64, "f": types.float64, "p": _POINTER}
# What the arrays of packed tuples contain.
_POINTED = ("f8", "i8", "u1")


@dataclass(frozen=True)
class Kernel:
    """A function that is compiled once and called by its address.

    function : of the address itself, which it does not use, and of whole numbers, numbers and arrays; returns
    a number. letters : of its arguments, "i", "f" or "p" each. fastmath : flags of LLVM.
    """

    function: Callable[..., float]
    letters: str
    fastmath: frozenset[str]

    @property
    def call(self) -> Any:
        """The function that compiled code calls; plain Python calls its `py_func`."""
        return _with_python(_call_address, self.function)

    def address(self) -> int:
        """Return the address of the compiled kernel, which is compiled if need be."""
        signature = types.float64(*(_LETTERS[letter] for letter in self.letters))
        made = numba.cfunc(signature, cache=CACHED, error_model="numpy", fastmath=set(self.fastmath))
        address: Any = made(self.function).address
        return int(address)


def _with_python(definition: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Return the intrinsic of a definition, with the function of plain Python as `py_func`."""
    made: Any = extending.intrinsic(definition)
    made.py_func = function
    return made


class PackedType(types.Type):
    """The type of a `Packed` tuple in compiled code: fields with their types, in order."""

    def __init__(self, fields: tuple[tuple[str, Any], ...]) -> None:
        """Keep the fields; types with the same fields are equal."""
        self.fields = fields
        super().__init__(f"Packed({', '.join(f'{name}: {kind}' for name, kind in fields)})")


class Packed:
    """Arrays and numbers by name: attributes in Python, and for compiled code one pointer to all of them.

    >>> Packed(size=3).size
    3
    """

    def __init__(self, **fields: Any) -> None:
        """Pack the fields, and keep them: compiled code only has the addresses of the arrays."""
        vars(self).update(fields)
        self._words = np.zeros(len(fields), np.int64)
        for place, value in enumerate(fields.values()):
            if isinstance(value, np.ndarray):
                # Compiled code steps by the size of a number, whatever the strides are.
                if value.size and value.strides[-1] != value.itemsize:
                    raise InputError("expected arrays whose rows are contiguous, got one with gaps")
                self._words[place] = value.ctypes.data
            elif isinstance(value, float):
                self._words[place : place + 1].view(np.float64)[0] = value
            else:
                self._words[place] = value
        self._words_at = self._words.ctypes.data
        self._numba_type_ = _packed_type(tuple((name, _letter_of(value)) for name, value in fields.items()))

    def __getattr__(self, name: str) -> Any:
        """Say that there is no such field; type checkers do not know which there are."""
        raise AttributeError(name)


def _letter_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        # A pointer to booleans cannot be read.
        return "u1" if value.dtype == np.bool_ else value.dtype.str[1:]
    return "f" if isinstance(value, float) else "i"


@lru_cache
def _packed_type(letters: tuple[tuple[str, str], ...]) -> PackedType:
    """Return the type with these fields; a pointer is named by the type of its target."""
    kinds: dict[str, Any] = _LETTERS | {kind: types.CPointer(from_dtype(np.dtype(kind))) for kind in _POINTED}
    return PackedType(tuple((name, kinds[letter]) for name, letter in letters))


extending.register_model(PackedType)(extending.models.OpaqueModel)


@extending.infer_getattr
class _PackedFields(templates.AttributeTemplate):
    key = PackedType

    def generic_resolve(self, kind: Any, name: str) -> Any:
        return dict(kind.fields).get(name)


@extending.lower_getattr_generic(PackedType)
def _field_of(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    words = builder.bitcast(value, ir.IntType(64).as_pointer())
    place = [field for field, _ in kind.fields].index(name)
    word = builder.load(builder.gep(words, [ir.Constant(ir.IntType(64), place)]))
    found = kind.fields[place][1]
    if isinstance(found, types.CPointer):
        return builder.inttoptr(word, context.get_value_type(found))
    return builder.bitcast(word, ir.DoubleType()) if found is types.float64 else word


@extending.unbox(PackedType)
def _unpacked(kind: Any, value: Any, context: Any) -> Any:
    address = context.pyapi.object_getattr_string(value, "_words_at")
    word = context.pyapi.long_as_longlong(address)
    context.pyapi.decref(address)
    return extending.NativeValue(context.builder.inttoptr(word, ir.IntType(8).as_pointer()))


def _pointer_into(typing_context: Any, array: Any, row: Any, first: Any) -> Any:
    """Return the address of an element of an array (n, k) or (k,), or behind a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        if isinstance(kind, types.CPointer):
            return builder.gep(arguments[0], [arguments[2]])
        found = context.make_array(kind)(context, builder, arguments[0])
        width = cgutils.unpack_tuple(builder, found.shape, kind.ndim)[-1]
        place = builder.add(builder.mul(arguments[1], width), arguments[2])
        return builder.gep(found.data, [place])

    return types.CPointer(array.dtype)(array, types.int64, types.int64), generate


def _call_address(typing_context: Any, *arguments: Any) -> Any:
    """Call the kernel at the first of the arguments with all of them: whole numbers, numbers and pointers."""
    letters = [
        _POINTER
        if isinstance(kind, types.CPointer)
        else types.float64
        if isinstance(kind, types.Float)
        else types.int64
        for kind in arguments
    ]

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        values = [
            context.cast(builder, builder.extract_value(given[0], place), kind, letter)
            for place, (kind, letter) in enumerate(zip(signature.args[0], letters, strict=True))
        ]
        form = ir.FunctionType(ir.DoubleType(), [context.get_value_type(letter) for letter in letters])
        return builder.call(builder.inttoptr(values[0], form.as_pointer()), values)

    return types.float64(types.StarArgTuple.from_types(arguments)), generate


def _numbers_from(array: np.ndarray, row: int, first: int) -> np.ndarray:
    """Return the numbers of an array (n, k) or (k,) in C order, from place `first` of a row on."""
    return array.reshape(-1)[row * array.shape[-1] + first :]


def _take(typing_context: Any, counter: Any) -> Any:
    """Return the whole number in an array (1,) and raise it by one, as one operation for all threads."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", found.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate


def _taken(counter: np.ndarray) -> int:
    """Return the whole number in an array (1,) and raise it by one."""
    counter[0] += 1
    return int(counter[0]) - 1


def _hint(typing_context: Any) -> Any:
    """State facts to LLVM that it cannot know of the kernel that calls this."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # LLVM keeps to 256 bits by itself, since early processors lowered their clock for 512. llvmlite has
        # no attributes with values, but writes them as they are.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        for argument in builder.function.args:
            if argument.type == ir.DoubleType().as_pointer():
                argument.add_attribute("noalias")
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(), generate


#: States to LLVM that the output of the calling kernel overlaps no other array, and asks for wide vectors.
vector_hints: Any = _with_python(_hint, lambda: 0)


#: The next of the numbers that the threads which share an int64 array (1,) take in turn.
take_next: Any = _with_python(_take, _taken)


#: The numbers of an array (n, k) or (k,) in C order, from a row and a place in it on; for a pointer, row 0.
flat_from: Any = _with_python(_pointer_into, _numbers_from)
