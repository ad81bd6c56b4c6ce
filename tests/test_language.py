"""Holds what people read to one language: the words of docs/glossary.md and no others for the same thing."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from .syntax import code_in, nodes, parsed

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
    """Return every line that people read and that has a word that is out, with the place where it is."""
    any_word = re.compile("|".join(OUT), re.IGNORECASE)
    found = [ROOT / place for place in PLACES if (ROOT / place).is_file()]
    for place in PLACES:
        found += [path for path in (ROOT / place).rglob("*") if path.suffix in READ and path.is_file()]
    names = {path.relative_to(ROOT).as_posix(): path for path in found}
    return [
        (f"{name}:{number}: {line.strip()}", line)
        for name in sorted(names.keys() - QUOTES)
        for number, line in enumerate(names[name].read_text(encoding="utf-8").splitlines(), start=1)
        if any_word.search(line)
    ]


@pytest.mark.parametrize(("word", "instead"), OUT.items(), ids=list(OUT))
def test_words_that_are_out(word, instead):
    pattern = re.compile(word, re.IGNORECASE)
    used = [place for place, line in lines() if pattern.search(line)]
    assert used == [], f"say {instead!r} instead"


# Words of names in code, and what names say instead: names are of things, not of relations between them.
OUT_OF_NAMES = {
    "anew": "again",
    "born": "child",
    "came": "got",
    "card": "gpu",
    "cards": "gpus",
    "competitor": "baseline",
    "creature": "individual",
    "judge": "evaluate",
    "judged": "evaluated",
    "our": "trainlaw",
    "person": "user",
    "rival": "baseline",
    "rivals": "baselines",
    "tells": "shows",
    "told": "reported",
}
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


@cache
def words_of_names() -> dict[str, set[str]]:
    """Return every word inside names of the code, of its files too, with the names that have it."""
    found: dict[str, set[str]] = {}
    for path in code_in(*FOLDERS):
        fields = ("id", "attr", "arg", "name", "asname", "module")
        names = {getattr(node, field, None) for node in nodes(path) for field in fields}
        for name in {path.stem, *(name for name in names if isinstance(name, str))}:
            for word in _WORD.findall(name):
                found.setdefault(word.lower(), set()).add(f"{path.relative_to(ROOT)}: {name}")
    return found


@pytest.mark.parametrize(("word", "instead"), OUT_OF_NAMES.items(), ids=list(OUT_OF_NAMES))
def test_words_that_are_out_of_names(word, instead):
    assert sorted(words_of_names().get(word, ())) == [], f"name it {instead!r} instead"


# Files that still have names of relations; the numbers may only fall.
FILES_WITH = {"said": 50, "own": 50, "others": 50}


@pytest.mark.parametrize(("word", "most"), FILES_WITH.items(), ids=list(FILES_WITH))
def test_names_of_relations_become_fewer(word, most):
    files = {name.partition(": ")[0] for name in words_of_names().get(word, ())}
    assert len(files) <= most, f"name the thing instead of what is {word!r}"


def test_a_docstring_names_its_module():
    """`What a GPU cannot do` is a clause; `Setups that the hardware cannot run` is a thing."""
    first = {path: ast.get_docstring(parsed(path)) or "" for path in code_in(*FOLDERS)}
    assert [str(path.relative_to(ROOT)) for path, text in first.items() if text.startswith("What ")] == []
