"""GPUs, links, CNNs and features as text, each figure with its unit and source."""

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import pandas as pd
from trainlaw.app.inputs.resolve import reader_notes, study_specifications
from trainlaw.app.inputs.selection import contains
from trainlaw.app.text.numbers import show_count_range, show_number, show_with_prefix
from trainlaw.app.text.tables import Table, fitted_lines, wrapped_list
from trainlaw.datasets import FEATURES, LAYER_FEATURES, CnnCounts, Gpu, cnn_table, find_cnn_counts, find_link
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.memory import training_memory
from trainlaw.datasets.cnns.zoo import dense_names, timm_table, zoo_entry
from trainlaw.datasets.features.feature import Feature
from trainlaw.datasets.files.columns import Column
from trainlaw.datasets.files.mapping import joined_name
from trainlaw.datasets.hardware.gpus import FACT_COLUMNS, GPU_COLUMNS
from trainlaw.datasets.hardware.links import Link
from trainlaw.formulas.errors import check_name, unknown_name
from trainlaw.formulas.files.text_files import csv_text

_PREFIXED = ("Hz", "FLOP/s", "B", "B/s")
_EXAMPLES = {"FLOP/s": "150 TFLOP/s", "B/s": "900 GB/s", "B": "24 GB", "Hz": "1.7 GHz", "W": "300 W"}
_LINKS = ("host_link", "gpu_link")
# Caches are sized in powers of two, memory and rates in powers of ten.
_CACHES = ("l1_bytes_per_sm", "l2_bytes", "last_level_cache_bytes")
_MEMORY_BATCHES = (1, 32, 256)  # the least, a common and a large batch


_LISTED = (("memory_bytes", "B"), ("peak_fp32_flop_per_s", "FLOP/s"), ("bandwidth_byte_per_s", "B/s"))


def gpus_text(gpus: Iterable[Gpu]) -> str:
    """Return the main specifications of GPUs, a line each."""
    rows = [
        [gpu.gpu, gpu.chip or "-", gpu.generation or "-"]
        + [known_with_prefix(getattr(gpu, name), unit, 3) for name, unit in _LISTED]
        for gpu in gpus
    ]
    return Table.of(["GPU", "chip", "generation", "memory", "peak fp32", "bandwidth"], rows).text()


def gpu_text(gpu: Gpu) -> str:
    """Return all specifications of a GPU, one per line: name, value with unit, source of that value."""
    units = {column.name: column.unit for column in GPU_COLUMNS}
    rows = [
        [name, _value(name, getattr(gpu, name), units[name]), gpu.source_of(name)] for name in FACT_COLUMNS
    ]
    aliases = f"\nalso called: {', '.join(gpu.aliases)}" if gpu.aliases else ""
    remark = f"\nremark: {gpu.remark}" if gpu.remark else ""
    table = Table.of(["specification", "value", "source"], rows).text()
    return fitted_lines(f"{gpu.gpu}{aliases}{remark}\n{table}")


def gpu_template_text(gpu: Gpu | None = None) -> str:
    """Return a CSV file of one GPU to fill in: needed columns, those of the built-in formula, and others.

    gpu : fills the row, with units; None leaves it empty but for the name.
    """
    columns = template_columns()
    cells = ["My GPU" if column.name == "gpu" else _cell_of(gpu, column) for column in columns]
    row = dict(zip((column.name for column in columns), cells, strict=True))
    return csv_text([column.name for column in columns], [row])


def template_columns() -> tuple[Column, ...]:
    """Return the columns of a file of GPUs: what is needed, what the built-in formula uses, the others."""
    of_law = study_specifications()
    return tuple(
        sorted(GPU_COLUMNS, key=lambda column: (column.default is not None) * (2 - (column.name in of_law)))
    )


def template_guide() -> str:
    """Return what each column of a file of GPUs is, with an example that has a unit."""
    of_law = study_specifications()
    rows = []
    for column in template_columns():
        optional = "built-in formula" if column.name in of_law else "optional"
        example = "6 MB" if column.name in _CACHES else _EXAMPLES.get(column.unit, "")
        rows.append([column.name, "needed" if column.default is None else optional, example, column.meaning])
    return Table.of(["column", "for", "such as", "meaning"], rows).text()


def _cell_of(gpu: Gpu | None, column: Column) -> str:
    value = getattr(gpu, column.name, "") if gpu is not None else ""
    if column.name in ("gpu_group", "aliases", "source", "remark", "tensor_accumulation"):
        return ""
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return ""
    # Sizes of caches are powers of two, which a decimal prefix would round.
    return show_with_prefix(value, column.unit, 15) if column.unit and value >= 1e6 else f"{value:.15g}"


