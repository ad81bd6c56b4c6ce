import math

import pytest
from trainlaw.formulas import InputError
from trainlaw.validate.journal import Journal

STUDY = "0123456789abcdef"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / ".run.journal"
    journal = Journal(path, STUDY)
    journal.keep("fold 1, a\tb", {"seconds": [0.1 + 0.2, 5e-324, math.inf]})
    journal.keep("fold 2", None)
    return path


def test_results_are_read_back_as_they_were(path):
    journal = Journal(path, STUDY)
    assert list(journal) == ["fold 1, a\tb", "fold 2"]
    assert journal["fold 1, a\tb"] == {"seconds": [0.1 + 0.2, 5e-324, math.inf]}
    assert "fold 2" in journal and journal["fold 2"] is None and "fold 3" not in journal


def test_it_is_readable_after_a_kill_at_any_byte_and_goes_on_from_there(path):
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        journal = Journal(path, STUDY)
        assert len(journal) == max(sum(end <= length for end in ends) - 1, 0)
        journal.keep("last", length)
        assert Journal(path, STUDY)["last"] == length


def test_lines_after_a_damaged_one_do_not_count(path):
    header, first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + bytes(len(first) - 1) + b"\n" + second)
    assert list(Journal(path, STUDY)) == []


def test_the_first_result_of_a_task_stays(path):
    Journal(path, STUDY).keep("fold 2", 7)
    assert Journal(path, STUDY)["fold 2"] is None


@pytest.mark.parametrize("content", [None, b"letters\n", b'["trainlaw journal 0", "0123456789abcdef"]\n'])
def test_the_journal_of_another_study_or_another_file_is_refused(path, content):
    if content is None:
        Journal(path.with_name("other"), "another")
        content = path.with_name("other").read_bytes()
    path.write_bytes(content)
    with pytest.raises(InputError, match="move it away"):
        Journal(path, STUDY)
    assert path.read_bytes() == content


def test_without_a_file_it_is_only_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    journal = Journal()
    journal.keep("a", [1])
    journal.remove()
    assert journal["a"] == [1] and list(tmp_path.iterdir()) == []


def test_what_is_kept_after_a_removal_makes_no_new_file(path):
    journal = Journal(path, STUDY)
    journal.remove()
    journal.keep("late", 1)
    assert "late" in journal and not path.exists()
