"""Options of several commands, each written once, and the printing and writing of their results."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from trainlaw.app.inputs.declared import CNN_FILE_HELP, GPU_FILE_HELP, TRUST_HELP, Declared, flag, option

if TYPE_CHECKING:
    from trainlaw.datasets.measurements.runs import Setup


class OutputFormat(StrEnum):
    """How a result is printed or written."""

    table = "table"
    csv = "csv"
    json = "json"


def _known_names(kind: str) -> Iterable[str]:
    """Return names that complete an option: GPUs, CNNs, precisions, algorithms, links of a scope."""
    from trainlaw.datasets.cnns.names import cnn_names
    from trainlaw.datasets.hardware.collectives import ALGORITHMS
    from trainlaw.datasets.hardware.gpus import built_in_gpus
    from trainlaw.datasets.hardware.instances import instances
    from trainlaw.datasets.hardware.links import links
    from trainlaw.datasets.hardware.precisions import PRECISIONS

    if kind == "gpu":
        return [*(gpu.gpu for gpu in built_in_gpus().gpus), *(one.instance for one in instances())]
    if kind == "cnn":
        return cnn_names()
    if kind == "precision":
        return [name for name in PRECISIONS if name != "unknown"]
    if kind == "algorithm":
        return ALGORITHMS[1:]
    return [link.link for link in links().values() if link.scope == kind]


def _completed(kind: str) -> Callable[[str], list[str]]:
    """Return what completes the value of an option for the shell: the names that begin with what is typed."""
    return lambda incomplete: [
        name for name in _known_names(kind) if name.lower().startswith(incomplete.lower())
    ]


def shared(text: str, *names: str, kind: str = "", **further: Any) -> Declared:
    """Return an option that several commands have; further : as in `Declared`, kind : completes its value."""
    return Declared(text, names, complete=_completed(kind) if kind else None, **further)


_CNN = shared("Name of the CNN (`trainlaw cnn list`), or a file.", kind="cnn")
CnnName = Annotated[str, _CNN]
AnyCnn = Annotated[str | None, _CNN]
GpuName = Annotated[str, shared("Name of the GPU (`trainlaw gpus list`).", kind="gpu")]
Gpus = Annotated[
    list[str] | None,
    shared(
        "Name of the GPU (`trainlaw gpus list`), of a cloud's instance, or several: T4,V100. A100 means "
        "every A100.",
        "--gpu",
        kind="gpu",
    ),
]
Pixels = Annotated[
    int | None, shared("Height and width of an image; default: that of the CNN.", limit="pixels")
]
Classes = Annotated[
    int | None, shared("Number of classes; default: that of the CNN, mostly 1,000.", limit="classes")
]
GpusPerNode = Annotated[
    int | None, shared("GPUs per node; default: those of usual servers, mostly 8.", min=1)
]
Label = Annotated[
    list[str] | None, shared("Group for grouped constants: LABEL=GROUP, such as harness=nvidia.")
]
FormulaFile = Annotated[
    Path | None, shared("formula.json or run folder; default: that of `trainlaw use`, or the built-in one.")
]
FormulaName = Annotated[
    Path | None,
    shared(
        "formula.json, run folder or built-in name; default: that of `trainlaw use`, or built-in.",
        is_argument=True,
    ),
]
ScalingFormula = Annotated[
    str | None,
    shared(
        "Formula for several GPUs from the time on one: multi (built in), textbook, or the "
        "formula.json or run folder of `trainlaw study --of multi`.",
        "--scaling-formula",
        "--law",
    ),
]
GpuFile = Annotated[Path | None, shared(GPU_FILE_HELP, file="file")]
CnnFiles = Annotated[list[Path] | None, shared(CNN_FILE_HELP, "--cnn-file", file="file")]
Trust = Annotated[bool, shared(TRUST_HELP, "--trust")]
Cluster = Annotated[
    str,
    shared(
        "Run on a dask cluster instead: tcp://HOST:PORT of its scheduler, or local:N for N workers on "
        "this machine; see docs/clusters.md.",
        "--cluster",
    ),
]
RestoreBatchnorm = Annotated[
    bool | None,
    shared(
        "Restore batch normalisation that an export to ONNX folded into convolutions, or leave it; "
        "default: restore it where the file proves it.",
        "--restore-batchnorm/--keep-folded",
    ),
]
Json = Annotated[bool, shared("Print JSON.", "--json")]


@dataclass(frozen=True)
class KernelOptions:
    """Which kernels train, and how fast the host launches them."""

    layout: str | None = option("nchw or channels_last; default: nchw.")
    compilation: str | None = option("eager, xla, inductor or cuda_graphs; default: eager.", "--compile")
    tuned: bool = flag("A container that a vendor tuned, with fused kernels.", "--tuned")
    stack: str | None = option(
        "Kernels of 16-bit convolutions: eager (NCHW, PyTorch's default), channels_last, fused or "
        "unknown; default: what layout, compilation and --tuned imply."
    )
    host_launch: str | None = option(
        "Time that the host needs to launch a layer's kernels, such as 40us, or a host: laptop, desktop, "
        "windows, wsl2; default: 120us, 40us for Blackwell and GPUs of 2025 and later, 55us for laptops "
        "since 2023."
    )


@dataclass(frozen=True)
class RunOptions:
    """Input size, classes and precision of a run."""

    pixels: Pixels = None
    classes: Classes = None
    precision: str | None = option(
        "fp32, tf32, amp, fp16, ...; default: PyTorch's for convolutions on the GPU.",
        complete=_completed("precision"),
    )


@dataclass(frozen=True)
class LinkOptions:
    """The links between GPUs."""

    link: str | None = option(
        "Link between the GPUs of a node; default: the GPU's own link.", complete=_completed("node")
    )
    fabric: str | None = option(
        "Link between nodes; default: that of usual servers with the GPU.",
        "--fabric",
        "--network",
        complete=_completed("network"),
    )


@dataclass(frozen=True)
class ExchangeOptions(LinkOptions):
    """How gradients travel between GPUs."""

    algorithm: str | None = option(
        "Collective algorithm: ring, tree, butterfly, parameter_server, ...; default: ring.",
        complete=_completed("algorithm"),
    )
    unbucketed: bool = flag(
        "Reduce each gradient tensor alone, not in buckets as PyTorch does.", "--unbucketed"
    )


@dataclass(frozen=True)
class OutputOptions:
    """Where the result goes, and in which format."""

    form: OutputFormat = option(
        "Output format; default: table, or that of the suffix of --out.",
        "--format",
        default=OutputFormat.table,
    )
    as_json: bool = flag("Short for --format json.", "--json")
    out: Path | None = option("File to write instead of printing; never replaces one.")
    every_warning: bool = flag("Print every warning, not the three gravest alone.", "--all-warnings")

    @property
    def chosen(self) -> OutputFormat:
        """The format: that of the file's suffix, .csv or .json, where none was named."""
        if self.out is not None and self.out.suffix.lower() in _OTHER_FILES:
            refuse(f"expected a file .csv, .json or .txt to write, got {self.out.name}")
        if self.as_json:
            return OutputFormat.json
        suffix = self.out.suffix.lower() if self.out is not None and self.form is OutputFormat.table else ""
        return {".csv": OutputFormat.csv, ".json": OutputFormat.json}.get(suffix, self.form)


