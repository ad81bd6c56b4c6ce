"""Runs the commands and Python examples that the documentation prints, and puts in what they print now.

Three kinds of fenced blocks are run, in the order of the page and in one folder with the files of
`docs/examples`:

- `console`: lines that begin with `$ ` are commands, the others what they printed;
- `sh`: commands whose output the page does not show;
- `python`: code; a block `text` that follows at once is what it printed.

A comment after a command, or in the first line of Python, says what is not run with the others:
`# takes minutes`, `# not run: REASON`. A command that is to be refused says `# refused`.
"""

import contextlib
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent / "examples"
WIDTH = 100  # columns of the terminal in all printed output
_FENCE = re.compile(r"^(`{3,})(\S*)(?: .*)?$")
_MINUTES, _NOT_RUN, _REFUSED = "takes minutes", "not run: ", "refused"
_TOOLS = frozenset({"node"})  # commands that need not be installed


@dataclass
class Session:
    """The runs of one page: the names that its Python defined, and whether commands of minutes run, too."""

    slow: bool = False
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})


def rerun(text: str, slow: bool = False) -> str:
    """Return the text of a page with the output of its commands as it is now.

    slow : also run what takes minutes; otherwise its output stays.
    """
    session, lines = Session(slow), text.split("\n")
    with folder():
        return "\n".join(itertools.chain.from_iterable(_blocks(lines, session)))


@contextlib.contextmanager
def folder() -> Iterator[None]:
    """Work in a temporary folder with the example files, in a terminal that is always the same."""
    before, here = dict(os.environ), Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(EXAMPLES, place, dirs_exist_ok=True)
        os.environ |= {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TZ": "UTC"}
        os.chdir(place)
        sys.path.insert(0, place)
        loaded = set(sys.modules)
        try:
            yield
        finally:
            sys.path.remove(place)
            # The next page may export other files of the same names.
            for name in set(sys.modules) - loaded:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(place):
                    del sys.modules[name]
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)


def _blocks(lines: list[str], session: Session) -> Iterator[list[str]]:
    """Yield the lines of the page, block by block, with the new output."""
    place, printed = 0, None
    while place < len(lines):
        fence = _FENCE.match(lines[place])
        if not fence:
            printed = printed if not lines[place].strip() else None
            yield [lines[place]]
            place += 1
            continue
        end = next(n for n in range(place + 1, len(lines)) if lines[n] == fence.group(1))
        inside, kind = lines[place + 1 : end], fence.group(2)
        if kind == "text" and printed is not None:
            inside = printed
        printed = _python(inside, session) if kind == "python" else None
        if kind == "console":
            inside = list(itertools.chain.from_iterable(_console(inside, session)))
        elif kind == "sh":
            _quiet(inside, session)
        yield [lines[place], *inside, lines[end]]
        place = end + 1


def commands(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each command of a console block with its printed output; both as the lines of the page."""
    command: list[str] = []
    output: list[str] = []
    for line in lines:
        if line.startswith("$ ") and command:
            yield command, output
            command, output = [], []
        if line.startswith("$ ") or (command and command[-1].endswith("\\") and not output):
            command.append(line)
        else:
            output.append(line)
    if command:
        yield command, output


def _console(lines: list[str], session: Session) -> Iterator[list[str]]:
    for command, output in commands(lines):
        new = run(_joined(command), session)
        yield [*command, *(output if new is None else new)]


def _quiet(lines: list[str], session: Session) -> None:
    for command, _ in commands([line if line.startswith(" ") else f"$ {line}" for line in lines if line]):
        run(_joined(command), session)


def _joined(command: list[str]) -> str:
    return " ".join(line.removesuffix("\\").strip() for line in command).removeprefix("$ ")


def run(command: str, session: Session) -> list[str] | None:
    """Return the lines that a command prints; None where it is not run."""
    command, _, comment = (part.strip() for part in command.partition(" # "))
    if comment.startswith(_NOT_RUN) or (comment.startswith(_MINUTES) and not session.slow):
        return None
    first, *filters = (shlex.split(part) for part in command.split(" | "))
    if first[0] in _TOOLS and not shutil.which(first[0]):
        return None
    # The progress of what takes minutes, on the other stream, is different each time.
    text = _output(first, comment.startswith(_REFUSED), with_progress=not comment.startswith(_MINUTES))
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    for name, option, count in filters:
        if option != "-n" or name not in {"head", "tail"}:
            raise ValueError(f"{command}: expected head -n N or tail -n N after a bar")
        lines = lines[: int(count)] if name == "head" else lines[-int(count) :]
    return lines if any(lines) else []


def _output(parts: list[str], refused: bool, with_progress: bool) -> str:
    """What one command prints on both streams; AssertionError where it should not have failed, or should."""
    if parts[0] == "cat":
        return "".join(Path(name).read_text(encoding="utf-8") for name in parts[1:])
    if parts[0] == "trainlaw":
        text, status = _trainlaw(parts[1:], with_progress)
    else:
        done = subprocess.run(parts, capture_output=True, text=True, check=False)
        text, status = done.stdout + done.stderr, done.returncode
    assert (status != 0) == refused, f"{shlex.join(parts)} ended with status {status}: {text}"
    return text.replace(f"{Path.cwd()}/", "")


def _trainlaw(arguments: list[str], with_progress: bool) -> tuple[str, int]:
    """The command line in this process: starting another one takes a second each time."""
    from click.testing import CliRunner  # noqa: PLC0415
    from trainlaw.app.cli import app  # noqa: PLC0415 (pages without commands need no package)

    result = CliRunner().invoke(app, arguments, prog_name="trainlaw")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output if with_progress or result.exit_code else result.stdout, result.exit_code


def _python(lines: list[str], session: Session) -> list[str] | None:
    """What a Python example prints; None where it is not run."""
    first = lines[0] if lines else ""
    if f"# {_NOT_RUN}" in first or (f"# {_MINUTES}" in first and not session.slow):
        return None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n".join(lines), "example", "exec"), session.names)
    return printed.getvalue().rstrip("\n").split("\n")
