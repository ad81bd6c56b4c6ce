"""Helpers shared by the tests of networks."""

import pytest


@pytest.fixture(scope="session")
def onnx_model():
    """The writer of ONNX models in onnx_files.py, beside this file."""
    pytest.importorskip("onnx", reason="the extra 'cnn' brings onnx")
    from .onnx_files import onnx_model

    return onnx_model
