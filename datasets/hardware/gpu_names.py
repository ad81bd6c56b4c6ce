"""How software prints the names of GPUs, and when two such names mean the same card."""

import re

from trainlaw.datasets.files.names import joined_name

# Words that say who made or sells the card, not which card it is; "Quadro", "RTX", "Radeon" do say which.
_VENDOR_WORDS = re.compile(
    r"\((?:r|tm|c)\)|[®™©]|\b(?:nvidia|amd|intel|geforce|tesla|corporation|graphics|gpu|processor|cpu)\b"
)
_LISTING = re.compile(r"^\s*gpu\s*\d+\s*:|\(uuid:[^)]*\)")
_HARD_STOPS = re.compile(r"laptop|notebook|mobile|max-?q|max q|\bmig\b|\bgrid\b|vgpu|virtual")
_MEMORY = re.compile(r"(?<![a-z0-9.])(\d{1,6}(?:\.\d+)?)\s*(gib|gb|mib|mb|g)(?![a-z0-9])")
_BYTES_PER_UNIT = {"gib": 1e9, "gb": 1e9, "g": 1e9, "mib": 1e9 / 1024, "mb": 1e9 / 1024}


def name_key(text: str) -> str:
    """Return what remains of a GPU's name without vendor words, separators and case.

    >>> name_key("NVIDIA GeForce RTX 3090"), name_key("Tesla V100-SXM2-16GB")
    ('rtx3090', 'v100sxm2_16gb')
    """
    return joined_name(_VENDOR_WORDS.sub(" ", _LISTING.sub(" ", text.lower())))


def hard_stop(text: str) -> str:
    """Return the word of `text` that names another product than the plain card (laptop, MIG, ...), or "".

    >>> hard_stop("NVIDIA GeForce RTX 4090 Laptop GPU")
    'laptop'
    """
    match = _HARD_STOPS.search(text.lower())
    return match.group() if match else ""


def without_hard_stop(text: str) -> str:
    """Return `text` without such words, in lower case: the plain card that it may be near to."""
    return _HARD_STOPS.sub(" ", text.lower())


def split_memory(text: str) -> tuple[str, float | None]:
    """Return `text` without its memory size, and that size in bytes (None when none is named).

    Marketing "16GB" and "16384 MiB" of a driver both give 16e9: cards are sold by that number.

    >>> split_memory("NVIDIA GeForce RTX 3090, 24576 MiB")
    ('NVIDIA GeForce RTX 3090, ', 24000000000.0)
    """
    lowered = text.lower()
    match = _MEMORY.search(lowered)
    if match is None or len(lowered) != len(text):
        return text, None
    size = float(match.group(1)) * _BYTES_PER_UNIT[match.group(2)]
    return text[: match.start()] + text[match.end() :], size
