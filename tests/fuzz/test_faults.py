"""Calls to the file system that fail, one after the other: nothing lost, nothing half written, one line."""

import builtins
import errno
import io
import os
from pathlib import Path

import pytest
from trainlaw.app.cli import app
from trainlaw.datasets import load
from typer.testing import CliRunner

ERRORS = (errno.ENOSPC, errno.EIO, errno.EMFILE, errno.ENOMEM)
RUNS = "gpu,cnn,batch_per_gpu,time_s\nT4,resnet50,64,0.54\nT4,vgg16,32,0.45\n"
SHEET = "GPU,model,batch,time (ms),precision\nT4,resnet50,64,540,fp32\n"
OPEN = io.open
CALLS = ((os, "open"), (os, "write"), (os, "fsync"), (os, "replace"), (os, "rename"), (os, "mkdir"), (io, "open"))


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


def tried(words, folder, prepared, expected, steps):
    """Let each of the calls of a command fail once; return how many failed."""
    failed, number = 0, 0
    while True:
        number += steps
        prepared()
        before = content(folder)
        faults = Faults(folder)
        faults.failing, faults.code = number, ERRORS[failed % len(ERRORS)]
        with pytest.MonkeyPatch.context() as patch:
            faults.arm(patch)
            result = run(words)
        if faults.count < number:
            return failed
        failed += 1
        said = (words, number, os.strerror(faults.code), result.output[-300:], result.exception)
        assert isinstance(result.exception, SystemExit | None), said
        assert "Traceback" not in result.output, said
        if result.exit_code == 0:
            assert content(folder) == expected, said
        else:
            assert result.exit_code == 2 and len(result.stderr.strip().splitlines()[-1]) <= 411, said
            kept = {name: text for name, text in content(folder).items() if not is_temporary(name)}
            assert kept == before, said
            # Nothing of it stands in the way of the next attempt.
            assert run(words).exit_code == 0, said
            assert content(folder) == expected, said


def is_temporary(name):
    """The journal, the lock and the unfinished folder of a study begin with a dot."""
    return Path(name).parts[0].startswith(".")


COMMANDS = {
    "import": ("data", "import", "{}/sheet.csv", "--yes", "--out", "{}/out.csv"),
    "calibrate": ("calibrate", "{}/runs.csv", "--out", "{}/law"),
    "calibrate again": ("calibrate", "{}/runs.csv", "--out", "{}/law", "--overwrite"),
}


def prepare(folder, replaced=False):
    """Return what makes a folder as it is before a command."""

    def prepared():
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (folder / "runs.csv").write_text(RUNS)
        (folder / "sheet.csv").write_text(SHEET)
        if replaced:
            assert run(("calibrate", folder / "runs.csv", "--out", folder / "law")).exit_code == 0

    return prepared


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_call_may_fail(name, tmp_path, record_property):
    words = [word.replace("{}", str(tmp_path)) for word in COMMANDS[name]]
    prepared = prepare(tmp_path, replaced=name.endswith("again"))
    prepared()
    assert run(words).exit_code == 0
    expected = content(tmp_path)
    record_property("failed", failed := tried(words, tmp_path, prepared, expected, 1))
    print(name, failed)
    assert failed >= 5


@pytest.mark.slow
def test_every_call_of_a_study_may_fail(tmp_path, quick_study_table):
    words = ["study", quick_study_table, "--evaluations", "100", "--against", "null_compute", "--workers", "1"]
    words += ["--folds", "2", "--out", tmp_path / "run"]

    def prepared():
        for path in sorted(tmp_path.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()

    assert run(words).exit_code == 0
    expected = content(tmp_path)
    failed = tried(words, tmp_path, prepared, expected, 1)
    print("study", failed)
    assert failed > 20


@pytest.fixture(scope="module")
def quick_study_table(tmp_path_factory):
    frame = load("fp32-2026").frame
    part = frame[frame["gpu"].isin(["T4", "A40"]) & frame["cnn"].isin(["resnet50", "vgg16", "alexnet_mx"])]
    path = tmp_path_factory.mktemp("table") / "small.csv"
    part.to_csv(path, index=False)
    return path
