"""All readers of files and texts of users: a sample for each, and what the product does with it."""

import contextlib
import io
import os
import random
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click
from trainlaw.app.cli import app
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.studies.definition import asked_definition
from trainlaw.app.studies.material import defined_splits
from trainlaw.datasets import load
from trainlaw.datasets.measurements.importing import import_layers
from trainlaw.datasets.profiler.configurations import read_plan
from trainlaw.datasets.profiler.row_files import MachineFile, RowFile
from trainlaw.formulas.errors import TrainlawError
from trainlaw.validate.journal import Journal
from trainlaw.validate.measured_rates import read_rates

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
    """Return a use: a command as it is typed, with {} for the file, {folder} for its folder, and {corpus}."""
    words = shlex.split(line.replace("{corpus}", str(CORPUS)))

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


def _machine(path: Path) -> None:
    MachineFile(path.with_name("x.csv")).add({"gpu": "T4"})


def _plan(path: Path) -> None:
    read_plan(path, device="cpu", threads=[1])


_PREDICT = "predict --cnn resnet50 --gpu T4 --batch 32"
_COMPARE = "compare {folder} {folder}"
_FORWARD, _MULTI = (str(BUILT_IN.with_name(f"{name}.json")) for name in ("forward", "multi"))
_FOLDER = {
    name: name for name in ("predictions.csv", "provenance.json", "formula.json", "front.csv", "study.toml")
}


def _commands() -> Iterator[tuple[str, Reader]]:
    """Yield the commands of readers.txt: lines of a name, a sample, what is typed, and often a share."""
    for line in Path(__file__).with_name("readers.txt").read_text().splitlines():
        name, sample, words, *share = line.split(" | ")
        yield name, Reader(sample, command(words), share=float(share[0]) if share else 1.0)


READERS: Mapping[str, Reader] = {
    **dict(_commands()),
    "plan of measurements": Reader("plan.csv", _plan),
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
    "formula of forward passes": Reader(_FORWARD, command(f"{_PREDICT} --formula {{}}"), "forward.json"),
    "formula of several GPUs": Reader(
        _MULTI, command(f"{_PREDICT} --gpus 8 --scaling-formula {{}}"), "multi.json"
    ),
    "compared predictions": Reader("predictions.csv", command(_COMPARE), others=_FOLDER),
    "compared provenance": Reader("provenance.json", command(_COMPARE), others=_FOLDER),
    "layers, measured": Reader("layers.csv", import_layers),
    "journal": Reader("journal.txt", _journal),
    "rows of a profiler": Reader("runs.csv", _rows),
    "devices of a profiler": Reader("machine.csv", _machine, "x-machine.csv"),
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
