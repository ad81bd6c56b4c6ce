import json

from trainlaw.validate.measured_rates import MeasuredRates, read_rates


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
