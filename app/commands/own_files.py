"""The options by which a command takes GPUs and CNNs of a person's own."""

from pathlib import Path
from typing import Annotated

import typer

GpuFile = Annotated[
    Path | None,
    typer.Option(
        help="CSV, Excel or Parquet file with GPUs of your own, in the columns of `trainlaw gpus show`, such "
        "as runs-machine.csv of `trainlaw profile`; a known name corrects that card.",
        dir_okay=False,
    ),
]
CnnFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--cnn-file",
        help="A CNN of your own (.onnx, .csv, .json); runs name it as the file, without ending.",
        dir_okay=False,
    ),
]
