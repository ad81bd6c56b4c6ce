"""Without a package that an extra brings, one line names the package and the extra."""

import sys
from pathlib import Path

import pytest
from trainlaw.app.studies.clusters import task_place
from trainlaw.datasets.cnns.readers.onnx_reader import read_onnx
from trainlaw.datasets.cnns.readers.torch_reader import read_torch
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.datasets.profiler.local_device import torch_part
from trainlaw.formulas.errors import MissingDependencyError
from trainlaw.validate.baselines import baselines_for
from trainlaw.validate.baselines.learned import GradientBoosting

from .rows import each_row


@each_row(
    ("package", "extra", "use"),
    [
        ("openpyxl", "data", lambda: read_table_file(Path("file.xlsx"))),
        ("pyarrow", "data", lambda: read_table_file(Path("file.parquet"))),
        ("onnx", "cnn", lambda: read_onnx(Path("file.onnx"))),
        ("torch", "profile", lambda: read_torch(object(), (3, 8, 8))),
        ("torch", "profile", lambda: torch_part("torch_measure")),
        ("distributed", "cluster", lambda: task_place("local:2", 2).__enter__()),
        ("sklearn", "sklearn", GradientBoosting),
        *((name, "peers", make) for name, make in baselines_for("run", "engine").items()),
    ],
)
def test_a_missing_package_is_named_with_its_extra(package, extra, use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("file.xlsx", "file.parquet", "file.onnx"):
        Path(name).write_bytes(b"x")
    with monkeypatch.context() as patch:
        for module in [package, *sys.modules]:
            if module.partition(".")[0] == package:
                patch.setitem(sys.modules, module, None)
        with pytest.raises(MissingDependencyError, match=rf"needs the package .*trainlaw\[{extra}\]"):
            use()
