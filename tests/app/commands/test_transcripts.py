"""What commands say, whole: each transcript in `transcripts` is run again on a terminal of 80 characters.

    === title
    --- file          a file that the commands find, up to the next line of this kind
    $ command         and what it prints; [exit 2], and [wrote name] of a file that it wrote or removed

Every transcript has an empty folder. `--overwrite-golden` writes what commands say now: read the difference.
"""

import re
from pathlib import Path

import pytest

from ...commands import invoke

FILES = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
WIDTH = 80
# What is read by machines has lines of any length.
MACHINE = re.compile("--json|--format|--out|template|import")
PART = re.compile(r"^(?=--- |\$ )", re.MULTILINE)
# The last digits of a float64 depend on the processor and on the version of numpy.
DIGITS = re.compile(r"\b\d+\.\d{9,}(e[-+]?\d+)?")


def contents():
    """The files in this folder with what they hold."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def said(command):
    """What a command prints and does in this folder, as in a transcript."""
    before = contents()
    result = invoke(command, columns=WIDTH)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    if result.exit_code:
        assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1, result.output
    elif not MACHINE.search(command):
        assert max(map(len, result.stdout.splitlines()), default=0) <= WIDTH
    after = contents()
    changed = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
    text = (result.stdout + result.stderr).replace(f"{Path.cwd()}/", "")
    text = DIGITS.sub(lambda number: str(float(f"{float(number[0]):.9g}")), text)
    done = [f"[exit {result.exit_code}]"] * bool(result.exit_code) + [f"[wrote {name}]" for name in changed]
    return "\n".join([text.rstrip("\n"), *done]) + "\n"


def again(transcript, folder):
    """The transcript as its commands give it now."""
    title, *parts = PART.split(transcript)
    found = title
    for part in parts:
        head, _, content = part.partition("\n")
        if part.startswith("--- "):
            file = folder / head.removeprefix("--- ")
            file.parent.mkdir(exist_ok=True)
            file.write_text(content, encoding="utf-8")
            found += part
        else:
            found += f"{head}\n{said(head.removeprefix('$ '))}"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_commands_say_what_they_said(path, tmp_path, monkeypatch, overwrite_golden):
    golden = re.split(r"^(?==== )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    faults, now = [], golden[:1]
    for number, transcript in enumerate(golden[1:]):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        now.append(again(transcript, folder))
        if now[-1] != transcript:
            faults.append(f"{transcript}\nis now\n{now[-1]}")
    if overwrite_golden:
        path.write_text("".join(now), encoding="utf-8")
        return
    assert not faults, "\n".join(faults)
