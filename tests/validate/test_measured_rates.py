import json

import pytest
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import UnknownNameError
from trainlaw.validate import MeasuredRates, read_rates


def test_csv_and_json_are_equivalent(tmp_path):
    (tmp_path / "rates.csv").write_text(
        "gpu,achieved_matmul_flop_per_s,achieved_copy_byte_per_s,launch_latency_s\nT4,4e12,2.4e11,\nK80,1e12,,5e-6\n"
    )
    rows = [
        {"gpu": "T4", "achieved_matmul_flop_per_s": 4e12, "achieved_copy_byte_per_s": 2.4e11},
        {"gpu": "K80", "achieved_matmul_flop_per_s": 1e12, "launch_latency_s": 5e-6},
    ]
    (tmp_path / "rates.json").write_text(json.dumps(rows))
    expected = (MeasuredRates("T4", "fp32", 4e12, 2.4e11), MeasuredRates("K80", "fp32", 1e12, None, 5e-6))
    assert read_rates(tmp_path / "rates.csv") == expected == read_rates(tmp_path / "rates.json")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("gpu,achieved_matmul\nT4,1\n", "achieved_matmul_flop_per_s"),
        ("gpu,launch_latency_s\n,1e-6\n", "row 1: column gpu is empty"),
        ("gpu,launch_latency_s\nT4,fast\n", "expected a positive number, got 'fast'"),
        ("gpu,launch_latency_s\nT4,-1\n", "expected a positive number"),
        ("gpu,launch_latency_s\nT4,1e-6\nT4,2e-6\n", "more than once"),
        ("gpu,launch_latency_s\n", "at least one row"),
    ],
)
def test_faults_are_named(tmp_path, text, fault):
    path = tmp_path / "rates.csv"
    path.write_text(text)
    with pytest.raises((InputError, UnknownNameError), match=fault):
        read_rates(path)


@pytest.mark.parametrize(("text", "fault"), [("{", "expected JSON"), ('{"gpu": "T4"}', "a list of objects")])
def test_faulty_json(tmp_path, text, fault):
    path = tmp_path / "rates.json"
    path.write_text(text)
    with pytest.raises(InputError, match=fault):
        read_rates(path)
