"""The names of CNNs: those written out in the zoo, those of timm, and how packages and papers write them.

The zoo's names and timm's (with the prefix "timm/") are the keys that tables of runs hold. A name that is
written otherwise is found in this order: under the package it names; as it is written; without regard to case
and separators. Where that leaves several CNNs, all are listed.
"""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from trainlaw.datasets.cnns.zoo import PREFIX, dense_names, timm_names, zoo_entry, zoo_names
from trainlaw.datasets.files.mapping import joined_name
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas.errors import InputError, UnknownNameError, shown, unknown_name

MAX_NAME_LENGTH = 200
_MOST_LISTED = 8
#: Beginnings of names of networks that are no CNNs, or no classifiers, by what they are.
_TRANSFORMERS = re.compile(
    r"llama|bert|roberta|gpt|mistral|qwen|t5|whisper|clip|dino|vit|deit|swin|transformer"
)
_OTHER_TASKS = re.compile(r"yolo|ssd|retinanet|fasterrcnn|maskrcnn|unet|deeplab|fcn|sam|stablediffusion|sdxl")
_USER_CNN = "your own network: --cnn net.onnx (or a table of its layers)"
# The package of RegNet's authors; three of its CNNs differ from torchvision's of the same name.
_AUTHORS = "pycls/"
_PACKAGES = re.compile(
    r"^(?:hf[-_]hub:)?(torchvision(?:\.models)?|timm(?:\.models)?|pycls)[./:]", re.IGNORECASE
)
# Data that weights are trained on, at the end of a name.
_TAGGED = re.compile(r"^in\d+k$")
# ResNet with its stride in the 3x3 convolution, as torchvision and the zoo have it.
_SHORT = re.compile(r"^eff(?:icient)?net(?!v2)")
_NORMALIZED = re.compile(
    r"[\s_-]*\(?(?:with|w/|\+)?[\s_-]*batch[\s_-]*norm(?:ali[sz]ation)?\)?$", re.IGNORECASE
)
_VERSION = re.compile(r"(?<=\d)[\s_-]*\(?v1[._]5\)?$", re.IGNORECASE)


@cache
def _aliases(package: str) -> Mapping[str, str]:
    """Return our keys by the names that a package gives them, as `cnn_aliases.csv` lists them.

    https://docs.pytorch.org/vision/stable/models.html lists all of torchvision. Names since timm 0.8, without
    their weights' tag, are of CNNs that 0.6.12 names otherwise.
    """
    rows = read_data_rows("cnn_aliases.csv")
    return {row["name"]: row.get("cnn", "") for row in rows if row["package"] == package}


@cache
def cnn_names() -> tuple[str, ...]:
    """Return the names of all CNNs that can be built, sorted; timm's have the prefix "timm/"."""
    return tuple(sorted({*zoo_names(), *dense_names(), *timm_names()}))


def cnn_spellings() -> dict[str, str]:
    """Return names of torchvision and timm without a package, and the CNNs of other keys that they mean."""
    renamed = {**_aliases("torchvision"), **_aliases("timm since 0.8")}
    bare = {name.rpartition("/")[2]: names[0] for name, names in _by_joined_name().items() if len(names) == 1}
    return {name: key for name, key in {**bare, **renamed}.items() if key and name != joined_name(key)}


def cnn_key(text: str) -> str:
    """Return the key that `text` is, or else that of the CNN it names: how tables of runs are read."""
    return text if text in cnn_names() else cnn_name(text)


def cnn_name(text: str) -> str:
    """Return the name in the tables of runs of the CNN that `text` names, as packages and papers write it.

    UnknownNameError for a name that no CNN has, with near names, or that several have, with all of them.

    >>> cnn_name("ResNet-50"), cnn_name("AlexNet"), cnn_name("resnet50.a1_in1k")
    ('resnet50', 'alexnet_torch', 'timm/resnet50')
    """
    text = text.strip()
    if len(text) > MAX_NAME_LENGTH:
        raise unknown_name("CNN", text.lower()[:MAX_NAME_LENGTH], cnn_names())
    package = _PACKAGES.match(text)
    if package:
        return _packaged_key(package[1].lower(), text[package.end() :])
    if text in _zoo_keys():
        return text
    # Other CNNs in the zoo, or CNNs that it spells otherwise.
    if renamed := _aliases("torchvision").get(text):
        return renamed
    if timm := _timm_key(text):
        return timm
    bare = _SHORT.sub("efficientnet", _joined(_VERSION.sub("", _NORMALIZED.sub("_bn", text))))
    return _one(text, _by_joined_name().get(bare, ()))


@cache
def _zoo_keys() -> frozenset[str]:
    return frozenset((*zoo_names(), *dense_names()))


