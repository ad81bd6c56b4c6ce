"""An `.onnx` file without its weights, which are skipped so that a file of any size costs little.

The wire format is https://protobuf.dev/programming-guides/encoding; the numbers of fields are those of
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from trainlaw.formulas.errors import InputError

_GRAPH_OF_MODEL = 7
_INITIALIZER_OF_GRAPH = 5
# float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data of TensorProto.
_DATA_OF_TENSOR = frozenset({4, 5, 6, 7, 9, 10, 11})
_MAX_KEPT_BYTES = 256 * 2**20
_NO_MODEL = "expected an ONNX model, got another file"
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


def read_without_weights(path: str | os.PathLike[str], keep_bytes: int) -> bytes:
    """Return the bytes of an ONNX model without the data of stored tensors larger than `keep_bytes`.

    Raises `InputError` if the file cannot be read, is empty, is not a protobuf message, or is too large even
    without its weights.
    """
    goal = Path(path)
    try:
        if not goal.stat().st_size:
            raise InputError(f"expected a CNN in {goal}, got an empty file")
        with goal.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            with memoryview(data) as view:
                return b"".join(_model(view, keep_bytes))
    except OSError as error:
        raise InputError(f"cannot read {goal}: {error.strerror or error}") from None


def _model(view: memoryview, keep_bytes: int) -> Iterator[bytes]:
    kept = 0
    for number, start, payload, end in _fields(view, 0, len(view)):
        if number == _GRAPH_OF_MODEL:
            part = _message(number, b"".join(_graph(view, payload, end, keep_bytes)))
        else:
            part = bytes(view[start:end])
        kept += _bounded(len(part))
        _bounded(kept)
        yield part


def _graph(view: memoryview, start: int, end: int, keep_bytes: int) -> Iterator[bytes]:
    kept = 0
    for number, field, payload, stop in _fields(view, start, end):
        if number == _INITIALIZER_OF_GRAPH:
            part = _message(number, b"".join(_tensor(view, payload, stop, keep_bytes)))
        else:
            kept += _bounded(stop - field)
            part = bytes(view[field:stop])
        _bounded(kept)
        yield part


def _tensor(view: memoryview, start: int, end: int, keep_bytes: int) -> Iterator[bytes]:
    for number, field, _, stop in _fields(view, start, end):
        # Small tensors keep their data: shapes and axes are stored in the same way as weights.
        if number not in _DATA_OF_TENSOR or stop - field <= keep_bytes:
            yield bytes(view[field:stop])


def _bounded(size: int) -> int:
    if size > _MAX_KEPT_BYTES:
        raise InputError(f"expected at most {_MAX_KEPT_BYTES} bytes without the stored weights")
    return size


def _fields(view: memoryview, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the number of each field, where it starts, where its payload starts and where it ends."""
    position = start
    while position < end:
        field = position
        tag, position = _varint(view, position, end)
        payload = position
        kind = tag & 7
        if kind == _VARINT:
            _, position = _varint(view, position, end)
        elif kind == _LENGTH:
            length, payload = _varint(view, position, end)
            position = payload + length
        elif kind in {_FIXED64, _FIXED32}:
            position += 8 if kind == _FIXED64 else 4
        else:
            raise InputError(_NO_MODEL)
        if position > end:
            raise InputError(_NO_MODEL)
        # Fields that are not submessages are copied as they are, whatever their number.
        yield (tag >> 3 if kind == _LENGTH else 0), field, payload, position


def _varint(view: memoryview, position: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= end:
            break
        byte = view[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise InputError(_NO_MODEL)


def _message(number: int, content: bytes) -> bytes:
    return _encoded(number << 3 | _LENGTH) + _encoded(len(content)) + content


def _encoded(value: int) -> bytes:
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])
