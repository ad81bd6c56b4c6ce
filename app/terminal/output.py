"""Printed text, which shows control characters instead of sending them to the terminal."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from trainlaw.app.text.tables import fitted_lines
from trainlaw.formulas.files.toml_tables import toml_table

#: Tables of what commands print.
TABLES = toml_table(__file__, "tables.toml")

# Control characters but tab and newline, marks that reverse the direction of writing, half surrogate pairs:
# names in files may contain them, and a terminal would obey, or fail.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Return a text with an escape in place of each control character.

    >>> print(visible("T4\x1b[2J"))
    T4\\u001b[2J
    """
    return _HIDDEN.sub(lambda found: _escaped(found[0]), text)


def _escaped(text: str) -> str:
    """Return the characters as JSON escapes them: what is printed as JSON stays JSON."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


def print_fitted(text: str) -> None:
    """Print a text for readers, with lines that fit the terminal."""
    print(fitted_lines(text))


class _VisibleStream:
    """A text stream that writes what `visible` gives."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, with escapes where the encoding has no character; return the length written."""
        shown = visible(text)
        try:
            return self._stream.write(shown)
        except UnicodeEncodeError as error:
            encoding = error.encoding

        def writable(character: str) -> str:
            return _escaped(character) if character.encode(encoding, "ignore") == b"" else character

        return self._stream.write("".join(map(writable, shown)))


@contextmanager
def visible_output() -> Iterator[None]:
    """Let everything that is printed meanwhile be visible text."""
    before = sys.stdout, sys.stderr
    # Without the stream of a closed descriptor, the next file that is opened would get its number.
    open_streams = (stream or open(os.devnull, "w") for stream in before)
    sys.stdout, sys.stderr = (cast("TextIO", _VisibleStream(stream)) for stream in open_streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
