"""The GPUs and CNNs that texts may name."""

import re
from collections.abc import Collection

from trainlaw.datasets.cnns.names import cnn_key
from trainlaw.datasets.hardware.gpus import GpuCatalog, hard_stop
from trainlaw.datasets.spreadsheets.answers import meant
from trainlaw.datasets.spreadsheets.lines import read_line
from trainlaw.formulas.errors import TrainlawError, UnknownNameError

_BRACKETS = re.compile(r"\s*[(\[{]([^)\]}]*)[)\]}]")
_BEFORE = re.compile(r"(\d{1,4})\s*[x\u00d7*]\s*(.+)", re.IGNORECASE)
_BEHIND = re.compile(r"(.+?)\s+\(?[x\u00d7*]\s*(\d{1,4})\)?", re.IGNORECASE)
_INDEX = re.compile(r"^GPU \d+:\s*", re.IGNORECASE)
_PACKAGE = re.compile(r"\s+training$|^(?:torchvision|keras) |[_.](?:in1k|imagenet)$", re.IGNORECASE)


class Names:
    """The GPUs and CNNs that texts may name; each text is looked up once."""

    def __init__(self, gpus: GpuCatalog, own: Collection[str] = ()) -> None:
        """Keep the catalog and the names of the user's own CNNs."""
        self.gpus, self.own = gpus, frozenset(own)
        self._known: dict[tuple[str, str], bool] = {}

    def find(self, kind: str, text: str) -> tuple[str, int | None]:
        """Return the name that a text means, and how many of a GPU it says; raises UnknownNameError."""
        plain = _without_remark(_INDEX.sub("", text))
        return gpu_and_number(plain, self.gpus) if kind == "gpu" else (cnn_named(plain, self.own), None)

    def is_name(self, kind: str, text: str) -> bool:
        """Return whether a text is a name, or may be one of several."""
        key = kind, text
        if key not in self._known:
            self._known[key] = self._is_name(kind, text)
        return self._known[key]

    def _is_name(self, kind: str, text: str) -> bool:
        if not re.search("[a-z]", text, re.IGNORECASE) or not 1 < len(text) < 80:
            return False
        try:
            self.find(kind, text)
        except TrainlawError as error:
            return bool(meant(text, error))
        return True


def _without_remark(text: str) -> str:
    """Return a name without a remark in brackets, such as where the GPU was, that says nothing of the run."""
    if hard_stop(text) or any(_says_something(inside) for inside in _BRACKETS.findall(text)):
        return text
    return _BRACKETS.sub("", text).strip() or text


def _says_something(text: str) -> bool:
    line = read_line(text)
    return bool(line.said or line.asked) or bool(re.search(r"\d+\s*gi?b\b", text, re.IGNORECASE))


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
