"""The known CNNs for a terminal: counts per family, or the CNNs that a text or a family selects."""

from dataclasses import dataclass

import pandas as pd
from trainlaw.app.text.numbers import show_with_prefix
from trainlaw.app.text.tables import text_table, wrapped_list
from trainlaw.datasets import CnnCounts, cnn_table, find_cnn_counts
from trainlaw.datasets.cnns.names import cnn_entry, written_name
from trainlaw.datasets.cnns.timm_tables import timm_table
from trainlaw.datasets.cnns.zoo import dense_names
from trainlaw.datasets.files.mapping import joined_name
from trainlaw.formulas.errors import unknown_name

# As many lines as a terminal of 24 has with the header and the advice, and twice as many CNNs.
_MOST_FAMILIES = 18
_MOST_CNNS = 40
SORT_KEYS = ("name", "macs", "params")


@dataclass(frozen=True)
class CnnQuery:
    """Which CNNs to list: `search` is part of a name or family, `family` a whole one; empty: all.

    `everything` lists without a limit, `sizes` each input size whose counts are shipped, `sort` is one of
    `SORT_KEYS`.
    """

    search: str = ""
    family: str = ""
    everything: bool = False
    sizes: bool = False
    sort: str = "name"

    @property
    def selects(self) -> bool:
        """Whether CNNs are to be listed rather than families."""
        return bool(self.search or self.family or self.everything or self.sizes)


def cnn_list_text(query: CnnQuery) -> str:
    """Return the families, or the CNNs that a query selects; raises UnknownNameError."""
    if query.sort not in SORT_KEYS:
        raise unknown_name("sort key", query.sort, SORT_KEYS)
    table = _known_cnns()
    if query.family and query.family not in set(table["cnn_family"]):
        raise unknown_name("CNN family", query.family, sorted(set(table["cnn_family"])))
    if not query.selects:
        return _families_text(_at_usual_sizes(table))
    found = table[_matches(table, query)]
    if found.empty:
        return f"no CNN matches {query.search!r}"
    return _cnns_text(found if query.sizes else _at_usual_sizes(found), query)


def _known_cnns() -> pd.DataFrame:
    columns = ["cnn", "cnn_base", "cnn_family", "input_size_px", "n_classes", "macs", "params"]
    others = pd.DataFrame([_row(find_cnn_counts(name)) for name in dense_names()])
    table = pd.concat([cnn_table()[columns], others[columns], timm_table()[columns]], ignore_index=True)
    return table.assign(written=table["cnn"].map(written_name))


def _row(known: CnnCounts) -> dict[str, object]:
    names = {"cnn": known.cnn, "cnn_base": known.cnn_base, "cnn_family": known.cnn_family}
    sizes = {"input_size_px": known.input_size_px, "n_classes": known.n_classes}
    return {**names, **sizes, **known.counts}


def _at_usual_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """The row of each CNN at its usual input, or else its first row."""
    entries = table["cnn"].map(cnn_entry)
    is_usual = [
        (entry.input_size_px, entry.n_classes) == (size, classes)
        for entry, size, classes in zip(entries, table["input_size_px"], table["n_classes"], strict=True)
    ]
    ordered = table.assign(is_usual=is_usual).sort_values("is_usual", ascending=False, kind="stable")
    return ordered.drop_duplicates("cnn").sort_index()


def _matches(table: pd.DataFrame, query: CnnQuery) -> list[bool]:
    text, joined = query.search.lower(), joined_name(query.search)
    texts = (table["written"] + " " + table["cnn"] + " " + table["cnn_family"]).str.lower()
    return [
        query.family in ("", family) and (text in row or (joined != "" and joined in joined_name(name)))
        for row, name, family in zip(texts, table["written"], table["cnn_family"], strict=True)
    ]


def _families_text(table: pd.DataFrame) -> str:
    groups = sorted(table.groupby("cnn_family"), key=lambda group: (-len(group[1]), str(group[0])))
    rows = [
        [family, len(cnns), _span(cnns["macs"]), _span(cnns["params"]), _example(cnns)]
        for family, cnns in groups[:_MOST_FAMILIES]
    ]
    header = ["family", "CNNs", "MACs per image", "parameters", "such as"]
    more = [f"{family} {len(cnns)}" for family, cnns in groups[_MOST_FAMILIES:]]
    return "\n".join(
        [
            text_table(header, rows, indent=""),
            "further families, with their CNNs:",
            wrapped_list(more),
            f"{len(table)} CNNs in {len(groups)} families; `trainlaw cnn list TEXT` searches them,",
            "--family NAME lists a family, --all lists every CNN",
        ]
    )


def _span(values: pd.Series) -> str:
    low, high = (show_with_prefix(float(value), "") for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _example(cnns: pd.DataFrame) -> str:
    return str(min(cnns["written"], key=lambda name: (name.startswith("timm/"), len(name), name)))


def _cnns_text(found: pd.DataFrame, query: CnnQuery) -> str:
    order = ["cnn_family", "written"] if query.sort == "name" else [query.sort, "written"]
    found = found.sort_values([*order, "input_size_px"], kind="stable")
    limit = len(found) if query.everything else _MOST_CNNS
    rows = [
        [
            row["written"], row["cnn_family"], f"{row['input_size_px']} px", row["n_classes"],
            *(show_with_prefix(float(row[count]), "") for count in ("macs", "params")),
        ]
        for row in found.head(limit).to_dict("records")
    ]  # fmt: skip
    header = ["CNN", "family", "input", "classes", "MACs per image", "parameters"]
    lines = [text_table(header, rows, indent="")]
    if len(found) > limit:
        counts = found["cnn_family"].value_counts().sort_index()
        lines.append(f"and {len(found) - limit} more (--all lists them); by family:")
        lines.append(wrapped_list([f"{family} {count}" for family, count in counts.items()]))
    return "\n".join(lines)
