"""Tables that are files next to the code which reads them."""

import tomllib
from pathlib import Path
from typing import Any


def toml_table(module: str, name: str) -> dict[str, Any]:
    """Return the table of a TOML file; module : path of a Python file in the same folder."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))
