"""The names of CNNs: those written out in the zoo, those of timm, and how packages and papers write them.

The zoo's names and timm's (with the prefix "timm/") are the keys that tables of runs hold. A name that is
written otherwise is found in this order: under the package it names; as it is written; without regard to case
and separators. Where that leaves several CNNs, all are listed.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.timm_tables import PREFIX, build_timm, timm_entry, timm_names
from trainlaw.datasets.cnns.zoo import Entry, build, dense_names, zoo_entry, zoo_names
from trainlaw.datasets.files.mapping import joined_name
from trainlaw.formulas.errors import InputError, UnknownNameError, shown, unknown_name

MAX_NAME_LENGTH = 200
_MOST_LISTED = 8
# Where torchvision's name is another CNN than the zoo's of that name, or the zoo has it under another name.
_TORCHVISION: Mapping[str, str] = {
    "alexnet": "alexnet_torch",
    "googlenet": "googlenet_bn",
    "inception_v3": "inception_v3_auxiliary",
    "regnet_x_400mf": "regnet_x_400mf_torch",
    "regnet_y_128gf": "regnet_y_128gf_torch",
    "regnet_y_800mf": "regnet_y_800mf_torch",
    "regnet_y_8gf": "regnet_y_8gf_torch",
}
# The other classifiers of torchvision; https://docs.pytorch.org/vision/stable/models.html lists all 80.
_SAME_IN_TORCHVISION = frozenset(
    """
    convnext_base convnext_large convnext_small convnext_tiny densenet121 densenet161 densenet169 densenet201
    efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5
    efficientnet_b6 efficientnet_b7 efficientnet_v2_l efficientnet_v2_m efficientnet_v2_s mnasnet0_5
    mnasnet0_75 mnasnet1_0 mnasnet1_3 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_16gf
    regnet_x_1_6gf regnet_x_32gf regnet_x_3_2gf regnet_x_800mf regnet_x_8gf regnet_y_16gf regnet_y_1_6gf
    regnet_y_32gf regnet_y_3_2gf regnet_y_400mf resnet101 resnet152 resnet18 resnet34 resnet50
    resnext101_32x8d resnext101_64x4d resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5
    shufflenet_v2_x2_0 squeezenet1_0 squeezenet1_1 vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn
    wide_resnet101_2 wide_resnet50_2
    """.split()
)
_TRANSFORMERS = frozenset(
    """
    maxvit_t swin_b swin_s swin_t swin_v2_b swin_v2_s swin_v2_t vit_b_16 vit_b_32 vit_h_14 vit_l_16 vit_l_32
    """.split()
)
# The package of RegNet's authors; three of its CNNs differ from torchvision's of the same name.
_AUTHORS = "pycls/"
_PACKAGES = re.compile(
    r"^(?:hf[-_]hub:)?(torchvision(?:\.models)?|timm(?:\.models)?|pycls)[./:]", re.IGNORECASE
)
# ResNet with its stride in the 3x3 convolution, as torchvision and the zoo have it.
_VERSION = re.compile(r"(?<=\d)[\s_-]*\(?v1[._]5\)?$", re.IGNORECASE)
# Names since timm 0.8, without their weights' tag, of CNNs that 0.6.12 names otherwise.
_LATER_TIMM: Mapping[str, str] = {
    "legacy_xception": "xception",
    "resnetv2_50x1_bit": "resnetv2_50x1_bitm",
    "resnetv2_50x3_bit": "resnetv2_50x3_bitm",
    "resnetv2_101x1_bit": "resnetv2_101x1_bitm",
    "resnetv2_101x3_bit": "resnetv2_101x3_bitm",
    "resnetv2_152x2_bit": "resnetv2_152x2_bitm",
    "resnetv2_152x4_bit": "resnetv2_152x4_bitm",
}


@cache
def cnn_names() -> tuple[str, ...]:
    """Return the names of all CNNs that can be built, sorted; timm's have the prefix "timm/".

    Returns
    -------
    tuple of str
        The names as tables of runs hold them.
    """
    return tuple(sorted({*zoo_names(), *dense_names(), *timm_names()}))


def cnn_entry(name: str) -> Entry:
    """Return base, family, usual input size and classes of a CNN by its key; raises UnknownNameError."""
    return timm_entry(name) if name.startswith(PREFIX) else zoo_entry(name)


def build_cnn(name: str, input_size_px: int | None = None, n_classes: int | None = None) -> Cnn:
    """Return the CNN of a key as a graph of layers, at an input size in pixels (None: its usual one).

    Raises UnknownNameError for an unknown key, InputError for a size at which it cannot be built.
    """
    make = build_timm if name.startswith(PREFIX) else build
    return make(name, input_size_px, n_classes)


def cnn_key(text: str) -> str:
    """Return the key that `text` is, or else that of the CNN it names: how tables of runs are read."""
    return text if text in cnn_names() else cnn_name(text)


def cnn_name(text: str) -> str:
    """Return the key of the CNN that `text` names.

    Parameters
    ----------
    text : str
        A name as packages and papers write it: "ResNet-50", "torchvision.models.resnet50",
        "timm/resnet50d", "resnet50.a1_in1k", "ResNet-50 v1.5".

    Returns
    -------
    str
        The name in the tables of runs.

    Raises
    ------
    UnknownNameError
        For a name that no CNN has, with near names, or that several have, with all of them.

    >>> cnn_name("ResNet-50"), cnn_name("AlexNet"), cnn_name("resnet50.a1_in1k")
    ('resnet50', 'alexnet_torch', 'timm/resnet50')
    """
    text = text.strip()
    if len(text) > MAX_NAME_LENGTH:
        raise unknown_name("CNN", text.lower()[:MAX_NAME_LENGTH], cnn_names())
    package = _PACKAGES.match(text)
    if package:
        return _of_package(package[1].lower(), text[package.end() :])
    if text in _zoo_keys():
        return text
    if text in _TORCHVISION:
        return _TORCHVISION[text]
    if timm := _timm_key(text):
        return timm
    return _one(text, _by_joined_name().get(_joined(_VERSION.sub("", text)), ()))


@cache
def _zoo_keys() -> frozenset[str]:
    return frozenset((*zoo_names(), *dense_names()))


def _joined(text: str) -> str:
    """A name without case and separators; "8.0GF", as papers write it, is "8gf"."""
    return joined_name(re.sub(r"\.0(?=[gm]f)", "", text, flags=re.IGNORECASE))


def _of_package(package: str, name: str) -> str:
    """The key of a CNN that a package has under a name."""
    if package.startswith("timm"):
        found = _timm_key(name) or _timm_key(name.lower().replace("-", "_"))
        known: Iterable[str] = (PREFIX + bare for bare in _timm_bare())
        given = PREFIX + name
    elif package == "pycls":
        found = _authors_by_joined_name().get(_joined(name), "")
        keys = _authors_by_joined_name().values()
        known, given = (_AUTHORS + key.removeprefix(_AUTHORS) for key in keys), _AUTHORS + name
    else:
        key = _joined(name)
        _refuse_transformer(name)
        found = _torchvision_by_joined_name().get(key, "")
        known = (f"torchvision.models.{other}" for other in (*_TORCHVISION, *_SAME_IN_TORCHVISION))
        given = f"torchvision.models.{name}"
    if not found:
        raise unknown_name("CNN", given, sorted(known))
    return found


@cache
def _timm_bare() -> frozenset[str]:
    return frozenset(name.removeprefix(PREFIX) for name in timm_names())


def _timm_key(name: str) -> str:
    """The key of timm's CNN of that name, with or without the tag of its weights; empty if there is none."""
    stem = name.partition(".")[0]
    stem = _LATER_TIMM.get(stem, stem)
    return PREFIX + stem if stem in _timm_bare() else ""


