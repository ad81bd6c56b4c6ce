"""GPUs and CNNs as people write them, with the candidates where a name may mean several."""

import re
from collections.abc import Collection, Mapping

from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.hardware.gpus import GpuCatalog, hard_stop, split_memory
from trainlaw.datasets.spreadsheets.values import precision_of
from trainlaw.datasets.spreadsheets.words import asked_words
from trainlaw.formulas.errors import TrainlawError, UnknownNameError

_BRACKETS = re.compile(r"\s*[(\[{]([^)\]}]*)[)\]}]")
_INDEX = re.compile(r"^GPU \d+:\s*", re.IGNORECASE)
_PACKAGE = re.compile(r"\s+training$|^(?:torchvision|keras) |[_.](?:in1k|imagenet)$", re.IGNORECASE)
#: Boards of several GPUs as software counts them, by the name of one.
_GPUS_OF_BOARDS: Mapping[str, int] = {"K80": 2, "M60": 2, "A16": 4, "Instinct MI250": 2, "Instinct MI250X": 2}


class Names:
    """The GPUs and CNNs that texts may name; each text is looked up once."""

    def __init__(self, gpus: GpuCatalog, own: Collection[str] = ()) -> None:
        """Keep the catalog and the names of the user's own CNNs."""
        self.gpus, self.own = gpus, frozenset(own)
        self._known: dict[tuple[str, str], bool] = {}

    def find(self, kind: str, text: str) -> tuple[str, int | None]:
        """Return the name that a text means, and how many of a GPU it says; raises UnknownNameError."""
        plain = _without_remark(_INDEX.sub("", text))
        return self._counted_gpu(plain) if kind == "gpu" else (self._cnn(plain), None)

    def is_name(self, kind: str, text: str) -> bool:
        """Return whether a text is a name, or may be one of several."""
        if (kind, text) not in self._known:
            is_text = 1 < len(text) < 80 and re.search("[a-z]", text, re.IGNORECASE) is not None
            try:
                self._known[kind, text] = is_text and bool(self.find(kind, text))
            except TrainlawError as error:
                self._known[kind, text] = bool(meant(text, error))
        return self._known[kind, text]

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
