"""Holds what people read to one language: the words of docs/glossary.md and no others for the same thing."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
READ = (".py", ".md", ".html", ".js", ".toml", ".cff")
FOLDERS = ("formulas", "datasets", "evolve", "validate", "app", "benchmarks", "tools", "docs")
PLACES = (*FOLDERS, "README.md", "NOTICE")
# The glossary lists these words as the ones not to use, the changelog quotes messages as they were, and the
# vocabulary has the words of users.
QUOTES = frozenset({"docs/glossary.md", "CHANGELOG.md", "datasets/spreadsheets/vocabulary.toml"})

# Word, as a pattern, and what to say instead.
OUT = {
    r"\bcame\b": "got",
    r"\banew\b": "again, from scratch",
    r"\ba person\b|\bperson's\b": "the user, you",
    r"\brivals?\b": "baseline",
    r"(?<!\")\bcards?\b": "GPU",
    r"\bjudge[ds]?\b|\bjudging\b": "evaluated",
    r"\btells?\b|\btold\b": "shows, says, reported",
    r"\bof (?:its|their|one's|your|his) own\b": "its own, custom",
    r"\bin words\b(?=[ ,.]|$)": "as text",
    r"\bas far as\b": "where, if",
    r"\bheld against\b": "checked against",
    r"\bgoes on\b|\bgo on\b": "continues",
    r"\bstands? in\b|\bstood in\b": "replaces",
    r"\bbeside\b": "next to, with",
    r"\bso many\b": "at most N",
    r"\bwithout end\b|\bfor ever\b": "without limit",
    r"\bthe wish to\b": "a request to",
    r"\bcannot be had\b": "is not available",
    r"\bin the end\b": "finally",
    r"\bhonest(?:ly)? error\b": "held-out error",
    r"\b(?:built-in|calibrated|evolved) laws?\b": "formula",
}


@cache
def lines() -> list[tuple[str, str]]:
    """Return every line that people read, with the place where it is."""
    found = [ROOT / place for place in PLACES if (ROOT / place).is_file()]
    for place in PLACES:
        found += [path for path in (ROOT / place).rglob("*") if path.suffix in READ and path.is_file()]
    names = {path.relative_to(ROOT).as_posix(): path for path in found}
    return [
        (f"{name}:{number}: {line.strip()}", line)
        for name in sorted(names.keys() - QUOTES)
        for number, line in enumerate(names[name].read_text(encoding="utf-8").splitlines(), start=1)
    ]


@pytest.mark.parametrize(("word", "instead"), OUT.items(), ids=list(OUT))
def test_words_that_are_out(word, instead):
    pattern = re.compile(word, re.IGNORECASE)
    used = [place for place, line in lines() if pattern.search(line)]
    assert used == [], f"say {instead!r} instead"
