"""The sheet Names: further names of GPUs and CNNs, as drivers, clouds and packages write them."""

import re
from collections.abc import Mapping

from trainlaw.app.models.lookup_tables import cnn_meanings, cnn_rows, gpu_rows
from trainlaw.app.sheets.plan import BookPlan
from trainlaw.app.workbook.model import new_sheet
from trainlaw.datasets import built_in_gpus

_HEAD = 3
FAMILY = "family"
#: What no name needs to be found.
_IGNORED = (" ", "-", "_", "nvidia", "geforce", "tesla", "amd", "intel")


def _key(text: str) -> str:
    """Return a name as sheet Names lists it.

    >>> _key("NVIDIA GeForce RTX 4090")
    'rtx4090'
    """
    key = text.lower()
    for part in _IGNORED:
        key = key.replace(part, "")
    return key


def _names() -> Mapping[str, Mapping[str, str]]:
    """Return what further names mean by key, of GPUs and of CNNs; a name of several is left out."""
    gpus = {**{name: name for name in gpu_rows()}, **built_in_gpus().spellings()}
    found: dict[str, dict[str, str]] = {}
    for kind, names, known in (("gpu", gpus, gpu_rows()), ("cnn", cnn_meanings(), cnn_rows())):
        meanings: dict[str, set[str]] = {}
        for name, own in names.items():
            if own in known:
                meanings.setdefault(_key(name), set()).add(own)
        found[kind] = {key: own for key, (own, *others) in sorted(meanings.items()) if not others}
    return found


def _families() -> Mapping[str, str]:
    """Return the GPUs that a text is the common beginning of, such as A100, by its key."""
    catalog, found = built_in_gpus(), dict[str, str]()
    for name in gpu_rows():
        parts = re.split(r"(?=[ -])", name)
        for end in range(1, len(parts)):
            text = "".join(parts[:end])
            members = catalog.variants(text)
            if members:
                found[_key(text)] = " or ".join(gpu.gpu for gpu in members)
    return found


def meant(kind: str) -> str:
    """Return the cell formula of the name that a choice means, "not known" where it means none."""
    entered, listed = f"tl_{kind}_choice", f"tl_{kind}s"
    exact = f"INDEX({listed},MATCH({entered},{listed},0))"
    return f'IFERROR({exact},IFERROR({_found(kind, kind)},"not known"))'


def offered(kind: str) -> str:
    """Return the cell formula of the names that a choice may mean, an error where there are none."""
    return f'"choose "&{_found(kind, FAMILY)}'


def _found(kind: str, names: str) -> str:
    """Return the cell formula of what a choice of a kind is among some names."""
    key = f"LOWER(tl_{kind}_choice)"
    for part in _IGNORED:
        key = f'SUBSTITUTE({key},"{part}","")'
    return f"INDEX(tl_names_{names}_of,MATCH({key},tl_names_{names},0))"


def write_names(book: BookPlan) -> None:
    """Write the sheet."""
    sheet = new_sheet(book, "Names")
    tables = {**_names(), FAMILY: _families()}
    heads = {
        "gpu": ("name of a GPU", "GPU on sheet GPUs"),
        "cnn": ("name of a CNN", "CNN on sheet CNNs"),
        FAMILY: ("name of several GPUs", "GPUs on sheet GPUs"),
    }
    for left, (kind, names) in zip((0, 3, 6), tables.items(), strict=True):
        sheet.heads(_HEAD, heads[kind], "head_unit", left)
        for row, (key, own) in enumerate(names.items(), start=_HEAD + 1):
            sheet.text(row, left, key)
            sheet.text(row, left + 1, own, "unit")
        for column, name in ((left, kind), (left + 1, f"{kind}_of")):
            sheet.define_range(f"tl_names_{name}", column, _HEAD + 1, _HEAD + len(names) + 200)
