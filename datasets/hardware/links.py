"""Interconnects: links within a node and fabrics between nodes, with rate, latency and their sources."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType

import pandas as pd
from trainlaw.datasets.files.storage import read_data_table
from trainlaw.formulas.errors import check_name, unknown_name

_INFINIBAND = re.compile(r"^ib-")
# A generation of NVLink without a number of links means all links of its largest GPU.
_WHOLE: Mapping[str, str] = {
    "nvlink1": "nvlink1-x4",
    "nvlink2": "nvlink2-x6",
    "nvlink3": "nvlink3-x12",
    "nvlink4": "nvlink4-x18",
    "nvlink5": "nvlink5-x18",
}
_SOURCE_COLUMNS: Mapping[str, str] = {
    "nominal_byte_per_s": "nominal_source",
    "effective_byte_per_s": "effective_source",
    "latency_s": "latency_source",
}


@dataclass(frozen=True)
class Link:
    """One kind of link, seen from one GPU (scope "node") or from one node (scope "network", the fabric).

    Rates in B/s and one direction, nan where unknown: `nominal_byte_per_s` as specified,
    `effective_byte_per_s` as large messages see it; `latency_s` in seconds, from the memory of one end
    to that of the other. Each figure has its own source.
    """

    link: str
    kind: str
    scope: str
    nominal_byte_per_s: float
    nominal_source: str
    effective_byte_per_s: float
    effective_source: str
    latency_s: float
    latency_source: str
    remark: str

    @property
    def s_per_byte(self) -> float:
        """Seconds per byte of a large message in one direction; nan for no link."""
        return 1.0 / self.effective_byte_per_s

    def source_of(self, column: str) -> str:
        """Return the source of a figure, "unknown" where there is no figure.

        Raises UnknownNameError for a column that is not a figure.

        >>> find_link("pcie4-x16").source_of("effective_byte_per_s")
        'recalled'
        """
        check_name("figure of a link", column, _SOURCE_COLUMNS)
        return str(getattr(self, _SOURCE_COLUMNS[column])) or "unknown"


def link_table() -> pd.DataFrame:
    """Return the shipped links as a table.

    Returns
    -------
    DataFrame
        One row per link, columns as the fields of `Link` (a new frame).
    """
    table = read_data_table("links.csv")
    texts = [field.name for field in fields(Link) if field.type is str]
    return table.assign(**{name: table[name].fillna("") for name in texts})


@cache
def links() -> Mapping[str, Link]:
    """Return the links by name."""
    rows = link_table().to_dict("records")
    return MappingProxyType({str(row["link"]): Link(**row) for row in rows})  # type: ignore[arg-type]


def find_link(text: str) -> Link:
    """Return the link or fabric of a name.

    Parameters
    ----------
    text : str
        A name of the link table; "ib" means InfiniBand, "nvlink3" all twelve links of its generation.

    Returns
    -------
    Link

    Raises
    ------
    UnknownNameError
        No link has that name; the message suggests near names.

    Examples
    --------
    >>> find_link("pcie4-x16").effective_byte_per_s, find_link("ib-edr").link
    (24000000000.0, 'infiniband-edr')
    """
    name = _INFINIBAND.sub("infiniband-", text.strip().lower().replace(" ", "-").replace("_", "-"))
    name = _WHOLE.get(name, name)
    if name not in links():
        raise unknown_name("link", text, links())
    return links()[name]
