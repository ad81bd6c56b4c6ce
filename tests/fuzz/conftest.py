"""How many mutants are tried, and what came of them: `python -m pytest tests/fuzz --fuzz-examples 60000`."""

import pytest

# In all; enough to notice a reader that lost its checks, and short.
_FEW = 100
_REPORT: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the number of mutants; only this folder on the command line makes the option known."""
    parser.addoption(
        "--fuzz-examples", type=int, default=_FEW, help="Mutants over all readers; a long run has 60000."
    )
    parser.addoption(
        "--fuzz-from", type=int, default=1, help="Number of the first mutant: another part of them."
    )


@pytest.fixture(scope="session")
def examples(request: pytest.FixtureRequest) -> tuple[int, int]:
    """The number of mutants over all readers, and that of the first."""
    option = request.config.getoption
    return option("--fuzz-examples", _FEW), option("--fuzz-from", 1)


@pytest.fixture(scope="session")
def report() -> list[str]:
    """Lines that are printed after the tests."""
    return _REPORT


def pytest_terminal_summary(terminalreporter: object, config: pytest.Config) -> None:
    """Print a line per reader after a long run."""
    if config.getoption("--fuzz-examples", _FEW) > _FEW:
        for line in _REPORT:
            terminalreporter.write_line(line)
