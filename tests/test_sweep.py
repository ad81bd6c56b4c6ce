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


def formula(text):
    return Formula(parse_text(text), feature_specs(variables(parse_text(text))), TARGET)


def absurd(law, share=0.01):
    found = sweep(law, share=share)
    configurations = found.pop("configurations")
    assert configurations > 1_000_000 * share
    # GPUs whose data sheet does not say all: few.
    assert found.pop("without a value: a specification is not known") < 0.02 * configurations
    return {name: count for name, count in found.items() if count}


def test_the_built_in_formula_is_never_absurd():
    assert absurd(load_formula(BUILT_IN)) == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0.1 * other_matrix_s + 0.001", {"faster than the peak"}),
        ("1 / batch_per_gpu + least_time_s", {"falls with the batch"}),
        ("max(least_time_s, conv_output_cached_s) - 0.001", {"not above zero"}),
        ("least_time_s * matrix_number^1.5 + 0.001", {"rises with peak_flop_per_s"}),
        ("least_time_s + l2_bytes * iteration_overhead_s", {"rises with l2_bytes"}),
        ("least_time_s + 0.01 / n_layers", {"falls with layers"}),
    ],
)
def test_what_is_absurd_is_counted(text, names):
    assert names <= set(absurd(formula(text), share=0.001))
