"""All readers of files and texts of users: a sample for each, and what the product does with it."""

import contextlib
import io
import os
import random
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click
from trainlaw.app.cli import app
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.studies.definition import asked_definition
from trainlaw.app.studies.material import defined_splits
from trainlaw.app.suggest.candidates import find_front
from trainlaw.datasets import load
from trainlaw.datasets.measurements.importing import import_layers
from trainlaw.datasets.profiler.configurations import read_plan
from trainlaw.datasets.profiler.row_files import MachineFile, RowFile
from trainlaw.formulas.errors import TrainlawError
from trainlaw.validate import read_rates
from trainlaw.validate.journal import Journal

from .mutation import mutant

CORPUS = Path(__file__).with_name("corpus")
LIMIT_SECONDS = 10.0
LIMIT_BYTES = 2**30
_COMMANDS = app
_INPUT_ERROR = 2


@dataclass(frozen=True)
class Reader:
    """A sample file of the corpus, and what reads it.

    use : gets the path of a mutant. name : of the mutant, where it is not that of the sample. others : files
    of the corpus that lie next to it, by the names that they have there.
    """

    sample: str
    use: Callable[[Path], object]
    name: str = ""
    others: Mapping[str, str] = field(default_factory=dict)
    share: float = 1.0


def command(line: str) -> Callable[[Path], object]:
    """Return a use: a command as it is typed, in which {} is the file and {folder} its folder."""
    words = shlex.split(line)

    def use(path: Path) -> int:
        return run_command(
            [word.replace("{folder}", str(path.parent)).replace("{}", str(path)) for word in words]
        )

    return use


