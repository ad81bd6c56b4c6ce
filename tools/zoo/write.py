"""Write the shipped zoo: `python -m tools.zoo.write`, from the root of a checkout.

It builds each CNN once, records its layers as lines of text, and writes `zoo.csv`, `zoo_layers.txt.xz` and
their checksums into `datasets/data`.
"""

import lzma
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from trainlaw.formulas.files.text_files import csv_text

from tools.checksums import write_data_files
from tools.zoo import (
    classic,
    darknet,
    dense_prediction,
    detection,
    efficientnet,
    inception,
    mobilenet,
    nasnet,
    resnet,
)
from tools.zoo.entry import Architecture, Entry
from tools.zoo.recorder import Classes, Recorder

# The files of builders, and what their CNNs are for.
BUILDERS = {
    **dict.fromkeys((classic, darknet, efficientnet, inception, mobilenet, nasnet, resnet), "classifier"),
    **dict.fromkeys((dense_prediction, detection), "dense"),
}
# Row of `cnns.toml` with what all CNNs of a section have.
_EVERY = "every"


def all_entries() -> dict[str, tuple[str, Entry]]:
    """Return purpose and entry of each CNN by name, sorted; ValueError for one that is listed twice."""
    listed = tomllib.loads(Path(__file__).with_name("cnns.toml").read_text(encoding="utf-8"))
    found: dict[str, tuple[str, Entry]] = {}
    for file, purpose in BUILDERS.items():
        for builder, rows in listed.pop(file.__name__.rpartition(".")[2]).items():
            every = rows.pop(_EVERY, {})
            twice = found.keys() & rows.keys()
            if twice:
                raise ValueError(f"two CNNs with the same name: {sorted(twice)}")
            architecture = getattr(file, builder)
            found |= {name: (purpose, _entry(architecture, **every | row)) for name, row in rows.items()}
    if listed:
        raise ValueError(f"no file of builders: {sorted(listed)}")
    return dict(sorted(found.items()))


def _entry(architecture: Architecture, **row: Any) -> Entry:
    """Return an entry of a row, whose other columns are options of the architecture."""
    stated = {field.name: row.pop(field.name) for field in fields(Entry) if field.name in row}
    return Entry(partial(architecture, **row), **stated)


def recorded_lines(entry: Entry) -> tuple[str, ...]:
    """Return the layers of a CNN as lines of text."""
    cnn = Recorder()
    image = cnn.input(entry.input_channels, entry.input_size_px)
    scores = entry.architecture(cnn, image, Classes(entry.n_classes))
    # Training always ends in a softmax, in the loss if not in the CNN: it is counted once.
    cnn.softmax(scores)
    return tuple(cnn.lines)


def zoo_files() -> Mapping[str, bytes]:
    """Return the content of both files by name."""
    rows: list[dict[str, object]] = []
    blocks: dict[tuple[str, ...], list[str]] = {}
    for name, (purpose, entry) in all_entries().items():
        rows.append(
            {
                "cnn": name,
                "purpose": purpose,
                "base": entry.base,
                "family": entry.family,
                "input_size_px": entry.input_size_px,
                "input_width_px": entry.input_width_px or "",
                "n_classes": entry.n_classes,
            }
        )
        blocks.setdefault(recorded_lines(entry), []).append(f"{name}@any")
    text = "".join(f"# {' '.join(names)}\n" + "\n".join(lines) + "\n" for lines, names in blocks.items())
    return {
        "zoo.csv": csv_text(list(rows[0]), rows).encode(),
        "zoo_layers.txt.xz": lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME),
    }


if __name__ == "__main__":
    write_data_files(zoo_files(), Path("datasets/data"))
