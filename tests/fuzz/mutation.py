"""Mutants of files: bytes changed anywhere, or texts, tables, JSON, workbooks and models within their form.

A mutant depends only on its sample, its reader and its number, so that a finding can be made again.
"""

import ast
import csv
import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Change = Callable[[bytes, random.Random], bytes]


def _lines(name: str, read: Callable[[str], Any]) -> Iterator[Any]:
    """Yield the values that the lines of a file next to this one hold; "x" x 3 is one three times."""
    for line in Path(__file__).with_name(name).read_text().splitlines():
        literal, _, times = line.partition(" x ")
        yield read(literal) * int(times) if times else read(literal)


#: Pieces that break naive readers: separators, quotes, numbers, names, marks, orders to a terminal.
PIECES: tuple[bytes, ...] = tuple(_lines("pieces.txt", ast.literal_eval))
#: Values that a field of a JSON file does not expect.
VALUES: tuple[object, ...] = tuple(_lines("values.txt", json.loads))
_EXTREMES = (-(2**31), -7, -1, 0, 1, 2, 3, 7, 100, 65_537, 2**31 - 1, 2**31, 2**62)


def mutant(data: bytes, name: str, source: random.Random) -> bytes:
    """Return a change of a sample, within the form of its suffix or, one of four, anywhere."""
    form = _FORMS.get(name.rpartition(".")[2], _text)
    return _changed(data, (form, form, form, _anywhere), source)


def _changed(data: bytes, changes: Sequence[Change], source: random.Random) -> bytes:
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        try:
            data = source.choice(changes)(data, source)
        except Exception:
            # A mutant of a mutant may have lost its form.
            data = _anywhere(data, source)
    return data


def _anywhere(data: bytes, source: random.Random) -> bytes:
    place, length = source.randrange(len(data) + 1), source.randint(1, 40)
    change = source.randrange(6)
    if change == 0:
        return data[:place] + source.randbytes(length) + data[place + length :]
    if change == 1:
        return data[:place] + data[place + length :]
    if change == 2:
        return data[:place] + data[place : place + length] * source.randint(2, 50) + data[place:]
    if change == 3:
        return data[:place]
    end = place + length if change == 4 else place
    return data[:place] + source.choice(PIECES) + data[end:]


def _text(data: bytes, source: random.Random) -> bytes:
    """Change a number, a word, a line, line ends or the encoding of a text."""
    change = source.randrange(8)
    found = list(re.finditer((rb"-?\d[\d.e+-]*", rb"\w+", rb"[^\w\s]")[change % 3], data))
    if change < 5 and found:
        place = source.choice(found)
        other = source.choice((source.choice(PIECES), source.choice(found).group()))
        return data[: place.start()] + other + data[place.end() :]
    if change == 5:
        return _other_encoding(data, source)
    lines = data.splitlines(keepends=True) or [b""]
    here, there = source.randrange(len(lines)), source.randrange(len(lines))
    if change == 6:
        lines[here], lines[there] = lines[there], lines[here]
    else:
        lines[here:here] = [lines[there]] * source.choice((1, 2, 3000))
    return b"".join(lines)


