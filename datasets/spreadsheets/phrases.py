"""Facts about runs in a short text: GPU, CNN, batch, precision, number of GPUs, size, unit, phase."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from trainlaw.datasets.cnns.names import cnn_key, cnn_names
from trainlaw.datasets.hardware.gpus import GpuCatalog
from trainlaw.datasets.spreadsheets.answers import meant
from trainlaw.datasets.spreadsheets.quantities import TimeUnit, parse_unit
from trainlaw.datasets.spreadsheets.values import PRECISION_WORDS
from trainlaw.datasets.spreadsheets.words import groups, patterns
from trainlaw.formulas.errors import TrainlawError, UnknownNameError

#: Longer texts are prose, in which a name or number may stand for anything.
LONGEST = 160
_LONGEST_NAME = 7  # words
_BEFORE = re.compile(r"(\d{1,4})\s*[x\u00d7*]\s*(.+)", re.IGNORECASE)
_BEHIND = re.compile(r"(.+?)\s+\(?[x\u00d7*]\s*(\d{1,4})\)?", re.IGNORECASE)
_TIMES_BEFORE = re.compile(r"(?<![\d.])(\d{1,4})\s*[x\u00d7*]\s*$")
_TIMES_BEHIND = re.compile(r"^\s*\(?[x\u00d7*]\s*(\d{1,4})\b\)?")
_PACKAGE = re.compile(
    r"\s*\((?:torchvision|pytorch|keras|tensorflow|tf|224|imagenet)\)$|\s+training$|^(?:torchvision|keras) |"
    r"[_.](?:in1k|imagenet)$",
    re.I,
)
_OF_PACKAGE = re.compile(r"^(?:torchvision\.models\.|timm[./]|pycls/|keras )")
_OF_NODE = re.compile(r"\s*(?:per|pro|/|je|a)\s*(?:node|knoten|server|machine|host|box)\b")
_ITERATIONS = re.compile(
    r"(?:for|per|over|für|pro|je|in|/)\s*(\d{1,6})\s*(?:training\s+|trainings)?"
    r"(?:iterations?|iters?|it|steps?|batches|mini-?batches|iterationen|schritte)\b"
)
_SUMMED = re.compile(r"\b(?:mean|average|averaged|avg|median|mittel|mittelwert|gemittelt|durchschnitt)\b")
_IN_TOTAL = re.compile(r"\b(?:in total|insgesamt|au total|en total)\b")
_LINE = re.compile(r"^(?:nvidia|geforce|tesla|quadro|rtx|gtx)+")  # of products, which people leave out
_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]")
_WORD = re.compile(r"[^\s_,;:|()\[\]{}=\"/-]+[)\]]?")
_PHRASE = {name: frozenset(group) for name, group in groups("phrase").items()}
_PRECISIONS = dict(pair.split("=") for pair in groups("phrase")["precision"])


@dataclass(frozen=True)
class Phrase:
    """What a text says.

    said : texts by our column, such as {"gpu": "Tesla T4", "batch": "64"}; none of a column that it names
    twice. unit : of times or throughputs. iterations : that a time is for, 1 where none are named. phase :
    "training", "inference", or "". rest : words that say nothing known. is_negated : whether it excludes or
    compares something.
    """

    said: Mapping[str, str] = field(default_factory=dict)
    unit: TimeUnit | None = None
    iterations: float = 1.0
    phase: str = ""
    rest: tuple[str, ...] = ()
    is_negated: bool = False
    several: frozenset[str] = frozenset()


class Names:
    """The GPUs and CNNs that texts may name, and what texts say; each text is read once."""

    def __init__(self, gpus: GpuCatalog, own: Collection[str] = ()) -> None:
        """Keep the catalog and the names of the user's own CNNs."""
        self.gpus, self.own = gpus, frozenset(own)
        self._phrases: dict[str, Phrase] = {}
        self._found: dict[tuple[str, str], tuple[str, ...]] = {}
        known = [name.lower() for gpu in gpus.gpus for name in (gpu.gpu, *gpu.aliases)]
        aliases, squashed = " ".join(known), (re.sub(r"\W", "", name) for name in known)
        self._gpu_words = frozenset(
            _LINE.sub("", word) for word in (*re.findall(r"[a-z]*\d+[a-z]*", aliases), *squashed)
        )
        # "TITAN V", and none of one word, such as "Navi"
        self._without_number = frozenset(name for name in known if re.fullmatch(r"\D+ \D+", name))
        self._gpu_tokens = frozenset((*re.findall(r"[a-z]+", aliases), "gb", "gib", "mib"))
        families = (re.match(r"(?:timm/|pycls/)?([a-z]+)", name) for name in (*cnn_names(), *own))
        self._families = frozenset(match[1] for match in families if match)

    def meant(self, kind: str, text: str) -> tuple[str, ...]:
        """Return the names of "gpu" or "cnn" that a text may mean, none for a text that names none."""
        key = kind, text
        if key not in self._found:
            self._found[key] = self._look_up(kind, text)
        return self._found[key]

    def _look_up(self, kind: str, text: str) -> tuple[str, ...]:
        plain = text.lower()
        if kind == "gpu":
            # "3090" alone is a number in most tables.
            found = [_LINE.sub("", word) for word in re.findall(r"[a-z]*\d+[a-z]*", plain)]
            likely = bool(re.search("[a-z]", plain)) and any(word in self._gpu_words for word in found)
            likely = likely or plain in self._without_number
        else:
            bare = _OF_PACKAGE.sub("", plain).replace("-", "").replace("_", "")
            start = re.match(r"[a-z]+", bare)
            likely = bool(start) and any(
                start[0].startswith(name) or (len(start[0]) > 2 and name.startswith(start[0]))  # type: ignore[index]
                for name in self._families
            )
        if not likely and text not in self.own:
            return ()
        try:
            return (gpu_and_number(text, self.gpus)[0] if kind == "gpu" else cnn_named(text, self.own),)
        except TrainlawError as error:
            return meant(text, error)

    def phrase(self, text: str) -> Phrase:
        """Return what a text says."""
        if text not in self._phrases:
            self._phrases[text] = self._read(text) if 0 < len(text) <= LONGEST else Phrase()
        return self._phrases[text]

    def _read(self, text: str) -> Phrase:
        said: dict[str, list[str]] = {}
        lowered = text.lower()
        iterations = 1.0
        if match := _ITERATIONS.search(lowered):
            # "median of 100 iterations" is the time of one.
            if not _SUMMED.search(lowered):
                iterations = float(match[1])
            text = text[: match.start()] + " " + text[match.end() :]
        for kind in ("cnn", "gpu"):
            text = self._without_names(kind, text, said)
        for kind, pattern in patterns().items():
            for match in pattern.finditer(text.lower()):
                if kind != "batch" or not {"global_batch", "batch_per_gpu"} & set(said):
                    value = next(group for group in match.groups() if group)
                    said.setdefault(kind, []).append(re.sub(r"[.,](?=\d)", "", value))
            text = (
                pattern.sub(lambda match: " " * len(match[0]), text.lower())
                if pattern.search(text.lower())
                else text
            )
        text, unit = _without_units(text)
        if unit is not None and unit.is_rate and unit.per_gpu is None and _IN_TOTAL.search(text.lower()):
            unit = replace(unit, per_gpu=False)
        tokens = re.findall(r"[^\W_]+(?:[_+][^\W_]+)*", text.lower())
        precisions, tokens = _precisions(tokens)
        if precisions:
            said["precision"] = list(precisions)
        several = frozenset(kind for kind, found in said.items() if len(set(found)) > 1)
        phases = [name for name in ("training", "inference") if _PHRASE[name] & set(lowered_words(lowered))]
        return Phrase(
            {kind: found[0] for kind, found in said.items() if kind not in several},
            unit,
            iterations,
            phases[0] if len(phases) == 1 else "",
            tuple(word for word in tokens if word not in _PHRASE["measure"] | _PHRASE["training"]),
            bool(_PHRASE["negation"] & set(lowered_words(lowered))),
            several,
        )

    def _without_names(self, kind: str, text: str, said: dict[str, list[str]]) -> str:
        """Return a text without the names of GPUs or CNNs in it, which are appended to what it says."""
        for begin, end, name in reversed(list(self._names_in(kind, text))):
            before, behind = text[:begin], text[end:]
            if kind == "gpu" and (count := _TIMES_BEFORE.search(before) or _TIMES_BEHIND.match(behind)):
                before, behind = _TIMES_BEFORE.sub("", before), _TIMES_BEHIND.sub("", behind)
                of_node = _OF_NODE.match(behind.lower())
                said.setdefault("gpus_per_node" if of_node else "n_gpus", []).append(count[1])
                behind = behind[of_node.end() :] if of_node else behind
            said.setdefault(kind, []).insert(0, name)
            text = f"{before} , {behind}"
        return text

    def _names_in(self, kind: str, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield begin, end and text of each name: the longest that is one, else that which may be fewest."""
        places = [(match.start(), match.end()) for match in _WORD.finditer(text)]
        first = 0
        while first < len(places):
            found: list[tuple[int, int]] = []
            for last in range(first, min(first + _LONGEST_NAME, len(places))):
                name = text[places[first][0] : places[last][1]]
                if self._is_name(kind, name):
                    found.append((len(self.meant(kind, name)), last))
            if not found:
                first += 1
                continue
            last = min(found, key=lambda pair: (pair[0], -pair[1] if pair[0] == 1 else pair[1]))[1]
            yield places[first][0], places[last][1], text[places[first][0] : places[last][1]]
            first = last + 1

    def _is_name(self, kind: str, text: str) -> bool:
        plain = text.lower()
        is_whole = text.count("(") == text.count(")") and text.count("[") == text.count("]")
        if not (is_whole and 1 < len(text) <= 60) or plain in PRECISION_WORDS:
            return False
        if not re.search(r"\d", text) and (kind == "gpu" or len(text) < 5):
            return kind == "gpu" and plain in self._without_number
        if kind == "gpu" and re.fullmatch(
            r"(?:bs|batch|b|fp|bf|tf|v)[\s_-]*\d+|\d+\s*(?:gpus?|[x\u00d7*]\s).*", plain
        ):
            return False
        if kind == "gpu" and not self._gpu_tokens.issuperset(re.findall("[a-z]+", plain)):
            return len(self.meant(kind, text)) == 1
        return bool(self.meant(kind, text))


def is_of_training(heading: str) -> bool:
    """Return whether a heading asks whether rows are of training: "Training?", "is_train"."""
    words = set(lowered_words(heading.replace("_", " "))) - {"is"}
    return bool(words) and words <= {"train", "training"}


def lowered_words(text: str) -> list[str]:
    """Return the words of a text, lowered; "fwd+bwd" is one."""
    return re.findall(r"[^\W\d_]+(?:[+][^\W\d_]+)*", text.lower())


def _precisions(tokens: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the precisions that words name, and the other words; "fp16 (AMP)" is amp."""
    found = dict.fromkeys(_PRECISIONS[word] for word in tokens if word in _PRECISIONS)
    rest = [word for word in tokens if word not in _PRECISIONS and word not in _PHRASE["beside_precision"]]
    if "amp" in found and "fp16" in found:
        del found["fp16"]
    if "amp" in found and "bf16" in found:
        del found["amp"]
    if "amp" in found and "fp32" in found and "fp16" in tokens:
        del found["fp32"]
    return tuple(found), rest


def _without_units(text: str) -> tuple[str, TimeUnit | None]:
    """Return a text without the unit in it: in brackets, after "in", or of several words, and the unit."""
    for bracket in _BRACKETS.finditer(text):
        for part in (bracket[1], *re.split(r"[,;]", bracket[1])):
            if unit := parse_unit(part.strip().removeprefix("in ")):
                return text[: bracket.start()] + " " + text[bracket.end() :], unit
    places = [(match.start(), match.end()) for match in re.finditer(r"[^\s,;:|()\[\]{}=]+", text)]
    for first in range(len(places)):
        for last in range(min(first + 4, len(places)), first, -1):
            part = text[places[first][0] : places[last - 1][1]].rstrip(".")
            before = text[: places[first][0]].rstrip().lower()
            alone = last - first == 1 and not re.search(r"/|^(?:ms|msec|fps)$|second|sekunde", part.lower())
            if alone and not before.endswith((" in", ":")) and len(places) > 2:
                continue
            if re.match(r"\d|(?:per|pro|for|für|a|one|je)\b", part.lower()) or not (unit := parse_unit(part)):
                continue
            return text[: places[first][0]] + " " + text[places[last - 1][1] :], unit
    return text, None


def gpu_and_number(text: str, gpus: GpuCatalog) -> tuple[str, int | None]:
    """Return the name of a GPU, and how many of them a text such as "8x A100-SXM4-80GB" says.

    Raises UnknownNameError as `GpuCatalog.find`.
    """
    try:
        return gpus.find(text).gpu, None
    except UnknownNameError:
        for pattern, number, name in ((_BEFORE, 1, 2), (_BEHIND, 2, 1)):
            if match := pattern.fullmatch(text.strip()):
                return _counted_gpu(match[name], int(match[number]), gpus)
        raise


def _counted_gpu(text: str, number: int, gpus: GpuCatalog) -> tuple[str, int]:
    """Return the GPU and its number; the candidates of an unknown name keep the number."""
    try:
        return gpus.find(text).gpu, number
    except UnknownNameError as error:
        raise UnknownNameError(str(error), [f"{number}x {name}" for name in error.candidates]) from None


def cnn_named(text: str, own: Collection[str] = ()) -> str:
    """Return the key of the CNN that a text names; `own` are those of files. Raises as `cnn_key`."""
    if text in own:
        return text
    try:
        return cnn_key(_PACKAGE.sub("", text))
    except UnknownNameError:
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", text):
            raise
        # "microsoft/resnet-50": hubs have the name of an organisation before that of the CNN.
        return cnn_key(text.partition("/")[2])
