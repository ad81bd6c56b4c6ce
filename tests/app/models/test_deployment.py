"""Proofs over the deployment box: every known GPU and CNN, batch 1 to 4,096."""

import numpy as np
import pytest
from trainlaw.app.models.builtin import BUILT_IN, formula_named
from trainlaw.app.models.deployment import AMOUNTS, PARTS, deployment_box, over_amounts, proved_properties
from trainlaw.datasets import FEATURES, TARGET, built_in_gpus, cnn_table, feature_specs, find_gpu
from trainlaw.formulas import (
    Formula,
    evaluate,
    load_formula,
    parse_text,
    variables,
)


def formula(text):
    names = variables(parse_text(text))
    return Formula(parse_text(text), feature_specs(names), TARGET)


def open_statements(text):
    return {row.statement: row.blame for row in proved_properties(formula(text)) if not row.proved}


@pytest.mark.parametrize(
    ("text", "statement", "blamed"),
    [
        ("other_matrix_s - 0.001", "is never negative", None),
        ("matrix_number^1.2 * other_matrix_s", "never rises with peak_flop_per_s", "elasticity 0.2 to 0.2"),
        ("input_copy_s / im2col_compute_s + 0.001", "never falls with im2col_elements", "not defined"),
        ("input_copy_s / (im2col_compute_s + 0.1)", "never falls with im2col_elements", "-1 to 0"),
        (
            "max(other_matrix_s - conv_output_cached_s, 0)",
            "never falls with conv_output_elements",
            "-inf to inf",
        ),
        ("other_matrix_s / clock_ratio^1.5", "never rises with boost_clock_hz", "elasticity 0.5"),
        ("host_s + l2_bytes * iteration_overhead_s", "never rises with l2_bytes", "elasticity 1 to 1"),
    ],
)
def test_what_is_not_true_stays_open(text, statement, blamed):
    found = open_statements(text)
    reasons = [blame for name, blame in found.items() if statement in name]
    assert len(reasons) == 1
    assert blamed is None or any(blamed in reason for reason in reasons[0]), reasons


def test_what_one_precision_alone_does_is_told_apart():
    # In fp32 the peak rate is the fp32 rate: the quotient of both does not move, and P_1 stays.
    assert open_statements("dual_issue^-0.5 * other_matrix_s") == {}


def test_all_is_proved_of_the_built_in_formula():
    rows = proved_properties(load_formula(BUILT_IN))
    assert [row for row in rows if not row.proved] == []
    statements = {row.statement for row in rows}
    assert statements >= {
        "the time is never negative",
        "the time never falls with batch_per_gpu",
        "the time never falls with conv3x3_macs",
        "the time never falls with n_layers",
        "the time never rises with peak_flop_per_s",
        "the time never rises with bandwidth_byte_per_s",
        "the time never rises with l2_bytes",
        "the time never rises with l1_bytes_per_sm",
        "the time never rises with base_clock_hz",
        "the time never rises with boost_clock_hz",
    }


def test_links_of_several_gpus():
    found = proved_properties(formula_named("multi"))
    assert all(row.proved for row in found), found
    known = {row.statement for row in found}
    assert "the time never falls with single_gpu_time_s" in known
    for link in ("network", "link"):
        assert f"the time never rises with {link}_byte_per_s" in known
    text = "max(single_gpu_time_s, 2 * single_gpu_time_s - tensor_node_s)"
    hidden = Formula(parse_text(text), feature_specs(variables(parse_text(text))), TARGET, scope="multi_gpu")
    assert not all(row.proved for row in proved_properties(hidden))


def test_the_box_holds_all_that_is_known():
    box, gpus = deployment_box(), built_in_gpus().frame()
    known = gpus[gpus["device"] == "GPU"]
    for name in ("bandwidth_byte_per_s", "l2_bytes", "comparable_fp32_flop_per_s", "base_clock_hz"):
        values = known[name].dropna()
        # Where a data sheet does not say it, another figure stands in.
        assert 0 < box[name][0] <= values.min() and box[name][1] >= values.max()
    assert box["peak_flop_per_s"][1] >= find_gpu("H100-SXM5-80GB").peak_fp16_flop_per_s
    assert box["macs"][1] >= cnn_table()["macs"].max() and box["batch_per_gpu"] == (1, 4096)


def test_amounts_add_up_to_the_counts():
    table = cnn_table()
    columns = {name: table[name].to_numpy(dtype=float) for name in table.select_dtypes("number")}
    for name, own in (("conv_other_macs", "conv_other_macs"), ("simple_elementwise_elements",) * 2):
        columns[name] = evaluate(FEATURES[own].expression, columns)[0]
    columns["other_params"] = columns["params"] - columns["conv_params"] - columns["dense_params"]
    assert np.all(columns["other_params"] >= 0)
    # conv5x5_macs counts convolutions of several groups too.
    alone = columns["grouped_conv_macs"] == 0
    for name, text in PARTS.items():
        total = evaluate(parse_text(text), columns)[0]
        np.testing.assert_allclose(total[alone], columns[name][alone], rtol=1e-12)
    assert set(AMOUNTS) <= set(FEATURES)
    assert "conv_macs" not in variables(over_amounts(formula("conv_compute_s + other_matrix_s")))