def _other_encoding(data: bytes, source: random.Random) -> bytes:
    change = source.randrange(6)
    if change == 0:
        return b"\xef\xbb\xbf" + data
    if change == 1:
        return data.replace(b"\n", source.choice((b"\r", b"\r\n", b"\n\r", b"\x0b", b"\n\n")))
    if change == 2:
        return data.replace(b",", source.choice((b";", b"\t", b"|", b" , ", b"\x1f")))
    encoding = source.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp037"))
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def _table(data: bytes, source: random.Random) -> bytes:
    """Change cells, columns or rows of a CSV table."""
    if source.random() < 0.4:
        return _text(data, source)
    text = data.decode("utf-8", "replace")
    separator = max(",;\t", key=text.partition("\n")[0].count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    change, row = source.randrange(7), source.choice(rows)
    column = source.randrange(max(len(row), 1))
    if change <= 2:
        row[column : column + 1] = [_piece(source)]
    elif change == 3:
        rows[0][column : column + 1] = [
            source.choice((*rows[0], "nodes", "amp", "x", "", "time_ms", _piece(source)))
        ]
    elif change == 4:
        for each in rows:
            del each[column : column + 1]
    elif change == 5:
        for each in rows:
            each.insert(
                column, each[column] if column < len(each) and source.random() < 0.5 else _piece(source)
            )
    else:
        rows.append([_piece(source) for _ in range(source.randint(0, len(row) + 2))])
    made = io.StringIO(newline="")
    csv.writer(made, delimiter=separator, lineterminator="\n").writerows(rows)
    return made.getvalue().encode("utf-8", "surrogatepass")


def _piece(source: random.Random) -> str:
    return source.choice(PIECES).decode("utf-8", "replace")


def _json(data: bytes, source: random.Random) -> bytes:
    """Change a value or a name somewhere in a JSON file."""
    if source.random() < 0.25:
        return _text(data, source)
    content = json.loads(data)
    place, last = _place(content, source)
    change = source.randrange(6)
    if change <= 3:
        place[last] = source.choice(VALUES)
    elif change == 4:
        del place[last]
    elif isinstance(place, dict):
        place[source.choice(("", "x", "\ud800", *place))] = place.pop(last)
    else:
        place.extend(place * source.choice((1, 50)))
    return json.dumps(content).encode()


def _place(content: object, source: random.Random) -> tuple:
    """Return a list or object somewhere inside, and one of its positions or names."""
    while True:
        last = source.choice(list(content) if isinstance(content, dict) else range(len(content)))
        inner = content[last]
        if not (isinstance(inner, dict | list) and inner) or source.random() < 0.2:
            return content, last
        content = inner


def _workbook(data: bytes, source: random.Random) -> bytes:
    """Change the XML of one file of a workbook."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = source.choice(
        [*[name for name in parts if "sheet" in name.lower() or "shared" in name.lower()], *parts]
    )
    parts[name] = source.choice((_text, _anywhere))(parts[name], source)
    if source.random() < 0.05:
        del parts[source.choice(list(parts))]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return made.getvalue()


def _parquet(data: bytes, source: random.Random) -> bytes:
    """Give a column of a Parquet table values of another kind, or another name."""
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(data))
    place, rows = source.randrange(table.num_columns), table.num_rows
    name = source.choice(
        (table.column_names[place], table.column_names[place], "", "nodes", *table.column_names)
    )
    values: Callable[[], pa.Array] = source.choice(
        (
            lambda: pa.array([[1, 2]] * rows),
            lambda: pa.array([{"a": 1}] * rows),
            lambda: pa.nulls(rows),
            lambda: pa.array([b"\xff"] * rows),
            lambda: pa.array([True] * rows),
            lambda: pa.array([10**17] * rows),
            lambda: pa.array([0] * rows, pa.timestamp("ns")),
            lambda: pa.array([0] * rows, pa.duration("s")),
            lambda: pa.array(["T4"] * rows).dictionary_encode(),
            lambda: pa.array([0] * rows, pa.date32()),
            lambda: pa.array([float("nan")] * rows),
            lambda: pa.array([2**63] * rows, pa.uint64()),
            lambda: pa.array([1] * rows).cast(pa.decimal128(30, 2)),
            lambda: pa.array([1.5] * rows, pa.float16()),
            lambda: pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
            lambda: table.column(place),
        )
    )
    made = io.BytesIO()
    parquet.write_table(table.set_column(place, name, values()), made)
    return made.getvalue()


def _model(data: bytes, source: random.Random) -> bytes:
    """Change one to three fields anywhere in an ONNX model."""
    import onnx

    model = onnx.ModelProto()
    model.ParseFromString(data)
    for _ in range(source.randint(1, 3)):
        _change_message(model.graph, source)
    return model.SerializeToString()


def _change_message(message: object, source: random.Random) -> None:
    field = source.choice(message.DESCRIPTOR.fields)
    value = getattr(message, field.name)
    repeated = not isinstance(value, int | float | str | bytes) and hasattr(value, "__len__")
    if field.message_type is not None:
        if not repeated:
            _change_message(value, source)
        elif not value or source.random() < 0.1:
            value.add()
        elif source.random() < 0.1:
            del value[source.randrange(len(value))]
        else:
            _change_message(source.choice(list(value)), source)
        return
    sample = {
        int: source.choice(_EXTREMES),
        float: 1e38,
        str: source.choice(("", "x", "image", "Conv", "\x1b[2J")),
    }
    kind = {field.CPPTYPE_STRING: str, field.CPPTYPE_FLOAT: float, field.CPPTYPE_DOUBLE: float}.get(
        field.cpp_type, int
    )
    new = b"\xff\x00" if field.type == field.TYPE_BYTES else sample[kind]
    if source.random() < 0.1:
        message.ClearField(field.name)
    elif repeated and value and source.random() < 0.7:
        value[source.randrange(len(value))] = new
    elif repeated:
        value.append(new)
    else:
        setattr(message, field.name, new)


def _zipped_table(data: bytes, source: random.Random) -> bytes:
    return gzip.compress(_table(gzip.decompress(data), source), 1, mtime=0)


_FORMS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "csv": _table,
    "json": _json,
    "xlsx": _workbook,
    "ods": _workbook,
    "parquet": _parquet,
    "onnx": _model,
    "gz": _zipped_table,
}
