"""Names that people write in different ways."""

import re


def joined_name(text: str) -> str:
    """Return `text` in lower case, without separators except between two digits, where they carry meaning.

    >>> joined_name("ResNet-50"), joined_name("RegNet_X_1.6GF")
    ('resnet50', 'regnetx1_6gf')
    """
    words = re.sub(r"[\s\-_,./]+", "_", text.lower()).strip("_")
    return re.sub(r"(?<=\D)_|_(?=\D)", "", words)
