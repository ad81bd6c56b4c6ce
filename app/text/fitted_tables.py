"""Tables whose last column is prose: it is wrapped so that lines fit the terminal."""

import shutil
import textwrap
from collections.abc import Sequence

from trainlaw.app.text.tables import text_table

_NARROWEST = 24
_WIDTH_OF_PIPES = 120


def terminal_width() -> int:
    """Return the columns of the terminal, 120 where the output goes elsewhere."""
    return shutil.get_terminal_size((_WIDTH_OF_PIPES, 24)).columns


def fitted_table(header: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None) -> str:
    """Lays rows out as `text_table`, the last column wrapped to lines of `width` characters (None: terminal).

    >>> print(fitted_table(["name", "meaning"], [["rho", "base clock over boost clock"]], 24))
    name  meaning
    rho   base clock over boost
          clock
    """
    before = [max(len(str(cell)) for cell in column) for column in list(zip(header, *rows, strict=True))[:-1]]
    free = max((width or terminal_width()) - sum(before) - 2 * len(before), _NARROWEST)
    lines: list[list[object]] = []
    for *cells, prose in rows:
        first, *further = textwrap.wrap(str(prose), free, break_on_hyphens=False) or [""]
        lines.append([*cells, first])
        lines += [[*[""] * len(cells), text] for text in further]
    return text_table(header, lines, indent="")
