"""What commands say, whole: each transcript in `transcripts` is run again on a terminal of 80 characters.

    === title
    --- file          a file that the commands find, up to the next line of this kind
    $ command         and what it prints; [exit 2], and [wrote name] of a file that it wrote or removed

Every transcript has an empty folder. `--overwrite-golden` writes what commands say now: read the difference.
Held-out errors of the built-in formulas are placeholders such as `{error of built-in}`; their sentences stand
on one line, which no figure of another width breaks. What else a new formula changes is in `predictions.txt`.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS
from trainlaw.app.text.numbers import show_percent
from trainlaw.validate.formula_errors import error_lines, overall_error
from trainlaw.validate.result import OURS

from ...commands import invoke

FILES = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
WIDTH = 80
# What is read by machines has lines of any length.
MACHINE = re.compile("--json|--format|--out|template|import")
PART = re.compile(r"^(?=--- |\$ )", re.MULTILINE)
# The last digits of a float64 depend on the processor and on the version of numpy.
DIGITS = re.compile(r"\b\d+\.\d{9,}(e[-+]?\d+)?")

# Sentences with held-out errors of a formula, wherever lines break: over all runs, and of a class of runs.
OVERALL = re.compile(r"(?<=error on held-out GPUs)(\s+)([\d.]+)\s+%")
OF_CLASS = re.compile(
    r"([\d.]+)\s+%"
    r"(?=\s+on\s+(?:runs\s+in\s+(\w+)|runs\s+of\s+(this\s+architecture)|([A-Z][\w. -]*?)\s+GPUs))"
)
TIMES = re.compile(r"[\d.,]+(?=\s+times\s+those\s+of\s+the\s+built-in\s+formula)")
# A line and what it continues on, four characters further in.
PARAGRAPH = re.compile(r"^( *)\S.*(?:\n\1 {4}\S.*)+", re.MULTILINE)


@cache
def stated_errors():
    """The placeholder of each error that a built-in formula states, by figure, and by figure and class."""
    found = {}
    for name, law in ((name, read()) for name, read in BUILT_IN_FORMULAS.items() if read().errors):
        found.setdefault(float(show_percent(overall_error(law, OURS))), f"{{error of {name}}}")
        for level in ("precision", "generation", "cnn_base"):
            for line in error_lines(law, level):
                of = "this architecture" if level == "cnn_base" else line.name
                found.setdefault((float(show_percent(line.errors[OURS])), of), "{error}")
    return found


def with_placeholders(text):
    """The text with placeholders instead of the errors that the built-in formulas state."""

    def overall(found):
        placeholder = stated_errors().get(float(found[2]))
        return f"{found[1]}{placeholder}" if placeholder else found[0]

    def of_class(found):
        of = " ".join(next(filter(None, found.groups()[1:])).split())
        return stated_errors().get((float(found[1]), of), found[0])

    def joined(found):
        return found[1] + " ".join(found[0].split()) if re.search(r"\{(error|ratio)", found[0]) else found[0]

    text = OF_CLASS.sub(of_class, OVERALL.sub(overall, TIMES.sub("{ratio}", text)))
    return PARAGRAPH.sub(joined, text)


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
    text = with_placeholders(text)
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