@cache
def _torchvision_by_joined_name() -> Mapping[str, str]:
    same = {joined_name(name): name for name in _SAME_IN_TORCHVISION}
    return MappingProxyType({**same, **{joined_name(name): key for name, key in _TORCHVISION.items()}})


@cache
def _authors_by_joined_name() -> Mapping[str, str]:
    return MappingProxyType(
        {
            joined_name(name.removeprefix(_AUTHORS)): name
            for name in zoo_names()
            if zoo_entry(name).base == "regnet"
        }
    )


@cache
def _by_joined_name() -> Mapping[str, tuple[str, ...]]:
    """Keys by names without case and separators: the zoo's names and torchvision's, else timm's."""
    found: dict[str, tuple[str, ...]] = {}
    for name in _timm_bare():
        found[joined_name(name)] = (*found.get(joined_name(name), ()), PREFIX + name)
    # Where the zoo has a name it is the one of papers and of torchvision.
    found.update({joined_name(name): (name,) for name in _zoo_keys()})
    found.setdefault("alexnet", (_TORCHVISION["alexnet"],))
    for name in _zoo_keys():
        if name.startswith(_AUTHORS):
            bare = name.removeprefix(_AUTHORS)
            found[joined_name(bare)] = (name, _TORCHVISION[bare])
    return MappingProxyType(found)


def _refuse_transformer(name: str) -> None:
    if joined_name(name) in {joined_name(other) for other in _TRANSFORMERS}:
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
    known = (*found, *sorted(_zoo_keys()), *sorted(_timm_bare()))
    raise unknown_name("CNN", text.lower(), dict.fromkeys(known))


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
