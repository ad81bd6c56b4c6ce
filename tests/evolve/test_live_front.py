import sys
from types import SimpleNamespace

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.live_front import LiveFront, bar_html, notebook_progress
from trainlaw.evolve.search.loop import Progress


class FakeDisplay:
    """IPython's display, as a list of what was shown."""

    def __init__(self):
        self.shown = []

    def HTML(self, text):  # noqa: N802
        return text

    def display(self, page, display_id):
        assert display_id is True
        self.shown.append(page)
        return SimpleNamespace(update=self.shown.append)


@pytest.fixture
def notebook(monkeypatch):
    display, shell = FakeDisplay(), SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    return SimpleNamespace(display=display, shell=shell)


def test_a_fit_in_a_notebook_shows_one_bar(notebook):
    X = np.random.default_rng(0).uniform(1.0, 2.0, (40, 2))
    settings = SearchSettings(evaluations=200, population=50)
    FormulaRegressor(settings=settings).fit(X, X[:, 0] * X[:, 1])
    assert notebook.display.shown
    assert all(page.startswith("<progress value=") for page in notebook.display.shown)
    assert "finished" in notebook.display.shown[-1]
    assert "complexity       loss  formula\n" in notebook.display.shown[-1]


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), SimpleNamespace(kernel=None)])
def test_a_terminal_shows_none(notebook, monkeypatch, shell):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    assert notebook_progress() is None


def test_without_ipython_there_is_none(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert notebook_progress() is None


def test_a_bar_is_not_drawn_too_often_but_at_its_end(notebook):
    bar = notebook_progress()
    for left in (3.0, 2.0, 1.0, 0.0):
        bar(Progress(10, 1, 1.0, left, 0.5, 1))
    assert [page.count("finished") for page in notebook.display.shown] == [0, 1]
    assert "finished" in bar_html(Progress(10, 1, 1.0, -0.1, 0.5, 1))


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_the_front_over_itself_and_a_pipe_its_end(monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("trainlaw.evolve.live_front._SECONDS_BETWEEN", 0.0)
    X = np.random.default_rng(0).uniform(1.0, 2.0, (60, 2))
    settings = SearchSettings(evaluations=400, population=50, screening=0)
    fitted = FormulaRegressor(settings=settings, progress=LiveFront()).fit(X, X[:, 0] + np.sin(X[:, 1]))
    printed = capsys.readouterr().err
    assert printed.count("finished") == 1
    assert printed.count("complexity       loss  formula") == (fitted.generations_ if terminal else 1)
    assert printed.count("\x1b[J") == (fitted.generations_ - 1 if terminal else 0)
