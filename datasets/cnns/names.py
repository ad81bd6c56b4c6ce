"""The names of CNNs: those written out in the zoo, those of timm, and how packages and papers write them.

The zoo's names and timm's (with the prefix "timm/") are the keys that tables of runs hold. A name that is
written otherwise is found in this order: under the package it names; as it is written; without regard to case
and separators. Where that leaves several CNNs, all are listed.
"""

from collections.abc import Mapping
from functools import cache

from trainlaw.datasets.cnns.zoo import PREFIX, dense_names, timm_names, zoo_entry, zoo_names
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.datasets.naming import NameIndex, naming_rules
from trainlaw.formulas.errors import UnknownNameError

# The package of RegNet's authors; three of its CNNs differ from torchvision's of the same name.
_AUTHORS = "pycls/"
_TORCHVISION = "torchvision/"


@cache
def _aliases(package: str) -> Mapping[str, str]:
    """Return our keys by the names that a package gives them, as `cnn_aliases.csv` lists them.

    https://docs.pytorch.org/vision/stable/models.html lists all of torchvision. Names since timm 0.8, without
    their weights' tag, are of CNNs that 0.6.12 names otherwise.
    """
    rows = read_data_rows("cnn_aliases.csv")
    return {row["name"]: row["cnn"] for row in rows if row["package"] == package}


@cache
def cnn_names() -> tuple[str, ...]:
    """Return the names of all CNNs that can be built, sorted; timm's have the prefix "timm/"."""
    return tuple(sorted({*zoo_names(), *dense_names(), *timm_names()}))


def cnn_name(text: str) -> str:
    """Return the name in the tables of runs of the CNN that `text` names, as packages and papers write it.

    UnknownNameError for a name that no CNN has, with near names, or that several have, with all of them.

    >>> cnn_name("ResNet-50"), cnn_name("AlexNet"), cnn_name("resnet50.a1_in1k")
    ('resnet50', 'alexnet_torch', 'timm/resnet50')
    """
    text = text.strip()
    # Without timm's tables, which take a tenth of the time of a command.
    if text in zoo_names() or text in dense_names():
        return text
    if text in _written():
        return _written()[text]
    meaning = names_of_cnns().meaning(text)
    if meaning.name:
        return meaning.name
    raise UnknownNameError(names_of_cnns().question(text, meaning), meaning.candidates)


@cache
def _written() -> dict[str, str]:
    """Return the CNNs by the names that are taken as they are written: the zoo's, torchvision's, timm's."""
    found = {name.removeprefix(PREFIX): name for name in timm_names()}
    for name, key in _aliases("timm since 0.8").items():
        found |= {name: key, PREFIX + name: key}
    return {**found, **_aliases("torchvision"), **{name: name for name in cnn_names()}}


@cache
def names_of_cnns() -> NameIndex:
    """Return what texts mean among all CNNs."""
    rules = NameIndex("CNN", naming_rules("CNN"))
    authors = {name.removeprefix(_AUTHORS): name for name in zoo_names() if zoo_entry(name).base == "regnet"}
    torchvision = _aliases("torchvision")
    # Where the zoo has a name it is the one of papers; later lines count more.
    found: dict[str, list[str]] = {}
    for name, key in _written().items():
        same = found.setdefault(rules.key(name), [])
        same += [] if key in same else [key]
    found |= {rules.key(name): [key] for name, key in torchvision.items()}
    found |= {rules.key(name): [name] for name in (*zoo_names(), *dense_names())}
    found |= {rules.key(name): [key] for name, key in _aliases("people").items()}
    found |= {rules.key(_TORCHVISION + name): [key] for name, key in torchvision.items()}
    found |= {rules.key(_AUTHORS + name): [key] for name, key in authors.items()}
    for name, key in authors.items():
        if key.startswith(_AUTHORS):
            found[rules.key(name)] = [key, torchvision[name]]
    return NameIndex("CNN", naming_rules("CNN"), exact=_written(), keys=found)
