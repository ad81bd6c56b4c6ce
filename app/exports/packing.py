"""Tables of exported programs as short lines of text, which the programs unpack."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from trainlaw.app.exports.names import NamedCnn, NamedGpu

#: Printable characters without those that a string of some language or a line gives a meaning: |;:*() and
#: quotes, backslash, dollar sign (Julia) and question mark (C). The first half are digits before the last
#: one of a number, the second half last digits, so that numbers need no separator.
DIGITS = "".join(chr(code) for code in range(33, 127) if chr(code) not in "\"'`\\$?|;:*()")
_BASE = len(DIGITS) // 2


@dataclass(frozen=True)
class PackedCnns:
    """CNNs with the same counts.

    names : separated by ; each with * before it where it is also known without its package. sizes : input
    size in pixels and counts, `224:...|160:...`, the usual size first.
    """

    names: str
    sizes: str


def packed_cnns(cnns: Iterable[NamedCnn]) -> list[PackedCnns]:
    """Return CNNs grouped by equal counts at equal sizes, in the order of the first of each group."""
    groups: dict[str, list[str]] = {}
    for cnn in cnns:
        sizes = "|".join(f"{pixels}:{packed(counts)}" for pixels, counts in cnn.sizes.items())
        groups.setdefault(sizes, []).append(f"{'*' if cnn.aliases else ''}{cnn.name}")
    return [PackedCnns(";".join(names), sizes) for sizes, names in groups.items()]


def gpu_line(gpu: NamedGpu) -> str:
    """Return names, vendor, generation, 1 if it is new, usual precision and numbers of a GPU."""
    names = ";".join((gpu.name, *gpu.aliases))
    texts = (names, gpu.vendor, gpu.generation, str(int(gpu.is_new)), gpu.default_precision)
    return "|".join((*texts, packed(gpu.values)))


def packed(numbers: Sequence[float]) -> str:
    """Return numbers as text: whole ones as digits of `DIGITS`, others in parentheses, without a point.

    >>> packed([0.0, 40.0, 41.0, 0.25])
    'S~#S(25e-2)'
    """
    return "".join(map(_short, numbers))


def _short(value: float) -> str:
    if not (0 <= value < 2**53 and value == int(value)):
        # Without a point, for which C expects what the user's locale has.
        parts = Decimal(repr(value)).as_tuple()
        sign, digits = "-" * parts.sign, "".join(map(str, parts.digits))
        return f"({sign}{digits}e{parts.exponent})" if isinstance(parts.exponent, int) else "(nan)"
    rest, last = divmod(int(value), _BASE)
    text = DIGITS[_BASE + last]
    while rest:
        rest, digit = divmod(rest, _BASE)
        text = DIGITS[digit] + text
    return text