def _value(name: str, value: object, unit: str) -> str:
    if name in _LINKS and value:
        return f"{value}, {known_with_prefix(find_link(str(value)).effective_byte_per_s, 'B/s')}"
    if not isinstance(value, float):
        return str(value) or "unknown"
    if math.isnan(value):
        return "unknown"
    if name == "year":
        return f"{value:g}"
    if name in _CACHES:
        kib = value / 1024
        return "none" if not kib else f"{kib:,g} KiB" if kib < 1024 else f"{kib / 1024:,g} MiB"
    return known_with_prefix(value, unit) if unit in _PREFIXED else f"{show_number(value, 6)} {unit}".rstrip()


def known_with_prefix(value: float, unit: str, digits: int = 6) -> str:
    """Return a large number with `digits` digits and a decimal prefix before its unit; "unknown" for nan.

    >>> known_with_prefix(8.141e12, "FLOP/s"), known_with_prefix(float("nan"), "B")
    ('8.141 TFLOP/s', 'unknown')
    """
    return "unknown" if math.isnan(value) else show_with_prefix(value, unit, digits)


def links_text(links: Iterable[Link]) -> str:
    """Return links, with one line per figure: its value and its source."""
    rows = []
    for link in links:
        figures = (
            ("nominal_byte_per_s", "nominal", known_with_prefix(link.nominal_byte_per_s, "B/s")),
            ("effective_byte_per_s", "effective", known_with_prefix(link.effective_byte_per_s, "B/s")),
            ("latency_s", "latency", f"{show_number(link.latency_s * 1e6)} us"),
        )
        places = (f"within a {link.scope}" if link.scope == "node" else "between nodes", link.remark, "")
        rows += [
            [link.link if not number else "", title, value, link.source_of(column)]
            for number, (column, title, value) in enumerate(figures)
        ]
        rows[-3][-1] = f"{rows[-3][-1]} ({', '.join(place for place in places if place)})"
    return Table.of(["link", "figure", "value", "source"], rows).text()


def counts_text(facts: CnnCounts, explain: bool = False) -> str:
    """Return the counts of a CNN with their units, and with their definitions if `explain` is true."""
    rows = []
    for name, value in facts.counts.items():
        spec = FEATURES[name].spec
        unit = "" if spec.unit.is_dimensionless else str(spec.unit)
        shown = f"{value:,.0f}" if value == int(value) else show_number(value, 10)
        rows.append([name, shown, unit, *([spec.meaning] if explain else [])])
    header = ["count", "value", "unit", *(["definition"] if explain else [])]
    sizes = f"{facts.input_size_px} px, {facts.n_classes} classes"
    title = f"{facts.cnn} ({facts.cnn_family}), {sizes}, per image and forward pass"
    notes = "".join(f"\nnote: {note}" for note in reader_notes(facts))
    advice = "" if explain else "\n--explain gives the definition of each count"
    totals = {batch: training_memory(facts.graph, batch).total for batch in _MEMORY_BATCHES}
    needs = ", ".join(f"{show_with_prefix(total, 'B')} at batch {batch}" for batch, total in totals.items())
    memory = f"estimated memory of a training iteration, fp32 with momentum:\n  {needs}"
    return fitted_lines(f"{title}{notes}\n{Table.of(header, rows).text()}\n{memory}{advice}")


def layers_text(cnn: Cnn) -> str:
    """Return the layers of a CNN, one per line; `reads` lists the numbers of the layers that feed it."""
    grouped = any(layer.groups > 1 for layer in cnn.layers if layer.group == "convolution")
    rows = [
        [
            number,
            layer.kind,
            " ".join(map(str, layer.inputs)) or "-",
            f"{layer.out_channels}x{layer.out_height}x{layer.out_width}",
            f"{layer.kernel_height}x{layer.kernel_width}" if layer.group == "convolution" else "-",
            layer.stride if layer.group in ("convolution", "pooling") else "-",
            *([layer.groups if layer.group == "convolution" else "-"] if grouped else []),
            f"{layer.macs:,}",
            f"{layer.parameters:,}",
        ]
        for number, layer in enumerate(cnn.layers)
    ]
    groups = ["groups"] if grouped else []
    header = ["#", "kind", "reads", "output", "kernel", "stride", *groups, "MACs", "parameters"]
    return Table.of(header, rows).text()


def features_text(
    search: str = "", of_layers: bool = False, searched: Collection[str] = (), brief: bool = False
) -> str:
    """Return the features (of runs, or of layers) whose name, meaning or definition contains a text.

    searched : those of a study, which get a star. brief : leave the definitions out.
    """
    rows = []
    for feature in found_features(search, of_layers):
        spec = feature.spec
        star = "*" if spec.name in searched else ""
        rows.append([star, spec.name, spec.symbol, str(spec.unit), spec.meaning])
        if not (brief or feature.is_base):
            rows.append(["", "", "", "", f"= {feature.definition}"])
    header = ["", "name", "symbol", "unit", "meaning, definition"]
    return Table.of(header, rows).text() if rows else f"no feature contains {search!r}"


