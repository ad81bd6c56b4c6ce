"""A random 1 % of every known GPU x CNN x batch x precision: no time is absurd."""

import importlib.util
import sys
from pathlib import Path

import pytest
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.formulas import Formula, load_formula, parse_text, variables

# Benchmarks are not installed, and the checkout is not on the path of a test run.
_SPEC = importlib.util.spec_from_file_location("sweep", Path(__file__).parents[1] / "benchmarks" / "sweep.py")
_MODULE = importlib.util.module_from_spec(_SPEC)
sys.modules["sweep"] = _MODULE
_SPEC.loader.exec_module(_MODULE)
sweep = _MODULE.sweep

SKELETON = (
    "max(matrix_number^0.3 * (1 / clock_ratio)^0.5 * (other_matrix_s + 0.5 * conv3x3_matrix_s"
    " + 10 * im2col_matrix_s + 500 * conv_weight_matrix_s) + dual_issue^-0.5 * cache_per_lane^-0.8"
    " * (20 * im2col_simt_s + 100 * conv_input_simt_s + grouped_conv_simt_s"
    " + 5 * grouped_channels_last_simt_s) + exp(0.6931 * is_amd)"
    " * (10 * conv_output_cached_s + 5 * elementwise_cached_s + 5 * parameter_memory_s)"
    " + exp(1.0986 * is_amd) * 50 * depthwise_output_cached_s + clock_number^-1 * 2 * conv_kernel_s"
    " + iteration_overhead_s, max(host_s, least_time_s)) + input_copy_s"
)


def formula(text):
    return Formula(parse_text(text), feature_specs(variables(parse_text(text))), TARGET)


def absurd(law):
    found = sweep(law, share=0.01)
    configurations = found.pop("configurations")
    assert configurations > 10_000
    # GPUs whose data sheet does not say all: few.
    assert found.pop("without a value: a specification is not known") < 0.02 * configurations
    return {name: count for name, count in found.items() if count}


def test_the_skeleton_is_never_absurd():
    assert absurd(formula(SKELETON)) == {}


def test_the_built_in_formula_is_never_absurd():
    assert absurd(load_formula(BUILT_IN)) == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [("0.1 * other_matrix_s + 0.001", {"faster than the peak"}),
     ("1 / batch_per_gpu + least_time_s", {"falls with the batch"}),
     ("max(least_time_s, conv_output_cached_s) - 0.001", {"not above zero"}),
     ("least_time_s * matrix_number^1.5 + 0.001", {"rises with peak_flop_per_s"}),
     ("least_time_s + l2_bytes * iteration_overhead_s", {"rises with l2_bytes"}),
     ("least_time_s + 0.01 / n_layers", {"falls with layers"})],
)  # fmt: skip
def test_what_is_absurd_is_counted(text, names):
    assert names <= set(absurd(formula(text)))
