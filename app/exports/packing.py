"""Counts of CNNs as short lines of text, which exported programs unpack when they are loaded or asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainlaw.app.exports.names import NamedCnn

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class PackedCnns:
    """CNNs with the same counts.

    names : each with * before it where it is also known without its package. sizes : counts by input size in
    pixels, as `packed` writes them, the usual size first.
    """

    names: tuple[str, ...]
    sizes: Mapping[int, str]

    @property
    def line(self) -> str:
        """Names, then sizes with their counts: `*timm/resnet18 resnet18|224:1z,,8|160:q4,,8`."""
        sizes = (f"{pixels}:{cells}" for pixels, cells in self.sizes.items())
        return "|".join([" ".join(self.names), *sizes])


def packed_cnns(cnns: Iterable[NamedCnn]) -> list[PackedCnns]:
    """Return CNNs grouped by equal counts at equal sizes, in the order of the first of each group."""
    groups: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for cnn in cnns:
        sizes = tuple((pixels, packed(counts)) for pixels, counts in cnn.sizes.items())
        groups.setdefault(sizes, []).append(f"{'*' if cnn.aliases else ''}{cnn.name}")
    return [PackedCnns(tuple(names), dict(sizes)) for sizes, names in groups.items()]


def packed(counts: Sequence[float]) -> str:
    """Return numbers with commas between them: whole ones in base 36, nothing for 0, others with a point.

    >>> packed([35.0, 0.0, 36.0, 0.25])
    'z,,10,0.25'
    """
    return ",".join(map(_short, counts))


def _short(value: float) -> str:
    if not (0 <= value < 2**53 and value == int(value)):
        decimal = repr(value)
        return decimal if "." in decimal else decimal.replace("e", ".0e")
    rest, digits = int(value), ""
    while rest:
        rest, digit = divmod(rest, 36)
        digits = _DIGITS[digit] + digits
    return digits
