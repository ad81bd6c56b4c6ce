"""Commands as people type them, run in this process."""

import shlex

from click.testing import CliRunner, Result
from trainlaw.app.cli import app


def invoke(line: str, *words: object, columns: int | None = None, **options: object) -> Result:
    """Run a command: `line` as it is typed, then words that no shell splits."""
    environment = {"COLUMNS": str(columns)} if columns else None
    return CliRunner().invoke(app, [*shlex.split(line), *map(str, words)], env=environment, **options)


def output(line: str, *words: object, columns: int | None = None) -> str:
    """Return what a command prints, which must succeed."""
    result = invoke(line, *words, columns=columns)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def check_width(text: str, width: int) -> None:
    """Fail where a line is wider than a terminal of that many characters."""
    assert not [line for line in text.splitlines() if len(line) > width]


def refusal(line: str, *words: object) -> str:
    """Return the one line with which a command refuses."""
    return refused(invoke(line, *words))


def refused(result: Result) -> str:
    """Return the one line of a refusal."""
    assert result.exit_code == 2, (result.output, result.exception)
    (text,) = result.stderr.splitlines()
    assert text.startswith("trainlaw: ") and len(text) <= 410
    return text
