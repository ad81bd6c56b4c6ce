"""Write the shipped zoo: `python -m tools.zoo.write`, from the root of a checkout.

It builds each CNN once, records its layers as lines of text, and writes `zoo.csv`, `zoo_layers.txt.xz` and
their checksums into `datasets/data`.
"""

import lzma
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

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
from tools.zoo.entry import Entry
from tools.zoo.recorder import Classes, Recorder

CLASSIFIERS = (classic, darknet, efficientnet, inception, mobilenet, nasnet, resnet)
OTHERS = (dense_prediction, detection)


def all_entries() -> dict[str, tuple[str, Entry]]:
    """Return purpose and entry of each CNN by name, sorted."""
    found: dict[str, tuple[str, Entry]] = {}
    for purpose, family in chain((("classifier", f) for f in CLASSIFIERS), (("dense", f) for f in OTHERS)):
        twice = found.keys() & family.CNNS.keys()
        if twice:
            raise ValueError(f"two CNNs with the same name: {sorted(twice)}")
        found |= {name: (purpose, entry) for name, entry in family.CNNS.items()}
    return dict(sorted(found.items()))


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
                "cnn": name, "purpose": purpose, "base": entry.base, "family": entry.family,
                "input_size_px": entry.input_size_px, "input_width_px": entry.input_width_px or "",
                "n_classes": entry.n_classes,
            }
        )  # fmt: skip
        blocks.setdefault(recorded_lines(entry), []).append(f"{name}@any")
    text = "".join(f"# {' '.join(names)}\n" + "\n".join(lines) + "\n" for lines, names in blocks.items())
    return {
        "zoo.csv": csv_text(list(rows[0]), rows).encode(),
        "zoo_layers.txt.xz": lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME),
    }


if __name__ == "__main__":
    write_data_files(zoo_files(), Path("datasets/data"))
