"""Plain JSON values as one line of text."""

from collections.abc import Mapping


def plain_text(value: object) -> str:
    """Return a JSON value as people write it: no braces, no quotes.

    >>> plain_text({"seed": 0, "precisions": ["fp32", "amp"]})
    'seed: 0; precisions: fp32, amp'
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {plain_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain_text, value))
    return str(value)
