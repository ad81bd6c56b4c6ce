"""The names of GPUs and CNNs as people write them: what a text means, by rules and tables of names.

The rules are rows of `naming.csv`, whose patterns mean the same in Python and JavaScript. They are applied
here and in `names.js` of the page. An exported program holds the text of `NameIndex`, which must run on
Python 3.8 and use `re` alone.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from trainlaw.datasets.files.storage import read_data_rows

# Uses of a row: it rewrites a text before all else or for its key, finds a size of memory or a number of
# GPUs, marks a product that differs from the one without the mark, says why a text is refused, or advises on
# an unknown name.
#: Characters of a text that is looked up; a line of nvidia-smi -L has 90.
LONGEST_NAME = 200
_NONE: Mapping[str, Any] = {}
USES = ("clean", "rule", "size", "count", "stop", "no", "unknown")


class NameMeaning(NamedTuple):
    """What a text means: a name, or the question which of several it is.

    name : "" where the text names nothing, or not for sure. candidates : names that are meant or near. n_gpus
    : how many GPUs the text says, 0 for none. instance : that of a cloud, or "". reason : why nothing is
    meant, "" for none.
    """

    name: str
    candidates: tuple[str, ...]
    n_gpus: int
    instance: str
    reason: str


class NameIndex:
    """Names of one kind, and what texts mean by them.

    rules : by use (`USES`) pairs of a pattern and a text, in order. exact : names by texts that are taken as
    they are. keys : names by the keys of their spellings. loose : names by keys that leave out memory or the
    line of a product. sizes : memory in GB by name. instances : GPU and number of GPUs by instance.
    """

    def __init__(
        self,
        kind: str,
        rules: Mapping[str, list[tuple[str, str]]],
        *,
        exact: Mapping[str, str] = _NONE,
        keys: Mapping[str, list[str]] = _NONE,
        loose: Mapping[str, list[str]] = _NONE,
        sizes: Mapping[str, float] = _NONE,
        instances: Mapping[str, tuple[str, int]] = _NONE,
    ) -> None:
        """Keep the tables; the patterns are compiled once."""
        self.kind, self.exact, self.keys, self.loose = kind, exact, keys, loose
        self.sizes, self.instances = sizes, instances
        self.rules = {
            use: [(re.compile(pattern, re.ASCII), text.replace("$1", r"\1")) for pattern, text in rows]
            for use, rows in rules.items()
        }

    def clean(self, text: str) -> str:
        """Return a text in lower case, with plain spaces and hyphens."""
        return self._rewritten(text.lower(), "clean")

    def key(self, text: str) -> str:
        """Return a text in lower case, without separators, words of vendors and the like."""
        return self._rewritten(self.clean(text), "rule")

    def _rewritten(self, text: str, use: str) -> str:
        for pattern, replacement in self.rules[use]:
            text = pattern.sub(replacement, text)
        return text

    def meaning(self, text: str) -> NameMeaning:
        """Return what a text means; a text that is too long means nothing."""
        if text in self.exact:
            return self._meant([self.exact[text]], True, 1)
        if len(text) > LONGEST_NAME:
            return NameMeaning("", (), 0, "", "")
        plain, number = self.clean(text), 1
        names, is_sure = self.found(plain)
        for pattern, _ in self.rules["count"]:
            match = None if names else pattern.search(plain)
            if match:
                names, is_sure = self.found(pattern.sub(" ", plain))
                number = int(match.group(1)) or 1
        if len(names) > 1 or is_sure:
            return self._meant(names, is_sure, number)
        reason = next((why for pattern, why in self.rules["no"] if pattern.search(plain)), "")
        for pattern, _ in self.rules["stop"]:
            match = None if reason else pattern.search(plain)
            if match:
                reason = f"no {match.group().split()[0]} variant is known, and it differs from the plain GPU"
                names = names or self.found(pattern.sub(" ", plain))[0]
        # Who slips in a letter may happen to write the beginning of another name.
        near = [] if names and reason else self.near(text, 0.7 if names else 0.45)
        return NameMeaning("", tuple(dict.fromkeys([*names, *near]))[:3], 0, "", reason)

    def question(self, text: str, meaning: NameMeaning) -> str:
        """Return in one line what is asked or said of a text that means no name for sure."""
        quoted = repr(" ".join(text.split())) if len(text) <= 60 else repr(text[:57])[:-1] + "..."
        if any(meaning.reason == why for _, why in self.rules["no"]):
            return f"{quoted} {meaning.reason}"
        listed = meaning.candidates[:8]
        if len(meaning.candidates) > 1 and meaning.n_gpus:
            more = f" and {len(meaning.candidates) - 8} more" if len(meaning.candidates) > 8 else ""
            return f"{quoted} may mean several {self.kind}s: {', '.join(listed)}{more}; give one of them"
        advice = f"did you mean {' or '.join(map(repr, listed))}?" if listed else self.rules["unknown"][0][1]
        return f"unknown {self.kind} {quoted}: " + "; ".join(filter(None, (meaning.reason, advice)))

    def near(self, text: str, least: float = 0.45) -> list[str]:
        """Return up to three names that resemble a text, the nearest first: suggestions, not an answer.

        least : share of pairs of letters that they have in common, 0 to 1.
        """

        def pairs(key: str) -> set[str]:
            return {key[place : place + 2] for place in range(len(key) - 1)}

        wanted = pairs(f"^{self.key(text)}$")
        scores: dict[str, float] = {}
        for key, names in self.keys.items():
            other = pairs(f"^{key}$")
            score = 2 * len(wanted & other) / (len(wanted) + len(other))
            for name in names if score > least and len(wanted) > 2 else ():
                scores[name] = max(score, scores.get(name, 0.0))
        return sorted(scores, key=lambda name: (-round(scores[name], 9), name))[:3]

    def _meant(self, names: list[str], is_sure: bool, number: int) -> NameMeaning:
        name = names[0] if is_sure else ""
        gpu, each = self.instances.get(name, (name, 1))
        return NameMeaning(gpu, tuple(names), number * each, name if name in self.instances else "", "")

    def found(self, text: str) -> tuple[list[str], bool]:
        """Return the names that a text may mean, and whether it means the only one of them."""
        key = self.key(text)
        if key in self.keys:
            return self.keys[key], len(self.keys[key]) == 1
        rest, size = self.without_size(text)
        key = self.key(rest)
        names, is_known = self.loose.get(key, []), key in self.loose
        names = names or self._beginning(key)
        if size is None:
            return names, is_known and len(names) == 1
        fitting = [name for name in names if is_near(self.sizes.get(name, 0.0), size)]
        return fitting or names, len(fitting) == 1

    def without_size(self, text: str) -> tuple[str, float | None]:
        """Return a text without the size of a memory, and that size in GB; GPUs are sold by that number."""
        rest, size = text, None
        for pattern, _ in self.rules["size"] * 2:
            match = pattern.search(rest)
            found = float(match.group(1)) / (1024 if match.group(2)[0] == "m" else 1) if match else None
            # "V100-SXM2-16GB, 16384 MiB" says the same twice.
            if match and found and (size is None or is_near(size, found)):
                rest, size = pattern.sub(" ", rest, count=1), size or found
        return rest, size

    def _beginning(self, key: str) -> list[str]:
        """Return the names of which a key of a word is the beginning; a number that is cut off is a slip."""
        if not re.match(r"[a-z]{3}|[a-z]+[0-9]", key):
            return []
        begun = [other for other in self.keys if other.startswith((key, "timm" + key))]
        found = {
            name
            for other in begun
            if not re.match("[0-9]{2}", key[-1] + other[other.index(key) + len(key) :][:1])
            for name in self.keys[other]
            if name not in self.instances
        }
        return sorted(found, key=lambda name: ("/" in name, len(name), name))


def is_near(size: float, other: float) -> bool:
    """Return whether two sizes of memory may be of one product."""
    # A driver reports a little less than the sold size: 15,360 MiB on a 16 GB T4 with error correction.
    return abs(size - other) <= 0.08 * max(size, other)


@cache
def naming_rules(kind: str) -> Mapping[str, list[tuple[str, str]]]:
    """Return the rules of a kind, "GPU" or "CNN", by use, as `NameIndex` takes them."""
    found: dict[str, list[tuple[str, str]]] = {use: [] for use in USES}
    for row in read_data_rows("naming.csv"):
        if row["kind"] in ("any", kind.lower()) and row["use"] in USES:
            found[row["use"]].append((row.get("pattern", ""), row.get("replacement", "")))
    return found


def further_gpu_names() -> list[tuple[str, str]]:
    """Return what people call GPUs besides the names that makers and drivers give them, and the GPUs."""
    rows = read_data_rows("naming.csv")
    return [(row["pattern"], row["replacement"]) for row in rows if row["use"] == "alias"]


@cache
def ignored_words(kind: str) -> tuple[str, ...]:
    """Return what a spreadsheet, which has no patterns, leaves out of a text, longer words first."""
    rows = (row for row in read_data_rows("naming.csv") if row["use"] == "word")
    words = [row["pattern"] for row in rows if row["kind"] in ("any", kind.lower())]
    return tuple(sorted(words, key=len, reverse=True))
