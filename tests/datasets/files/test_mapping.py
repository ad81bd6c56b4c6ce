import pandas as pd
import pytest
from trainlaw.datasets.files.columns import Column
from trainlaw.datasets.files.mapping import absence_faults, joined_name, renamed

COLUMNS = (
    Column("gpu", "text", "the GPU"),
    Column("time_s", "number", "time", "s"),
    Column("precision", "text", "the precision", default="fp32"),
    Column("warm_up_s", "number", "warm-up", "s", default=0.0),
)


def found(*names):
    return [(fault.column, fault.expected) for fault in absence_faults(pd.DataFrame(columns=names), COLUMNS)]


def test_only_times_are_converted():
    table = pd.DataFrame({"step_h": [0.5], "step": [2.0], "board_ms": ["T4"]})
    result = renamed(table, {"time_s": "step_h", "warm_up_s": "step", "gpu": "board_ms"}, COLUMNS)
    assert result[["time_s", "warm_up_s", "gpu"]].iloc[0].tolist() == [1800.0, 2.0, "T4"]


def test_a_time_in_another_unit_is_a_fault_where_a_default_would_fill_it():
    # Also where a default would fill the column.
    assert [name for name, _ in found("gpu", "time_s", "warm_up_us")] == ["warm_up_us"]
    # A text has no unit.
    assert [name for name, _ in found("gpu_ms", "time_s")] == ["gpu"]


@pytest.mark.parametrize("name", ["Device", "gpu_name", "CARD"])
def test_usual_names_of_a_column_are_suggested(name):
    ((column, advice),) = found(name, "time_s")
    assert column == "gpu" and advice.endswith(f"map it with gpu={name}")


def test_a_misspelt_optional_column_is_a_fault_and_a_different_name_is_not():
    ((name, advice),) = found("gpu", "time_s", "precison")
    assert name == "precison" and "precision=precison" in advice
    assert found("gpu", "time_s", "precisions_of_all") == []


def test_a_likeness_of_nine_tenths_is_not_enough():
    # SequenceMatcher's ratio of these is exactly 0.9: 9 of 10 characters agree.
    columns = (Column("abcdefghij", "text", "letters", default=""),)
    assert absence_faults(pd.DataFrame(columns=["abcdefghiX"]), columns) == []
    columns = (Column("abcdefghijk", "text", "letters", default=""),)
    assert len(absence_faults(pd.DataFrame(columns=["abcdefghijX"]), columns)) == 1


def test_separators_count_only_between_digits():
    assert [joined_name(text) for text in ("Res-Net 50", "1.6 GF", "_a__b_", "v1.5-2")] == [
        "resnet50",
        "1_6gf",
        "ab",
        "v1_5_2",
    ]
