import numpy as np
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.datasets.measurements.formula_rows import FormulaRows
from trainlaw.formulas import Formula, parse_text
from trainlaw.validate.support import LEAST_RUNS, supporting_sources

NAMES = ("other_matrix_s", "host_s", "clock_number")
LAW = Formula(parse_text("(other_matrix_s + host_s) / clock_number"), feature_specs(NAMES), TARGET)


def test_a_time_is_supported_where_it_is_a_twentieth_of_enough_runs():
    host = np.array([0.06] * 6 + [0.04] * 6 + [0.06] * (LEAST_RUNS - 1) + [0.0] * 6 + [9.0])
    sources = ["much"] * 6 + ["little"] * 6 + ["seldom"] * (LEAST_RUNS + 5) + ["one run"]
    columns = {
        "other_matrix_s": 1.0 - np.minimum(host, 0.9),
        "host_s": host,
        "clock_number": np.ones(len(host)),
    }
    found = supporting_sources(LAW, FormulaRows(columns, np.ones(len(host), dtype=bool)), sources)
    assert found["host_s"] == ("much", "one run")
    assert found["other_matrix_s"] == ("little", "much", "seldom")
    assert "clock_number" not in found