def _joined(text: str) -> str:
    """A name without case and separators; "8.0GF", as papers write it, is "8gf"."""
    return joined_name(re.sub(r"\.0(?=[gm]f)", "", text, flags=re.IGNORECASE))


def _packaged_key(package: str, name: str) -> str:
    if package.startswith("timm"):
        found = _timm_key(name) or _timm_key(name.lower().replace("-", "_"))
        start, known = PREFIX, list(_timm_bare())
    else:
        start = _AUTHORS if package == "pycls" else "torchvision.models."
        if package != "pycls":
            _refuse_transformer(name)
        keys = _authors_keys() if package == "pycls" else _aliases("torchvision")
        found = {joined_name(alias): key for alias, key in keys.items()}.get(_joined(name), "")
        known = list(keys)
    if not found:
        raise unknown_name("CNN", start + name, sorted(start + alias for alias in known))
    return found


@cache
def _authors_keys() -> Mapping[str, str]:
    names = [name for name in zoo_names() if zoo_entry(name).base == "regnet"]
    return {name.removeprefix(_AUTHORS): name for name in names}


@cache
def _timm_bare() -> frozenset[str]:
    return frozenset(name.removeprefix(PREFIX) for name in timm_names())


def _timm_key(name: str) -> str:
    """The key of timm's CNN of that name, with or without the tag of its weights; empty if there is none."""
    words = name.partition(".")[0].split("_")
    # The tag of the weights may follow an underscore: resnet50_a1_in1k.
    shortest = 1 if _TAGGED.search(words[-1]) else len(words)
    for length in range(len(words), shortest - 1, -1):
        stem = "_".join(words[:length])
        key = _aliases("timm since 0.8").get(stem, PREFIX + stem)
        if key.removeprefix(PREFIX) in _timm_bare():
            return key
    return ""


@cache
def _by_joined_name() -> Mapping[str, tuple[str, ...]]:
    """Keys by names without case and separators: the zoo's names and torchvision's, else timm's."""
    found: dict[str, tuple[str, ...]] = {}
    for name in _timm_bare():
        found[joined_name(name)] = (*found.get(joined_name(name), ()), PREFIX + name)
    # Where the zoo has a name it is the one of papers and of torchvision.
    found.update({joined_name(name): (name,) for name in _zoo_keys()})
    found.setdefault("alexnet", (_aliases("torchvision")["alexnet"],))
    for name in _zoo_keys():
        if name.startswith(_AUTHORS):
            bare = name.removeprefix(_AUTHORS)
            found[joined_name(bare)] = (name, _aliases("torchvision")[bare])
    return MappingProxyType(found)


def _refuse_transformer(name: str) -> None:
    if joined_name(name) in {joined_name(known) for known in _aliases("torchvision transformer")}:
        raise InputError(f"{shown(name)} of torchvision is a transformer; expected a CNN")


def _one(text: str, found: tuple[str, ...]) -> str:
    """The only CNN found; UnknownNameError with the candidates where there are several or none."""
    if len(found) == 1:
        return found[0]
    _refuse_transformer(text)
    found = found or _beginning_with(text)
    if len(found) > 1:
        listed = ", ".join(found[:_MOST_LISTED])
        more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        raise UnknownNameError(
            f"{shown(text)} may mean several CNNs: {listed}{more}; give one of them", found[:_MOST_LISTED]
        )
    raise _unknown(text, found)


def _unknown(text: str, found: tuple[str, ...]) -> UnknownNameError:
    """Return the error for a name that no CNN has: what it is where that is known, else near names."""
    key = joined_name(text)
    if _TRANSFORMERS.match(key):
        return UnknownNameError(f"{shown(text)} is a transformer; transformers are not modelled, only CNNs")
    if _OTHER_TASKS.match(key):
        return UnknownNameError(f"{shown(text)} is not built in; {_USER_CNN}")
    known = (*found, *sorted(_zoo_keys()), *sorted(_timm_bare()))
    error = unknown_name("CNN", text.lower(), dict.fromkeys(known))
    if error.candidates:
        return error
    return UnknownNameError(f"unknown CNN {shown(text)}: `trainlaw cnn list` has all; {_USER_CNN}")


def _beginning_with(text: str) -> tuple[str, ...]:
    """Keys of CNNs whose names begin with a text of a word or more, the zoo's and shorter ones first."""
    key = joined_name(text)
    if not re.match(r"[a-z]{3}", key):
        return ()
    # A number that is cut off ("resnet5") is a slip rather than the beginning of a name.
    begins = re.compile(re.escape(key) + (r"(?!\d)" if key[-1].isdigit() else ""))
    names = {name: joined_name(name.removeprefix(PREFIX)) for name in cnn_names()}
    begun = [name for name, joined in names.items() if begins.match(joined)]
    return tuple(sorted(begun, key=lambda name: (name.startswith(PREFIX), len(name), name)))
