"""A CNN as the file of its layers that a user might have."""

import json

from trainlaw.datasets.cnns.readers.layer_table import layer_records
from trainlaw.formulas.files.text_files import csv_text


def write_layer_table(cnn, path):
    rows = layer_records(cnn)
    lines = [{**row, "inputs": " ".join(map(str, row["inputs"]))} for row in rows]
    content = json.dumps({"name": cnn.name, "base": cnn.base, "layers": rows})
    path.write_text(content if path.suffix == ".json" else csv_text(list(rows[0]), lines), encoding="utf-8")