def run_command(words: list[str]) -> int:
    """Run a command line in this process; AssertionError where it prints more than a line about an error."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = _COMMANDS.main(words, prog_name="trainlaw", standalone_mode=False) or 0
        except click.ClickException as error:
            status = error.exit_code
        except SystemExit as error:
            status = int(error.code or 0)
    printed, said = (part.buffer.getvalue().decode() for part in (out, err))
    if status not in (0, _INPUT_ERROR):
        raise AssertionError(f"status {status}")
    if status and said.count("\n") > 1 and "Traceback" in said:
        raise AssertionError(said)
    strange = {
        character for character in printed + said if not (character.isprintable() or character in "\n\t")
    }
    if strange - {"\u2028", "\u2029", "\u00a0"} & {chr(code) for code in (*range(32), *range(127, 160))}:
        raise AssertionError(f"control characters in the output: {sorted(strange)!r}")
    return status


def _definition(path: Path) -> None:
    wanted = asked_definition(path, {})
    defined_splits(wanted, load("fp32-2026").labels(), "table")


def _held_out(path: Path) -> None:
    wanted = asked_definition(None, {"held_out": path, "table": "fp32-2026"})
    defined_splits(wanted, load("fp32-2026").labels(), "table")


def _journal(path: Path) -> None:
    journal = Journal(path, "0123456789abcdef")
    for task in journal:
        journal[task]
    journal.keep("new", 1)


def _rows(path: Path) -> None:
    columns = path.read_bytes().partition(b"\n")[0].decode("utf-8", "replace").split(",")
    RowFile(path, columns).append({columns[0]: 1})
    shutil.copy(path, path.with_name("x-machine.csv"))
    MachineFile(path.with_name("x.csv")).add({"gpu": "T4"})


def _plan(path: Path) -> None:
    read_plan(path, device="cpu", threads=[1])


_PREDICT = "predict --cnn resnet50 --gpu T4 --batch 32"
_IMPORT = "data import {} --to {folder}/out.csv"
_ANSWERED = (
    f"{_IMPORT} --unit ms --precision amp --batch-is per-gpu --decimal comma"
    " --skip-unmeasured --fill-down --trust --set gpu=T4"
)
_LOGGED = "data import {} --to {folder}/out.csv --trust --set gpu=T4"
_PROFILE = "predict-from-profile --profile {} --anchor-gpu T4 --gpu V100-SXM2-16GB --cnn vgg16 --batch 32"
_COMPARE = "compare {folder} {folder}"
_FORWARD, _MULTI = (str(BUILT_IN.with_name(f"{name}.json")) for name in ("forward", "multi"))
_FOLDER = {
    name: name for name in ("predictions.csv", "provenance.json", "formula.json", "front.csv", "study.toml")
}

READERS: Mapping[str, Reader] = {
    "runs, CSV": Reader("runs.csv", command("data check {}")),
    "runs, few columns": Reader("few-runs.csv", command("data outliers {}")),
    "runs, gzip": Reader("runs.csv.gz", command("data check {}")),
    "runs, Excel": Reader("runs.xlsx", command("data check {}")),
    "runs, Parquet": Reader("runs.parquet", command("data check {}")),
    "runs to calibrate with": Reader(
        "few-runs.csv",
        command(f"calibrate {{}} --to {{folder}}/law --formula {CORPUS}/formula.json"),
        share=0.04,
    ),
    "sheet, semicolons": Reader("german.csv", command(_IMPORT)),
    "sheet, Markdown": Reader("wide.md", command(_IMPORT)),
    "sheet, aligned": Reader("aligned.txt", command(_ANSWERED)),
    "sheet, Excel": Reader("sheet.xlsx", command(_ANSWERED)),
    "sheet, OpenDocument": Reader("sheet.ods", command(_ANSWERED)),
    "sheet, Parquet": Reader("runs.parquet", command(_IMPORT)),
    "sheet, answered": Reader("german.csv", command(_ANSWERED)),
    **{
        f"log, {name}": Reader(f"log-{name}", command(_LOGGED))
        for name in (
            "torchvision.txt",
            "timm.txt",
            "imagenet.txt",
            "keras.txt",
            "dllogger.json",
            "lightning.txt",
            "metrics.csv",
            "trainer-state.json",
            "results.csv",
        )
    },
    "configurations": Reader("configurations.csv", command("predict --from {}")),
    "configurations, forward": Reader("passes.csv", command(f"predict --from {{}} --formula {_FORWARD}")),
    "plan of measurements": Reader("plan.csv", _plan),
    "GPUs": Reader("gpus.csv", command("gpus list --gpu-file {}")),
    "CNN, layers as CSV": Reader("net.csv", command("cnn show {}")),
    "CNN, layers as JSON": Reader("net.json", command("cnn show {}")),
    "CNN, ONNX": Reader("net.onnx", command("cnn show {}")),
    "CNN, ONNX, predicted": Reader("net.onnx", command("predict --cnn {} --gpu T4 --batch 8")),
    "profile, PyTorch's table": Reader("torch.txt", command(_PROFILE)),
    "profile, op statistics": Reader("statistics.csv", command(_PROFILE)),
    "formula, shown": Reader("formula.json", command("show {}")),
    "formula, predicted": Reader("formula.json", command(f"{_PREDICT} --formula {{}}")),
    "formula, all GPUs": Reader(
        "formula.json", command("predict --cnn vgg16 --batch 8 --all-gpus --formula {}")
    ),
    "formula of layers": Reader("layer-formula.json", command(f"{_PREDICT} --formula {{}}")),
    "formula, custom": Reader("custom.json", command("show {}")),
    "formula, exported": Reader("formula.json", command("export {} --to {folder}/out.py --bare --overwrite")),
    "formula, as C": Reader("custom.json", command("export {} --to {folder}/out.c --overwrite")),
    "formula, calibrated": Reader(
        "calibrated.json", command(f"{_PREDICT} --formula {{folder}}"), "formula.json"
    ),
    "formula in use": Reader(
        "trainlaw.json", command(_PREDICT), ".trainlaw.json", {"formula.json": "formula.json"}
    ),
    "study": Reader("study.toml", _definition),
    "list of what is held out": Reader("held-out.toml", _held_out),
    "rates, CSV": Reader("rates.csv", read_rates),
    "rates, JSON": Reader("rates.json", read_rates),
    "runs to suggest by": Reader(
        "few-runs.csv", command("suggest --gpu T4 --cnns lenet5,vgg16 --runs {}"), share=0.04
    ),
    "runs to validate": Reader(
        "few-runs.csv",
        command("validate {} --split cnn --formula '6 * macs * batch / peak / 0.4'"),
        share=0.2,
    ),
    "runs to merge with": Reader(
        "few-runs.csv",
        command(f"data import {CORPUS}/few-runs.csv --to {{folder}}/out.csv --merge-with {{}}"),
    ),
    "GPUs, predicted": Reader(
        "gpus.csv", command("predict --cnn lenet5 --gpu 'My GPU' --batch 8 --gpu-file {}")
    ),
    "formula of forward passes": Reader(_FORWARD, command(f"{_PREDICT} --formula {{}}"), "forward.json"),
    "formula of several GPUs": Reader(
        _MULTI, command(f"{_PREDICT} --gpus 8 --scaling-formula {{}}"), "multi.json"
    ),
    "prices of instances": Reader("instance-prices.csv", command("plan --cnn lenet5 --gpus 4 --prices {}")),
    "prices": Reader("prices.csv", command("plan --cnn lenet5 --gpus 1 --prices {}")),
    "compared predictions": Reader("predictions.csv", command(_COMPARE), others=_FOLDER),
    "compared provenance": Reader("provenance.json", command(_COMPARE), others=_FOLDER),
    "front": Reader(
        "front.csv", lambda path: find_front(path.parent, path.parent, "fp32-2026"), others=_FOLDER
    ),
    "layers, measured": Reader("layers.csv", import_layers),
    "journal": Reader("journal.txt", _journal),
    "rows of a profiler": Reader("runs.csv", _rows),
}


@dataclass
class Outcome:
    """What a mutant did: refused or read, in what time and memory; the finding, empty where all is well."""

    refused: bool = False
    seconds: float = 0.0
    finding: str = ""
    peak_bytes: int = 0


def mutated_file(reader: Reader, number: int, name: str, folder: Path) -> Path:
    """Write a mutant, with the files that lie next to it, into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for goal, other in reader.others.items():
        shutil.copy(CORPUS / other, folder / goal)
    path = folder / (reader.name or reader.sample)
    data = (CORPUS / reader.sample).read_bytes()
    path.write_bytes(data if number == 0 else mutant(data, reader.sample, random.Random(f"{name} {number}")))
    return path


def outcome_of(reader: Reader, path: Path) -> Outcome:
    """Let a reader use a file, in the file's folder."""
    outcome, began, here = Outcome(), time.process_time(), Path.cwd()
    os.chdir(path.parent)
    try:
        outcome.refused = reader.use(path) == _INPUT_ERROR
    except OSError:
        # The command line prints it in one line.
        outcome.refused = True
    except TrainlawError as error:
        outcome.refused = True
        if "\n" in str(error) or len(str(error)) > 2000:
            outcome.finding = f"message of several lines or {len(str(error))} characters"
    except Exception as error:
        outcome.finding = f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        os.chdir(here)
        outcome.seconds = time.process_time() - began
    return outcome
