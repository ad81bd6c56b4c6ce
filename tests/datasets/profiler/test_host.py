"""The launch time of a host, measured with and without torch."""

from types import SimpleNamespace

import pytest
from trainlaw.datasets.profiler import host
from trainlaw.datasets.profiler.host import measured_host_launch
from trainlaw.formulas.errors import MissingDependencyError


@pytest.mark.parametrize(("has_gpu", "factor"), [(True, 1.35), (False, 2.5)])
def test_torch_issues_small_layers(monkeypatch, has_gpu, factor):
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: has_gpu), __version__="2.9")
    monkeypatch.setattr(host, "torch_package", lambda: torch)
    monkeypatch.setattr(host, "torch_part", lambda name: SimpleNamespace(issue_s=lambda: 16e-6))
    found = measured_host_launch()
    assert found.seconds == pytest.approx(16e-6 * factor)
    assert "PyTorch 2.9" in found.measured


def test_without_torch_python_stands_for_it(monkeypatch):
    def missing():
        raise MissingDependencyError("torch")

    monkeypatch.setattr(host, "torch_package", missing)
    # From a fast machine of today to a slow one under a debugger.
    assert 1e-5 < measured_host_launch().seconds < 5e-3
