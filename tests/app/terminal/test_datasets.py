import re
import xml.etree.ElementTree as ET
from functools import partial

import pytest
from trainlaw.datasets import load

from ...commands import invoke

run = partial(invoke, "data", columns=100)


@pytest.mark.parametrize("by", ["gpu,precision,layout", "source"])
def test_coverage_fits_and_counts_every_run(by):
    result = run("coverage", "atlas", "--by", by)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert f"{len(load('atlas')):,} runs by {by.replace(',', ', ')}" in result.stdout
    assert "sources" in result.stdout


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_heat_map_is_a_picture_of_every_cell(tmp_path, ending):
    path = tmp_path / f"coverage.{ending}"
    result = run("coverage", "fp32-2026", "--by", "gpu,cnn_family", "--out", path)
    assert result.exit_code == 0, result.output
    text = path.read_text()
    assert text.count("<title>A40, ") == load("fp32-2026").labels()["cnn_family"].nunique()
    assert "http" not in re.sub(r"http://www.w3.org/2000/svg", "", text)
    if ending == "svg":
        ET.fromstring(text)
