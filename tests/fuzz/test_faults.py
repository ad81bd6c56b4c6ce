"""Calls to the file system that fail, one after the other: nothing lost, nothing half written, one line."""

import builtins
import errno
import io
import os
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from trainlaw.app.cli import app
from trainlaw.app.inputs.run_folder import new_run_folder
from trainlaw.app.models import calibration, doubts
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.calibration import calibrated_law
from trainlaw.app.report import run_files
from trainlaw.datasets.measurements.importing import import_runs
from trainlaw.formulas import InputError, load_formula
from trainlaw.formulas.files.text_files import write_text_atomically
from trainlaw.validate.journal import Journal

ERRORS = (errno.ENOSPC, errno.EIO, errno.EMFILE, errno.ENOMEM)
RUNS = "gpu,cnn,batch_per_gpu,time_s\nT4,resnet50,64,0.54\nT4,vgg16,32,0.45\n"
SHEET = "GPU,model,batch,time (ms),precision\nT4,resnet50,64,540,fp32\n"
OPEN = io.open
CALLS = (
    (os, "open"),
    (os, "write"),
    (os, "fsync"),
    (os, "replace"),
    (os, "rename"),
    (os, "mkdir"),
    (io, "open"),
)


class FailingFile:
    """An open file of which writing, flushing and closing may fail."""

    def __init__(self, file, fail):
        self.file, self.fail, self.is_open = file, fail, True

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __iter__(self):
        return iter(self.file)

    def write(self, data):
        self.fail()
        return self.file.write(data)

    def flush(self):
        self.fail()
        self.file.flush()

    def close(self):
        was_open, self.is_open = self.is_open, False
        self.file.close()
        if was_open and self.file.writable:
            self.fail()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Faults:
    """Lets one call to the file system below a folder fail; counts all of them."""

    def __init__(self, folder):
        self.folder, self.count, self.failing, self.code = str(folder), 0, None, 0

    def arm(self, patch):
        for module, name in CALLS:
            patch.setattr(module, name, self.failing_call(getattr(module, name)))
        patch.setattr(builtins, "open", io.open)
        # Path.rename, .mkdir and .open find these in the modules.

    def failing_call(self, call):
        def called(first, *arguments, **named):
            if not self.concerns(first):
                return call(first, *arguments, **named)
            self.fail()
            made = call(first, *arguments, **named)
            return FailingFile(made, self.fail) if call is OPEN and set(arguments[0]) & set("wxa+") else made

        return called

    def fail(self):
        """Count a call; it is the one that fails where its turn has come."""
        self.count += 1
        if self.count == self.failing:
            raise OSError(self.code, os.strerror(self.code))

    def concerns(self, first):
        if isinstance(first, int):
            try:
                first = os.readlink(f"/proc/self/fd/{first}")
            except OSError:
                return False
        return isinstance(first, str | os.PathLike) and os.fspath(first).startswith(self.folder)


def run(words):
    return CliRunner().invoke(app, list(map(str, words)))


def content(folder):
    """The files of a folder by name; a provenance without what describes this run."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_bytes()
            found[str(path.relative_to(folder))] = text if "provenance" not in path.name else b""
    return {name: text for name, text in found.items() if not name.endswith((".xlsx", ".lock"))}


def failing_calls(folder, prepared, action):
    """Let each call of an action fail once; yield the error and what the action returned."""
    for number in range(1, 1_000):
        prepared()
        faults = Faults(folder)
        faults.failing, faults.code = number, ERRORS[number % len(ERRORS)]
        with pytest.MonkeyPatch.context() as patch:
            faults.arm(patch)
            result = action()
        if faults.count < number:
            return
        yield f"call {number}: {os.strerror(faults.code)}", result


def is_temporary(name):
    """The journal, the lock and the unfinished folder of a study begin with a dot."""
    return Path(name).parts[0].startswith(".")


def empty(folder):
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


COMMANDS = {
    "import": ("data", "import", "{}/sheet.csv", "--out", "{}/out.csv"),
    "calibrate": ("calibrate", "{}/runs.csv", "--out", "{}/law"),
}


def prepare(folder):
    """Return what makes a folder as it is before a command."""

    def prepared():
        empty(folder)
        (folder / "runs.csv").write_text(RUNS)
        (folder / "sheet.csv").write_text(SHEET)

    return prepared


@pytest.mark.parametrize("name", COMMANDS)
def test_every_call_may_fail(name, tmp_path, monkeypatch):
    # Which bytes are written does not matter here, and to make them takes most of the time.
    law = cache(lambda: calibrated_law(load_formula(BUILT_IN), import_runs(tmp_path / "runs.csv")))
    monkeypatch.setattr(calibration, "calibrated_law", lambda *given: law())
    monkeypatch.setattr(doubts, "trusted", lambda runs, trust: runs)
    monkeypatch.setattr(run_files, "workbook_bytes", lambda formula: b"workbook")
    monkeypatch.setattr(run_files, "page_html", lambda formula: "page")
    words, prepared = [word.replace("{}", str(tmp_path)) for word in COMMANDS[name]], prepare(tmp_path)
    prepared()
    before = content(tmp_path)
    assert run(words).exit_code == 0
    expected, failed = content(tmp_path), 0
    for error, result in failing_calls(tmp_path, prepared, lambda: run(words)):
        failed += 1
        said = (words, error, result.output[-300:], result.exception)
        assert isinstance(result.exception, SystemExit | None), said
        assert "Traceback" not in result.output, said
        if result.exit_code == 0:
            assert content(tmp_path) == expected, said
        else:
            assert result.exit_code == 2 and len(result.stderr.strip().splitlines()[-1]) <= 411, said
            kept = {name: text for name, text in content(tmp_path).items() if not is_temporary(name)}
            # Once the folder has its name, the call that makes the name durable may still fail.
            assert kept in (before, expected), said
    assert failed >= 5


def store_study(folder):
    """Store a study as the command does: results in a journal, then a run folder; go on where it was left."""
    journal = Journal(folder / ".run.journal", "0" * 16)
    for number in range(40):
        if f"task {number}" not in journal:
            journal.keep(f"task {number}", {"time_s": [number, 0.1]})
    with new_run_folder(folder / "run", False, folder / ".run.part") as working:
        for number in range(8):
            (working / f"{number}.csv").write_text(f"{[journal[f'task {task}'] for task in range(40)]}")
        write_text_atomically(working / "formula.json", "{}")
    journal.remove()


def test_every_call_of_the_store_of_a_study_may_fail(tmp_path):
    def stored():
        try:
            store_study(tmp_path)
        except (OSError, InputError):
            return False
        return True

    assert stored()
    expected, failed = content(tmp_path), 0
    for number, (error, is_stored) in enumerate(failing_calls(tmp_path, lambda: empty(tmp_path), stored), 1):
        failed += not is_stored
        done = {name for name in content(tmp_path) if not is_temporary(name)}
        assert not done or {name: content(tmp_path)[name] for name in done} == expected, error
        if not done:
            kept = len(Journal(tmp_path / ".run.journal", "0" * 16))
            assert kept >= min(40, (number - 8) // 3), error
            assert stored() and content(tmp_path) == expected
    assert failed >= 75
