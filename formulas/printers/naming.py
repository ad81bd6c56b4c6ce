"""Names and comments in other languages: no name or text of the user can end a comment or start code."""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from trainlaw.formulas.algebra.text import number_text
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.scopes import SCOPES

# Characters that have no meaning in a comment of any target language.
PLAIN = set(" .,:;()[]+=_/^|%~*-'")
# Provenance may be long; a comment need not repeat all of it.
MAX_COMMENT = 4000


def identifiers(names: Iterable[str], reserved: Collection[str]) -> dict[str, str]:
    """Return an identifier per name, ASCII letters, digits and underscores, each once and none reserved.

    >>> identifiers(["batch", "C[harness]", "C_harness", "for"], {"for"})
    {'batch': 'batch', 'C[harness]': 'C_harness', 'C_harness': 'C_harness_2', 'for': 'for_2'}
    """
    # Without regard to case, as spreadsheets have none.
    taken = {word.lower() for word in reserved}
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "x"
        plain = plain if plain[0].isalpha() else "x_" + plain
        number = 2
        chosen = plain
        while chosen.lower() in taken:
            chosen, number = f"{plain}_{number}", number + 1
        taken.add(chosen.lower())
        found[name] = chosen
    return found


def inert(text: str) -> str:
    """Return a text as one line that ends no comment and starts no tag in any language.

    >>> inert("a */ </script> -- b\\n")
    'a * / ?/script? - - b'
    """
    plain = "".join(
        character if character.isalnum() or character in PLAIN else "?" for character in text.strip()
    )
    for opening, other in (("*/", "* /"), ("/*", "/ *"), ("--", "- -"), ("//", "/ /")):
        while opening in plain:
            plain = plain.replace(opening, other)
    return plain[:MAX_COMMENT]


def unicode_literal(text: str) -> str:
    """Return a string literal of R or Julia, in which nothing is interpolated.

    >>> unicode_literal('a$b')
    '"a\\\\U00000024b"'
    """
    plain = (
        character if " " <= character <= "~" and character not in '"\\$' else f"\\U{ord(character):08x}"
        for character in text.replace("\0", "\ufffd")
    )
    return f'"{"".join(plain)}"'


def indexed(name: str) -> str:
    """Return the name of a grouped constant as a symbol with an index.

    >>> indexed("C[harness]")
    'C_harness'
    """
    return re.sub(r"^(\w+)\[(\w+)\]$", r"\1_\2", name)


def letter(symbol: str) -> str:
    """Return the letter that a symbol spells out, or the symbol itself.

    >>> letter("rho"), letter("ell"), letter("P")
    ('\u03c1', '\u2113', 'P')
    """
    if symbol == "ell":
        return "\u2113"
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {symbol}") if symbol.isalpha() else symbol
    except KeyError:
        return symbol


def header(formula: Formula) -> list[str]:
    """Return the lines that every printed form carries: formula, features, units, ranges, errors, origin."""
    target = formula.target
    lines = [f"{target.name} = {formula.text()}", f"{target.name} [{target.unit}] {target.meaning}"]
    part = SCOPES[formula.scope].part
    if part:
        lines.append(f"this is the value of one {part}: {target.name} is its sum over every {part} of a run")
    for spec in formula.used_features:
        known = formula.ranges.get(spec.name)
        span = f", in training {number_text(known[0], 6)} to {number_text(known[1], 6)}" if known else ""
        lines.append(f"{spec.name} [{spec.unit}] {spec.meaning}{span}")
    lines += [f"{constant.name}, one per {constant.key}" for constant in formula.grouped]
    for title, facts in (("held-out error", formula.errors), ("origin", formula.provenance)):
        lines += [f"{title}, {key}: {_fact(value)}" for key, value in facts.items()]
    return [inert(line) for line in [*lines, f"printed by trainlaw {_version()}"]]


def _fact(value: object) -> str:
    """Return a fact as a text; a plain list without brackets, which would not survive as a comment."""
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@cache
def _version() -> str:
    try:
        return version("trainlaw")
    except PackageNotFoundError:
        return "(not installed)"