_OTHER_FILES = (".xlsx", ".xls", ".ods", ".parquet", ".html", ".pdf", ".svg", ".png")


def refuse(text: str) -> NoReturn:
    """Raise InputError, whose module loads numpy: the help does without."""
    from trainlaw.formulas import InputError

    raise InputError(text)


def check_new_files(paths: Iterable[Path | None]) -> None:
    """Raise InputError for a file that exists: results never replace one."""
    for path in paths:
        if path is not None and path.exists():
            refuse(f"{path} exists; choose another name")


def note_left_out(reasons: Mapping[str, str]) -> None:
    """Say on standard error that GPUs are not ranked; reasons : why, by name."""
    if reasons:
        number = "1 GPU is" if len(reasons) == 1 else f"{len(reasons)} GPUs are"
        print(f"note: {number} left out: {next(iter(reasons.values()))}", file=sys.stderr)


def setup_of(*groups: object, **further: Any) -> "Setup":
    """Return how a run trains, from groups of options and further ones; False and None leave the default."""
    from trainlaw.app.inputs.requests import host_launch_of
    from trainlaw.datasets.measurements.runs import Setup

    options = {name: value for group in groups for name, value in vars(group).items()} | further
    if empty := [name for name, value in options.items() if value == ""]:
        refuse(f"expected a value of {empty[0].replace('_', ' ')}, got an empty text")
    given = {name: value for name, value in options.items() if value and name not in ("pixels", "classes")}
    launch = given.pop("host_launch", None)
    # An option that is a flag can only differ from the default.
    given["bucketed"] = False if given.pop("unbucketed", False) else None
    return Setup(**given, host_launch_s=None if launch is None else host_launch_of(launch))


def write_or_print(
    output: OutputOptions,
    forms: tuple[Callable[[], str], Callable[[], str], Callable[[], str]],
    picture: Path | None = None,
    drawn: Callable[[], str] = str,
) -> None:
    """Write a result to its file in the form asked for, or print it; draw the picture where one is wanted.

    forms : the result as table, CSV and JSON, the members of `OutputFormat`.
    """
    from trainlaw.formulas.files.text_files import write_text_atomically

    text = dict(zip(OutputFormat, forms, strict=True))[output.chosen]().rstrip("\n")
    if output.out is not None:
        write_text_atomically(output.out, text + "\n")
        print(f"{output.out} written")
    if picture is not None:
        write_text_atomically(picture, drawn())
        print(f"{picture} written")
    if output.out is None:
        print(text)


def print_or_write(parts: Iterable[str], out: Path | None) -> None:
    """Print the parts of a text as they come, or write them to a file, which appears when it is whole."""
    from trainlaw.formulas.files.text_files import whole_file

    if out is None:
        for part in parts:
            print(part, end="")
        return
    with whole_file(out) as file:
        for part in parts:
            file.write(part.encode())
