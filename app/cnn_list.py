"""Networks and layers as rows of a table for a terminal."""

from trainlaw.app.plain_tables import text_table
from trainlaw.app.quantities import show_with_prefix
from trainlaw.datasets import cnn_table, find_cnn_facts
from trainlaw.datasets.cnns import Cnn, zoo_names


def cnn_rows_matching(search: str) -> list[list[object]]:
    """Return a row per shipped network and size, and per further network of the zoo, that contains a text."""
    table = cnn_table()
    further = [find_cnn_facts(name) for name in zoo_names() if name not in set(table["cnn"])]
    rows = table.to_dict("records") + [{**vars(facts), **facts.counts} for facts in further]
    return [
        [
            row["cnn"], row["cnn_family"], f"{row['input_size_px']} px", row["n_classes"],
            *(show_with_prefix(float(row[count]), "") for count in ("macs", "params")),
        ]
        for row in rows
        if search.lower() in f"{row['cnn']} {row['cnn_family']}".lower()
    ]  # fmt: skip


def layers_text(cnn: Cnn) -> str:
    """Return the layers of a network, one per line, with what they read by number."""
    rows = [
        [
            number, layer.kind, " ".join(map(str, layer.inputs)) or "-",
            f"{layer.out_channels} x {layer.out_height} x {layer.out_width}",
            f"{layer.kernel_height} x {layer.kernel_width}" if layer.group == "convolution" else "-",
            layer.stride if layer.group in ("convolution", "pooling") else "-",
            layer.groups if layer.group == "convolution" else "-",
            f"{layer.macs:,}", f"{layer.parameters:,}",
        ]
        for number, layer in enumerate(cnn.layers)
    ]  # fmt: skip
    header = ["layer", "kind", "reads", "output", "kernel", "stride", "groups", "MACs", "parameters"]
    return text_table(header, rows, indent="")
