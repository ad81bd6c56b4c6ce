"""What is printed: text that shows control characters instead of sending them to the terminal."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from trainlaw.app.text.tables import fitted_lines

# Control characters but tab and newline, marks that reverse the direction of writing, half surrogate pairs:
# names in files may contain them, and a terminal would obey, or fail.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Return a text with an escape in place of each control character.

    >>> print(visible("T4\x1b[2J"))
    T4\\x1b[2J
    """
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def print_fitted(text: str) -> None:
    """Print a text for readers, with lines that fit the terminal."""
    print(fitted_lines(text))


class _VisibleStream:
    """A text stream that writes what `visible` gives."""

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        """Return anything else of the stream."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; return the number of characters written."""
        return self._stream.write(visible(text))


@contextmanager
def visible_output() -> Iterator[None]:
    """Let everything that is printed meanwhile be visible text."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", _VisibleStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
