"""The names of GPUs and CNNs as people write them, as columns that cell formulas look up.

A spreadsheet has no patterns, so a text is looked up without some words and separators (`ignored_words`)
among spellings that mean a row for sure by `NameIndex`.
"""

from collections.abc import Iterable, Mapping
from functools import reduce

from trainlaw.app.workbook.model import TABLES
from trainlaw.datasets import built_in_gpus
from trainlaw.datasets.cnns.names import names_of_cnns
from trainlaw.datasets.hardware.instances import instances
from trainlaw.datasets.naming import NameIndex, ignored_words

# What a beginning of a key is written as, too.
_SHORTER = {"efficientnet": "effnet", "resnet": "rn", "wideresnet": "wrn", "vgg": "vggnet"}
_PACKAGES = ("torchvision.models.", "torchvision/", "timm.models.")


def sheet_key(kind: str, text: str) -> str:
    """Return a text as the columns of further names hold it.

    >>> sheet_key("gpu", "NVIDIA GeForce RTX 4090")
    'rtx4090'
    """
    return reduce(lambda key, word: key.replace(word, ""), ignored_words(kind), text.lower())


def key_formula(kind: str, text: str) -> str:
    """Return the cell formula of the key of a text, itself a cell formula."""
    key = f"LOWER({text})"
    for word in ignored_words(kind):
        key = f'SUBSTITUTE({key},"{word}","")'
    return key


def further_names(kind: str, labels: Mapping[str, str]) -> dict[str, str]:
    """Return the spellings of a row by its label, as written in lower case and as keys, between semicolons.

    labels : by name. A spelling that several rows have, or that asks for one of several, is left out.
    """
    index = built_in_gpus().names if kind == "gpu" else names_of_cnns()
    found: dict[str, set[str]] = {}
    for text in dict.fromkeys(_spellings(index)):
        for name in _meant(index, text):
            found.setdefault(sheet_key(kind, text), set()).add(name)
    for text, name in index.exact.items() if kind == "cnn" else ():
        found.setdefault(text.lower(), set()).add(name)
    spelled: dict[str, list[str]] = {}
    for text, names in sorted(found.items()):
        (name, *others) = names | _meant(index, text)
        if not others:
            spelled.setdefault(labels.get(name, ""), []).append(text)
    return {label: f";{';'.join(of_row)};" for label, of_row in spelled.items()}


def instance_rows() -> list[list[str | float]]:
    """Return the key, name, GPU, number of GPUs, link, fabric and price of a GPU of each cloud's instance.

    An instance whose key is that of its GPU has that one's price.
    """
    gpus = {sheet_key("gpu", gpu.gpu) for gpu in built_in_gpus().gpus}
    return [
        [
            sheet_key("gpu", one.instance),
            f"{one.provider} {one.instance}",
            one.gpu,
            float(one.gpus_per_node),
            one.link,
            one.fabric,
            one.price_usd_per_hour / one.gpus_per_node,
        ]
        for one in instances()
        if sheet_key("gpu", one.instance) not in gpus
    ]


def without_count(text: str) -> str:
    """Return the cell formula of a text without the number of GPUs before it, "8x A100-SXM4-40GB"."""
    return f'IF(ISNUMBER({_before_x(text)}),MID({text},FIND("x",LOWER({text}))+1,99),{text})'


def said_count(choice: str) -> str:
    """Return the cell formula of the number before the name in the text of a choice, else 1."""
    return f"IFERROR({_before_x(choice)},1)"


def _before_x(text: str) -> str:
    number = f'VALUE(LEFT({text},FIND("x",LOWER({text}))-1))'
    return f'IF(AND({number}>0,FIND("x",LOWER({text}))<4),{number},1/0)'


def _meant(index: NameIndex, text: str) -> set[str]:
    """Return the names that a text may mean for all that a cell formula knows of it."""
    if text in index.exact:
        names = [index.exact[text]]
    elif index.sizes:
        names, is_sure = index.found(index.clean(text))
        names = names if is_sure or index.key(text) in index.loose else []
    else:
        names = index.keys.get(index.key(text), [])
    return {index.instances.get(name, (name, 1))[0] if len(names) == 1 else name for name in names}


def _spellings(index: NameIndex) -> Iterable[str]:
    """Yield texts that may mean a name, those of `NameIndex` and those that its rules make of them."""
    yield from (*index.exact, *index.keys, *index.loose)
    yield from (alias for gpu in built_in_gpus().gpus for alias in gpu.aliases if gpu.gpu in index.exact)
    for name, size in index.sizes.items():
        first, *others = [word for word in name.replace("-", " ").split() if word != f"{size:g}GB"]
        for words in ([first], [first, *others]):
            yield from (" ".join((*words, f"{size:g}{unit}")) for unit in ("gb", "g"))
        reports = [f"{reported}mib" for reported in TABLES["reported_mib"].get(f"{size:g}", ())]
        called = [" ".join((first, *others)), name, *built_in_gpus().find(name).aliases]
        yield from (f"{text} {report}" for text in called for report in reports)
        yield f"{first} {size:g}gb {' '.join(others)}"
        yield from (f"{key} {size:g}gb" for key, names in index.loose.items() if name in names)
    for key in index.keys if not index.sizes else ():
        yield from (
            short + key.removeprefix(long) for long, short in _SHORTER.items() if key.startswith(long)
        )
        yield from (package + key for package in _PACKAGES)
