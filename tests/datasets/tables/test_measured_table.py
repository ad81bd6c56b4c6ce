"""Immutable tables: identity, copies and selection of rows."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.datasets import RunTable, load
from trainlaw.formulas.errors import InputError, UnknownNameError


def test_a_table_cannot_be_changed_from_outside(runs):
    before = runs.sha256
    frame = runs.frame
    frame["time_s"] = 0.0
    seconds = runs.seconds
    seconds[:] = 0.0
    mine = RunTable("mine", frame)
    frame.loc[:, "gpu"] = "T4"
    assert runs.seconds.min() > 0
    assert set(mine.frame["gpu"]) != {"T4"}
    assert RunTable("again", runs.frame).sha256 == before
    with pytest.raises(AttributeError):
        runs.name = "other"


def test_identity_follows_values_names_and_order(runs):
    frame = runs.frame
    assert RunTable("copy", frame) == runs
    assert hash(RunTable("copy", frame)) == hash(runs)
    changed = frame.assign(time_s=np.nextafter(frame["time_s"], 1))
    texts = frame.assign(harness=frame["harness"].where(frame.index > 0, "other"))
    tables = [changed, texts, frame.iloc[::-1], frame.rename(columns={"pool": "pooled"})]
    assert len({runs.sha256, *(RunTable("other", table).sha256 for table in tables)}) == 5


def test_identity_is_the_same_in_another_process(runs):
    assert pickle.loads(pickle.dumps(runs)).sha256 == runs.sha256


def test_identity_does_not_depend_on_how_texts_are_held(runs):
    held_otherwise = runs.frame.astype({"gpu": object, "cnn": "category"})
    assert RunTable("again", held_otherwise).sha256 == runs.sha256


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_where_keeps_the_masked_rows_in_order(seed, share):
    runs = load("fp32-2026")
    mask = np.random.default_rng(seed).random(1730) < share
    chosen = runs.where(mask)
    assert len(chosen) == mask.sum()
    assert (chosen.seconds == runs.seconds[mask]).all()


def test_where_takes_values_and_lists(runs):
    both = runs.where(gpu=["T4", "K80"], cnn="resnet50_preact")
    assert set(both.frame["gpu"]) == {"T4", "K80"}
    assert set(both.frame["cnn"]) == {"resnet50_preact"}
    assert len(runs.where()) == len(runs)
    assert len(runs.where(gpu="no such gpu")) == 0
    with pytest.raises(UnknownNameError, match="gpu"):
        runs.where(gpus="T4")


@pytest.mark.parametrize("mask", [[True], np.ones(3, bool), np.ones(1730), np.ones((1730, 1), bool)])
def test_bad_masks_are_refused(runs, mask):
    with pytest.raises(InputError, match="bool mask"):
        runs.where(mask)