def found_features(search: str, of_layers: bool) -> Iterator[Feature]:
    """Yield the features (of runs, or of layers) whose name, meaning or definition contains a text."""
    for feature in (LAYER_FEATURES if of_layers else FEATURES).values():
        if search.lower() in f"{feature.spec.name}\n{feature.spec.meaning}\n{feature.definition}".lower():
            yield feature


# As many lines as a terminal of 24 has with the header and the advice, and twice as many CNNs.
_MOST_FAMILIES = 18
_MOST_CNNS = 45
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


def cnn_list_text(found: pd.DataFrame, query: CnnQuery) -> str:
    """Return the CNNs that a query selects as text, or their families; found : as `listed_cnns`."""
    if not query.selects:
        return _families_text(found)
    return f"no CNN matches {query.search!r}" if found.empty else _cnns_text(found, query)


def listed_cnns(query: CnnQuery) -> pd.DataFrame:
    """Return the CNNs that a query selects, sorted; all of them where it selects none. UnknownNameError."""
    check_name("sort key", query.sort, SORT_KEYS)
    table = _known_cnns()
    if query.family and query.family not in set(table["cnn_family"]):
        raise unknown_name("CNN family", query.family, sorted(set(table["cnn_family"])))
    found = table[_matches(table, query)]
    order = ["cnn_family", "cnn"] if query.sort == "name" else [query.sort, "cnn"]
    listed = found if query.sizes else _at_usual_sizes(found)
    return listed.sort_values([*order, "input_size_px"], kind="stable")


def _known_cnns() -> pd.DataFrame:
    columns = ["cnn", "cnn_base", "cnn_family", "input_size_px", "n_classes", "macs", "params"]
    dense = map(find_cnn_counts, dense_names())
    others = pd.DataFrame([{**vars(cnn), **cnn.counts} for cnn in dense])
    of_timm = (timm_table(later)[columns] for later in (False, True))
    return pd.concat([cnn_table()[columns], others[columns], *of_timm], ignore_index=True)


def _at_usual_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """The row of each CNN at its usual input, or else its first row."""
    entries = table["cnn"].map(zoo_entry)
    is_usual = [
        (entry.input_size_px, entry.n_classes) == (size, classes)
        for entry, size, classes in zip(entries, table["input_size_px"], table["n_classes"], strict=True)
    ]
    ordered = table.assign(is_usual=is_usual).sort_values("is_usual", ascending=False, kind="stable")
    return ordered.drop_duplicates("cnn").sort_index()


def _matches(table: pd.DataFrame, query: CnnQuery) -> list[bool]:
    text, joined = query.search.lower(), joined_name(query.search)
    texts = (table["cnn"] + " " + table["cnn_family"]).str.lower()
    return [
        query.family in ("", family)
        and (
            contains(text, (row, name, name.rpartition("/")[2]))
            or (joined != "" and joined in joined_name(name))
        )
        for row, name, family in zip(texts, table["cnn"], table["cnn_family"], strict=True)
    ]


def _families_text(table: pd.DataFrame) -> str:
    groups = sorted(table.groupby("cnn_family"), key=lambda group: (-len(group[1]), str(group[0])))
    rows = [
        [family, len(cnns), _span(cnns["macs"]), _span(cnns["params"]), _example(cnns)]
        for family, cnns in groups[:_MOST_FAMILIES]
    ]
    header = ["family", "CNNs", "MACs per image", "parameters", "such as"]
    more = [f"{family} {len(cnns)}" for family, cnns in groups[_MOST_FAMILIES:]]
    lines = [
        Table.of(header, rows).text(),
        "further families, with their CNNs:",
        wrapped_list(more),
        f"{len(table)} CNNs in {len(groups)} families; `trainlaw cnn list TEXT` searches them,",
        "--family NAME lists a family, --all lists every CNN",
    ]
    return fitted_lines("\n".join(lines))


def _span(values: pd.Series) -> str:
    return show_count_range(float(values.min()), float(values.max()))


def _example(cnns: pd.DataFrame) -> str:
    return str(min(cnns["cnn"], key=lambda name: (name.startswith("timm/"), len(name), name)))


def _cnns_text(found: pd.DataFrame, query: CnnQuery) -> str:
    limit = len(found) if query.everything else _MOST_CNNS
    rows = [
        [
            row["cnn"],
            row["cnn_family"],
            f"{row['input_size_px']} px",
            row["n_classes"],
            *(show_with_prefix(float(row[count]), "") for count in ("macs", "params")),
        ]
        for row in found.head(limit).to_dict("records")
    ]
    header = ["CNN", "family", "input", "classes", "MACs per image", "parameters"]
    lines = [Table.of(header, rows).text()]
    if len(found) > limit:
        counts = found["cnn_family"].value_counts().sort_index()
        lines.append(f"and {len(found) - limit} more (--all lists them); by family:")
        lines.append(wrapped_list([f"{family} {count}" for family, count in counts.items()]))
    return "\n".join(lines)
