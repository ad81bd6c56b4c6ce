import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import InputError, UnknownNameError
from trainlaw.validate import grouped_k_fold, leave_one_group_out
from trainlaw.validate.splits import (
    SCHEMES,
    leave_pairs_out,
    listed_splits,
    newest_gpus_out,
    pairs_of_folds,
    splits_by_name,
)

LABELS = st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=60).filter(lambda x: len(set(x)) > 1)


def held_out_rows(splits):
    return sorted(row for split in splits for row in split.test.tolist())


@given(LABELS)
def test_each_group_is_held_out_whole_and_once(groups):
    splits = leave_one_group_out(groups)
    assert held_out_rows(splits) == list(range(len(groups)))
    for split in splits:
        names = np.array(groups)
        assert set(names[split.test]) == set(split.held_out)
        assert not set(names[split.train]) & set(split.held_out)


@given(LABELS, st.integers(2, 5), st.integers(0, 3))
def test_k_fold_holds_out_every_group_whole_and_once(groups, k, seed):
    k = min(k, len(set(groups)))
    splits = grouped_k_fold(groups, k, seed)
    assert len(splits) == k
    assert held_out_rows(splits) == list(range(len(groups)))
    assert sorted(key for split in splits for key in split.held_out) == sorted(set(groups))
    for split in splits:
        assert set(np.array(groups)[split.test]) == set(split.held_out)


def test_k_fold_assigns_groups_evenly_and_by_seed():
    groups = [
        name for name, size in zip("abcdefgh", (8, 8, 8, 8, 4, 4, 4, 4), strict=True) for _ in range(size)
    ]
    sizes = {len(split.test) for split in grouped_k_fold(groups, 4)}
    assert sizes == {12}
    chosen = [[split.held_out for split in grouped_k_fold(groups, 4, seed)] for seed in (0, 0, 1, 2, 3)]
    assert chosen[0] == chosen[1]
    assert any(chosen[0] != other for other in chosen[2:])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=2, max_size=40))
def test_pairs_leave_neither_label_in_training(pairs):
    groups, others = zip(*pairs, strict=True)
    for split in leave_pairs_out(groups, others):
        group, other = split.held_out
        assert all(pairs[row] == (group, other) for row in split.test)
        assert all(pairs[row][0] != group and pairs[row][1] != other for row in split.train)
        assert {row for row, pair in enumerate(pairs) if pair == (group, other)} == set(split.test.tolist())


def test_pairs_of_folds_hold_out_every_run_once_with_both_its_labels():
    groups, others = list("aabbccdd") * 3, list("vwxyz") * 4 + list("vwxy")
    found = pairs_of_folds(groups, others, 2)
    for split in found:
        held_out = set(split.held_out)
        assert held_out == {name for row in split.test for name in (groups[row], others[row])}
        assert all({groups[row], others[row]} <= held_out for row in split.test)
        assert not any({groups[row], others[row]} & held_out for row in split.train)
    assert sorted(row for split in found for row in split.test.tolist()) == list(range(len(groups)))


def test_listed_groups_are_held_out():
    splits = listed_splits(["a", "b", "c"], {"first two": ["a", "b"]})
    assert [(split.name, split.train.tolist()) for split in splits] == [("first two", [2])]
    with pytest.raises(UnknownNameError, match="did you mean 'V100'"):
        listed_splits(["V100", "T4"], {"x": ["V10"]})


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_holds_out_whole_labels_of_the_built_in_runs(scheme, few_runs):
    # Runs on GPUs have no numbers of threads.
    labels = few_runs.labels.assign(threads=[f"threads {row % 3}" for row in range(len(few_runs.labels))])
    splits = splits_by_name(scheme, labels)
    texts = labels.to_numpy(dtype=str)
    assert len(splits) > (0 if scheme == "newest" else 1)
    assert len({split.name for split in splits}) == len(splits)
    for split in splits:
        assert len(split.held_out) >= 1
        for key in split.held_out:
            columns = (texts[split.test] == key).any(axis=0)
            assert columns.any()
            assert not (texts[split.train][:, columns] == key).any()


def test_the_newest_gpus_are_the_latest_years_with_at_least_a_quarter_of_the_groups():
    # However many runs a group has.
    groups, years = ["K80", *["P100"] * 90, "V100", "A100"], [2014, *[2016] * 90, 2017, 2020]
    (split,) = newest_gpus_out(groups, years)
    assert (split.name, split.held_out) == ("from 2020 on", ("A100",))
    (split,) = newest_gpus_out([*groups, "K40"], [*years, 2013])
    assert split.held_out == ("A100", "V100")
    (split,) = newest_gpus_out(["K80", "V100", "A100", "V100"], [2014, 2017, 2018, 2018])
    assert (split.held_out, split.train.tolist()) == (("A100", "V100"), [0])
    with pytest.raises(InputError, match="at least two years"):
        newest_gpus_out(["a", "b"], [2014, 2014])


def test_two_to_as_many_folds_as_groups():
    assert len(grouped_k_fold(["a", "b", "c"], 3)) == 3
    for k in (1, 4):
        with pytest.raises(InputError, match=f"expected 2 to 3 folds for 3 groups, got {k}"):
            grouped_k_fold(["a", "b", "c"], k)
