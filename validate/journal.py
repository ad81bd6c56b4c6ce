"""The journal of a study: the result of each finished task, on disk as soon as it is known."""

import json
import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files.text_files import append_text, make_durable

#: Raised whenever results are stored in another way.
FORMAT = "trainlaw journal 3"


class Journal:
    """Results of tasks as plain JSON, by the name of the task: a file of one line each.

    A line is valid only once it is complete, so the file is readable after a kill at any moment. Methods may
    be called from any thread, but only one process at a time may have the file.
    """

    def __init__(self, path: Path | None = None, study: str = "") -> None:
        """Continue the file at `path`, or begin it; None keeps results in memory only.

        study : identity of the study. InputError where the file is of another one, or is no journal.
        """
        self.path = path
        self._results: dict[str, str] = {}
        self._lock = threading.Lock()
        if path is not None:
            self._open(path, json.dumps([FORMAT, study]))

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._results))

    def __contains__(self, task: object) -> bool:
        return task in self._results

    def __getitem__(self, task: str) -> Any:
        return json.loads(self._results[task])

    def keep(self, task: str, result: object) -> None:
        """Store the result of a task; when this returns, it is on disk. The first result of a task stays."""
        # Python's JSON has nan and the infinities, and every float comes back as it was.
        text = json.dumps(result)
        with self._lock:
            if task in self._results:
                return
            if self.path is not None:
                append_text(self.path, _line(json.dumps(task), text))
            self._results[task] = text

    def remove(self) -> None:
        """Remove the file; the results stay in memory."""
        with self._lock:
            if self.path is not None:
                self.path.unlink(missing_ok=True)
                self.path = None

    def _open(self, path: Path, header: str) -> None:
        content = path.read_bytes() if path.exists() else b""
        first, *lines = content.splitlines(keepends=True) or [b""]
        if first.endswith(b"\n"):
            if first != f"{header}\n".encode():
                raise InputError(
                    f"expected the journal of this study, got something else in {path}: move it away"
                )
            whole = len(first) + self._read(lines)
        else:
            whole = 0
        if whole < len(content):
            os.truncate(path, whole)
        if not whole:
            append_text(path, f"{header}\n")
            make_durable(path.parent)

    def _read(self, lines: list[bytes]) -> int:
        """Take over the results; return the length of the lines before the first that is not whole."""
        whole = 0
        for line in lines:
            try:
                task, text, _ = line.decode().split("\t")
                is_whole = line.decode() == _line(task, text)
                name = json.loads(task) if is_whole else ""
            except (ValueError, RecursionError):
                break
            if not is_whole:
                break
            self._results[name] = text
            whole += len(line)
        return whole


def _line(task: str, text: str) -> str:
    """Return the line of a result with its checksum, by which altered lines are ignored."""
    result = f"{task}\t{text}"
    return f"{result}\t{zlib.crc32(result.encode()):08x}\n"
