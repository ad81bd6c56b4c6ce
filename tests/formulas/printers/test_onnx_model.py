"""What a model of ONNX says about itself, and what it does with names and inputs that are odd."""

import sys

import numpy as np
import pytest
from trainlaw.formulas import MissingDependencyError, parse_text
from trainlaw.formulas.printers import print_onnx

from .test_programs import onnx_values

onnx = pytest.importorskip("onnx", reason="needs onnx, which is not installed")


def test_model_says_what_it_is(law):
    content = print_onnx(law)
    model = onnx.load_from_string(content)
    for part in ("batch [sample] images per iteration, in training 1 to 256", "data_sha256: ab12", "15.5",
                 "printed by trainlaw"):  # fmt: skip
        assert part in model.doc_string
    assert [item.name for item in model.graph.input] == [spec.name for spec in law.used_features]
    assert model.graph.input[1].doc_string == "batch [sample] images per iteration"
    assert model.graph.output[0].name == "time_s"
    assert print_onnx(law) == content


@pytest.mark.parametrize("text", ["x^0", "tanh(x)"])
def test_inputs_that_are_not_finite_are_invalid(text):
    found = onnx_values(print_onnx(parse_text(text)), {"x": np.array([np.inf, -np.inf, np.nan, 2.0])})
    assert np.isnan(found).tolist() == [True, True, True, False]


def test_names_are_inert_in_onnx(nasty_laws):
    two, three = np.array([2.0, 2.0]), np.array([3.0, 3.0])
    for nasty in nasty_laws:
        content = print_onnx(nasty)
        first, second, label = (item.name for item in onnx.load_from_string(content).graph.input)
        assert all(item.isidentifier() and item.isascii() for item in (first, second, label))
        labels = np.array([nasty.features[0].name, "none"], dtype=object)
        assert onnx_values(content, {first: two, second: three, label: labels}).tolist() == [11.0, 7.0]


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'trainlaw\[cnn\]'"):
        print_onnx(parse_text("x"))
