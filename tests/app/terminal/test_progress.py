"""What a study shows while it works, and tables that fit the terminal."""

import sys
from types import SimpleNamespace

import pytest
from trainlaw.app.terminal import progress
from trainlaw.app.terminal.progress import shown_fits, shown_progress, shown_steps
from trainlaw.app.text.tables import Table, fitted_lines
from trainlaw.validate import StudyProgress


def test_fits_are_shown_on_a_terminal_with_the_time_left_and_leave_no_trace(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with shown_fits() as on_fit:
        on_fit(StudyProgress(1, 6, "fold 1 of 5", "cf9", 10.0, 90.0))
    first, cleared = capsys.readouterr().err.split("\r")[2:4]
    assert "fold 1 of 5, hand-derived, 9 terms, 1 of 6 fits: about" in first
    assert len(first) == 59 and not cleared.strip()


def test_nothing_is_shown_in_a_pipe(capsys):
    with shown_fits() as on_fit:
        assert on_fit is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_tables_and_lines_fit(width):
    header = ["estimator", "mean over GPU groups", "runs within 25 %", "median over all of the runs"]
    table = Table.of(header, [["roofline", "35.1", "34.4", "38.2"]]).text(width, "  ")
    assert max(map(len, table.splitlines())) <= width
    assert ("\n" in table.split("roofline")[0].strip()) == (width < 80)
    text = "  (a_long_name + another_name) * 3\n  short"
    assert max(map(len, fitted_lines(text, 20).splitlines())) <= 20
    assert fitted_lines(text, 20).split() == text.split()


def test_steps_are_shown_on_a_terminal_and_the_first_has_no_estimate(monkeypatch, capsys):
    with shown_steps() as on_step:
        on_step("reading", 0.0)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    # A beginning at 5 s, asked at once and 2 s later.
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=iter([5.0, 5.0, 7.0]).__next__))
    with shown_steps() as on_step:
        on_step("reading", 0.0)
        on_step("fitting", 0.5)
    reading, fitting = capsys.readouterr().err.split("\r")[1:3]
    assert reading.strip() == "reading: estimating the time left"
    assert fitting.strip() == "fitting: about 2 s left"


def test_a_study_shows_on_a_terminal_how_much_is_done_and_in_a_pipe_each_fold(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "120")
    with shown_progress() as on_fit:
        on_fit(StudyProgress(1, 6, "fold 1 of 5", "trainlaw", 10.0, 90.0))
        on_fit(StudyProgress(2, 6, "fold 1 of 5", "cf9", 10.0, 80.0))
    assert capsys.readouterr().err == "fold 1 of 5: 1 of 6 fits, about 1 min 30 s left\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with shown_progress() as on_fit:
        on_fit(StudyProgress(1, 6, "fold 1 of 5", "cf9", 10.0, 90.0))
    shown = capsys.readouterr().err.split("\r")[2]
    assert shown.startswith(
        "fold 1 of 5, hand-derived, 9 terms, 1 of 6 fits: about 1 min 30 s left; Ctrl-C stops"
    )
