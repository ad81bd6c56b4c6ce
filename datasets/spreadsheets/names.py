"""GPUs and CNNs as people write them, with the candidates where a name may mean several."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product

from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.hardware.gpus import GpuCatalog, hard_stop, split_memory
from trainlaw.datasets.spreadsheets.headings import without_unit
from trainlaw.datasets.spreadsheets.values import SPELLINGS, precision_of
from trainlaw.datasets.spreadsheets.words import asked_words, groups
from trainlaw.formulas.errors import TrainlawError, UnknownNameError

_BRACKETS = re.compile(r"\s*[(\[{]([^)\]}]*)[)\]}]")
_INDEX = re.compile(r"^GPU \d+:\s*", re.IGNORECASE)
_PACKAGE = re.compile(r"\s+training$|^(?:torchvision|keras) |[_.](?:in1k|imagenet)$", re.IGNORECASE)
#: Boards of several GPUs as software counts them, by the name of one.
_GPUS_OF_BOARDS: Mapping[str, int] = {"K80": 2, "M60": 2, "A16": 4, "Instinct MI250": 2, "Instinct MI250X": 2}
_COUNTED: Mapping[str, re.Pattern[str]] = {
    "batch": re.compile(r"(?:(?:mini-?)?batch(?:[\s_-]*(?:size|größe))?|bs|bsz|b)?[\s_=:]*(\d{1,5})", re.I),
    "n_gpus": re.compile(r"(\d{1,4})\s*[x\u00d7]?\s*(?:gpus?)?", re.IGNORECASE),
    "input_size_px": re.compile(r"(\d{2,4})\s*(?:px|pixels?|p|[x\u00d7]\s*\d{2,4})?", re.IGNORECASE),
    "step": re.compile(r"(?:(?:steps?|iter\w*|schritt|run|rep\w*|#)[\s_.#-]*)?(\d{1,6})", re.IGNORECASE),
}
_WORDS: Mapping[str, frozenset[str]] = {
    "framework": frozenset(groups("phrase")["framework"]),
    **{name: frozenset(SPELLINGS[name]) for name in ("layout", "compilation")},
}
NUMBERS = frozenset(_COUNTED)
#: Our columns in sentences.
CALLED = {name: " ".join(words) for name, words in groups("called").items()}
#: What texts may say of a run, such as headings of columns of times.
SAYINGS = (
    "gpu",
    "cnn",
    "batch",
    "precision",
    "n_gpus",
    "layout",
    "compilation",
    "framework",
    "input_size_px",
    "step",
)
#: How well a text names a GPU or CNN.
SURE, ONE_OF_SEVERAL = 2, 1


class Names:
    """The GPUs and CNNs that texts may name, and what else they say of a run; each name is looked up once."""

    def __init__(
        self, gpus: GpuCatalog, own: Collection[str] = (), answered: Collection[tuple[str, str]] = ()
    ) -> None:
        """Keep the catalog, the names of the user's own CNNs, and texts that the user explains, by kind."""
        self.gpus, self.own, self.answered = gpus, frozenset(own), answered
        self._known: dict[tuple[str, str], int] = {}

    def find(self, kind: str, text: str) -> tuple[str, int | None]:
        """Return the name that a text means, and how many of a GPU it says; raises UnknownNameError."""
        plain = _without_remark(_INDEX.sub("", text))
        return self._counted_gpu(plain) if kind == "gpu" else (self._cnn(plain), None)

    def is_name(self, kind: str, text: str, least: int = ONE_OF_SEVERAL) -> bool:
        """Return whether a text is a name, `SURE`, or may be `ONE_OF_SEVERAL`."""
        if (kind, text) in self.answered:
            return True
        if (kind, text) not in self._known:
            is_text = 1 < len(text) < 80 and re.search("[a-z]", text, re.IGNORECASE) is not None
            try:
                self._known[kind, text] = SURE if is_text and self.find(kind, text) else 0
            except TrainlawError as error:
                self._known[kind, text] = ONE_OF_SEVERAL if meant(text, error) else 0
        return self._known[kind, text] >= least

    def sayings(self, texts: Sequence[str], kinds: Sequence[str], least: int) -> tuple[dict[str, str], str]:
        """Return what texts say of each kind, {} where they do not, and what is left of them.

        least : how well names are to be known.

        >>> from trainlaw.datasets.hardware.gpus import built_in_gpus
        >>> Names(built_in_gpus()).sayings(["V100S bs 64 (img/s)"], ["gpu", "batch"], SURE)
        ({'gpu': 'V100S', 'batch': '64'}, 'img/s')
        """
        said, rest = dict[str, str](), list(texts)
        # What names GPUs and CNNs is all that is left.
        left = sorted(kinds, key=lambda own: own in ("gpu", "cnn"))
        while left:
            for kind, place in product(left, range(len(rest))):
                if found := self._taken(kind, rest[place], least):
                    said[kind], rest[place] = found
                    left.remove(kind)
                    break
            else:
                return {}, ""
        return {kind: said[kind] for kind in kinds}, " ".join(filter(None, rest))

    def _taken(self, kind: str, text: str, least: int) -> tuple[str, str] | None:
        """Return what the longest words of a text at its beginning or end say of a kind, and the others."""
        if said := self.says(kind, text.strip(), least):
            return said, ""
        words, mark = re.sub(r"[()\[\],;@]", " ", text).split(), " "
        if len(words) == 1 and not any(self.is_name(own, text, SURE) for own in ("gpu", "cnn")):
            words, mark = re.split("[-_/]", words[0]), "-"
        for length in range(len(words) - 1, 0, -1):
            for own, rest in ((words[:length], words[length:]), (words[-length:], words[:-length])):
                if said := self.says(kind, mark.join(own), least):
                    return said, mark.join(rest)
        return None

    def says(self, kind: str, text: str, least: int = ONE_OF_SEVERAL) -> str:
        """Return what a text says of a kind: the number in "bs 64", else the text; "" for nothing."""
        if (kind, text) in self.answered:
            return text
        if kind in _COUNTED:
            match = _COUNTED[kind].fullmatch(text)
            return match[1] if match else ""
        if kind in _WORDS:
            return text if text.lower() in _WORDS[kind] else ""
        precision, is_whole = precision_of(text)
        is_said = is_whole if kind == "precision" else not precision and self.is_name(kind, text, least)
        return text if is_said and without_unit(text)[1] is None else ""

    def checked_gpu(self, text: str, counted: bool) -> tuple[str, int | None]:
        """Return a GPU and its number as `find`; UnknownNameError where namesakes or a board leave it open.

        counted : whether the table says elsewhere how many GPUs ran.
        """
        name, number = self.find("gpu", text)
        dies = _GPUS_OF_BOARDS.get(name)
        if dies and not counted and number is None:
            reason = f"a board of it holds {dies} GPUs: did one of them run, or all (say --batch-is, too)?"
            raise UnknownNameError(f": {reason}", [name, f"{dies}x {name}"])
        namesakes = self.gpus.namesakes(name)
        if len(namesakes) > 1 and split_memory(text)[1] is None and not self.gpus.meaning(text).instance:
            raise UnknownNameError(": GPUs of that name differ in memory", namesakes)
        return name, number

    def _counted_gpu(self, text: str) -> tuple[str, int | None]:
        number = self.gpus.meaning(text).n_gpus
        try:
            return self.gpus.find(text, counted=True).gpu, number if number > 1 else None
        except UnknownNameError as error:
            if number < 2:
                raise
            raise UnknownNameError(str(error), [f"{number}x {name}" for name in error.candidates]) from None

    def _cnn(self, text: str) -> str:
        if text in self.own:
            return text
        try:
            return cnn_name(_PACKAGE.sub("", text))
        except UnknownNameError:
            if not re.fullmatch(r"[\w.-]+/[\w.-]+", text):
                raise
            # "microsoft/resnet-50": hubs have the name of an organisation before that of the CNN.
            return cnn_name(text.partition("/")[2])


def meant(text: str, error: TrainlawError) -> tuple[str, ...]:
    """Return the candidates of an unknown name that begin as `text` does: several things that it may mean."""
    first = next(iter(text.lower().split()), "")
    near = [name for name in getattr(error, "candidates", ()) if name.lower().startswith(first)]
    return tuple(near) if len(near) > 1 and len(first) > 1 else ()


def _without_remark(text: str) -> str:
    """Return a name without a remark in brackets, such as where the GPU was, that says nothing of the run."""
    says = any(
        asked_words(inside) or precision_of(inside)[0] or re.search(r"\d", inside)
        for inside in _BRACKETS.findall(text)
    )
    return text if hard_stop(text) or says else _BRACKETS.sub("", text).strip() or text
