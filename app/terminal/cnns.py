"""Networks and layers as rows of a table for a terminal."""

from trainlaw.app.text.numbers import show_with_prefix
from trainlaw.app.text.tables import text_table
from trainlaw.datasets import cnn_table
from trainlaw.datasets.cnns import Cnn


def cnn_rows_matching(search: str) -> list[list[object]]:
    """Return a row per shipped network and size whose name or family contains a text."""
    return [
        [
            row["cnn"], row["cnn_family"], f"{row['input_size_px']} px", row["n_classes"],
            *(show_with_prefix(float(row[count]), "") for count in ("macs", "params")),
        ]
        for row in cnn_table().to_dict("records")
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
