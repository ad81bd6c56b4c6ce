"""What a study is, as options and as TOML: read strictly, written back, split and platforms as named."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.studies.definition import definition_of, definition_text, read_definition
from trainlaw.app.studies.front_search import FRONT_EVALUATIONS, FRONT_SIZES
from trainlaw.app.studies.kinds.kind import SPLITS, study_labels
from trainlaw.app.studies.material import defined_splits, platforms_of
from trainlaw.datasets import load
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import UnknownNameError
from trainlaw.validate.baselines import baselines_for

GROUPS = ["gpu_group", "cnn_base", "cnn_family", "source", "harness", "generation"]


def test_an_empty_definition_is_the_main_job():
    wanted = definition_of({}, "here")
    usual = replace(StudyDefinition(), evaluations=FRONT_EVALUATIONS, max_constants=FRONT_SIZES[-1])
    assert wanted == usual
    assert (wanted.table, wanted.of, wanted.split) == ("default", "runs", "gpu-folds")


def test_the_free_search_has_defaults_of_its_own():
    wanted = definition_of({"of": "free-runs"}, "here")
    assert wanted == replace(StudyDefinition(), of="free-runs", table="fp32-2026")
    assert wanted.seeds == 1


def test_what_is_written_is_read_back(tmp_path):
    wanted = definition_of(
        {
            "split": "newest-gpus-out",
            "seed": 3,
            "against": "cf9, roofline",
            "by": ["harness"],
            "folds": 2,
            "seeds": 4,
        },
        "here",
    )
    assert wanted.split == "newest"
    assert wanted.seeds == 4
    path = tmp_path / "study.toml"
    path.write_text(definition_text(wanted))
    assert definition_of(read_definition(path), str(path)) == wanted


@given(st.text(max_size=40))
def test_any_text_survives_the_file(text):
    import tomllib

    written = definition_text(StudyDefinition(table=text))
    assert tomllib.loads(written)["table"] == text


def test_all_means_every_baseline():
    assert set(definition_of({"against": "all"}, "here").against) == {
        *baselines_for("run"),
        "gplearn",
        "pyoperon",
    }


def test_paths_are_beside_the_file(tmp_path):
    (tmp_path / "mine.csv").write_text("gpu\n")
    path = tmp_path / "study.toml"
    path.write_text('table = "mine.csv"\nrates = "rates.csv"\n')
    values = read_definition(path)
    assert values["table"] == str(tmp_path / "mine.csv")
    assert values["rates"] == str(tmp_path / "rates.csv")
    path.write_text('table = "precisions"\n')
    assert read_definition(path)["table"] == "precisions"


@pytest.fixture(scope="module")
def labels():
    return study_labels(load("fp32-2026"))


# The built-in runs do not differ in threads; test_threads.py holds a number of threads out.
@pytest.mark.parametrize("split", [name for name in SPLITS if name not in ("list", "threads")])
def test_every_split_holds_out_what_it_says(split, labels):
    splits = defined_splits(definition_of({"split": split}, "here"), labels, "default")
    tested = np.concatenate([part.test for part in splits])
    assert len(tested) == len(set(tested.tolist()))
    if split != "newest":
        assert len(tested) == len(labels)
    for part in splits[:20]:
        held = labels.iloc[part.test][
            ["gpu_group", "cnn_base", "cnn_family", "source", "harness", "generation"]
        ]
        seen = labels.iloc[part.train]
        assert any(not set(held[name]) & set(seen[name]) for name in held)


def test_the_newest_are_newer(labels):
    (split,) = defined_splits(definition_of({"split": "newest"}, "here"), labels, "default")
    # A group is as new as its newest card.
    years = labels["gpu_year"].astype(float).groupby(labels["gpu_group"]).transform("max").to_numpy()
    assert years[split.train].max() < years[split.test].min()


def test_an_own_list(labels, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('label = "gpu"\n[held_out]\n"new cards" = ["T4", "A40"]\n"old" = ["K80"]\n')
    wanted = definition_of({"split": "list", "held_out": str(path)}, "here")
    splits = defined_splits(wanted, labels, "default")
    assert [part.name for part in splits] == ["new cards", "old"]
    assert set(labels["gpu"].iloc[splits[0].test]) == {"T4", "A40"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('labl = "gpu"\n[held_out]\na = ["T4"]', "no entry 'labl'"),
        ('label = "gpus"\n[held_out]\na = ["T4"]', "gpu"),
        ('label = "gpu"', "expected the entry 'held_out'"),
        ("[held_out]\na = []", "expected \\[held_out\\]"),
        ('label = "gpu"\n[held_out]\na = ["T5"]', "T4"),
        ("x = = 1", "expected TOML"),
    ],
)
def test_faulty_lists(labels, tmp_path, text, fault):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    wanted = definition_of({"split": "list", "held_out": str(path)}, "here")
    with pytest.raises((InputError, UnknownNameError), match=fault):
        defined_splits(wanted, labels, "default")


def test_platforms(labels):
    assert set(platforms_of(labels, "vendor")) == {"AMD", "NVIDIA"}
    with pytest.raises(InputError, match="at least two values, found only 'GPU'"):
        platforms_of(labels, "device")
