"""Write the sha256 of every shipped table: `python -m tools.checksums`, from the root of a checkout."""

import gzip
import hashlib
import json
import lzma
from collections.abc import Mapping
from pathlib import Path

_ENDINGS = (".csv", ".csv.gz", ".csv.xz", ".toml", ".txt.xz", ".schema.json")


def packed(file: str, content: bytes) -> bytes:
    """Return content as its file's suffix says; without a time stamp, the same rows are the same bytes."""
    if file.endswith(".xz"):
        return lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
    return gzip.compress(content, 9, mtime=0)


def write_data_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write shipped tables by file name, and the checksums of all of the folder."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
        print(f"{name}: {len(content):,} bytes")
    write_checksums(folder)


def write_checksums(folder: Path) -> None:
    """Write `registry.json`: the sha256 of each table of a folder."""
    tables = sorted(path for path in folder.iterdir() if path.name.endswith(_ENDINGS))
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tables}
    (folder / "registry.json").write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_checksums(Path("datasets/data"))
