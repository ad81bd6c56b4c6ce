import re
import xml.etree.ElementTree as ET
from functools import partial

import pytest
from trainlaw.datasets import load

from ...commands import invoke

run = partial(invoke, "data", columns=100)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["gpu,precision,layout", "source"])
def test_coverage_fits_and_counts_every_run(by):
    result = run("coverage", "atlas", "--by", by)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert f"{len(load('atlas')):,} runs by {by.replace(',', ', ')}" in result.stdout
    assert "sources" in result.stdout


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_contribution_is_checked_complete_and_anonymous(tmp_path):
    runs = tmp_path / "runs.csv"
    runs.write_text(
        "gpu,cnn,batch_per_gpu,time_s,bench_year,hardware,software,measured_at,source_path\n"
        "T4,resnet50,8,0.1,2026,T4 of bob@example.org,torch 2.4.0,2026-05-05T10:00:00Z,/scratch/bob/x.csv\n"
    )
    result = run("contribute", runs, "--source", "my-lab", "--to", tmp_path)
    assert result.exit_code == 0, result.output
    assert "1 runs of 1 CNNs on T4" in result.output
    assert "1 x an e-mail address" in result.output
    assert "measured_at" in result.output
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "machine.json", "runs.csv"]
    for path in folder.iterdir():
        assert "bob" not in path.read_text()
    assert "2026-05-05" not in (folder / "runs.csv").read_text()
    assert run("check", folder / "runs.csv").exit_code == 0
    again = run("contribute", runs, "--source", "my-lab", "--to", tmp_path)
    assert "were written before" in again.output
    assert "names shipped runs" in run("contribute", runs, "--source", "timm").output
    refused = run("contribute", runs, "--source", "my-lab", "--licence", "secret")
    assert "--licence: expected one of" in refused.output
