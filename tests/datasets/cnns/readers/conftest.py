"""Helpers shared by the tests of networks."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def onnx_model():
    """The writer of ONNX models in onnx_files.py, beside this file."""
    pytest.importorskip("onnx", reason="the extra 'cnn' brings onnx")
    specification = importlib.util.spec_from_file_location(
        "onnx_files", Path(__file__).with_name("onnx_files.py")
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.onnx_model
