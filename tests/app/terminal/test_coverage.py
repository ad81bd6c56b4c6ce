import re
import xml.etree.ElementTree as ET

import pytest
from trainlaw.app.cli import app
from trainlaw.datasets import load
from typer.testing import CliRunner


def run(*arguments, width=100):
    return CliRunner().invoke(app, ["data", *map(str, arguments)], env={"COLUMNS": str(width)})


@pytest.mark.parametrize("by", ["gpu,precision,layout", "generation,cnn_family", "source", "gpu,bench_year"])
def test_coverage_fits_and_counts_every_run(by):
    result = run("coverage", "atlas", "--by", by)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert f"{len(load('atlas')):,} runs by {by.replace(',', ', ')}" in result.stdout
    assert "sources" in result.stdout


def test_holes_stand_out():
    text = run("coverage", "default", "--by", "gpu,precision").stdout
    (line,) = [line for line in text.splitlines() if line.startswith("A40")]
    assert line.split()[:3] == ["A40", ".", "9"]
    assert "cells are holes" in text


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_heat_map_is_a_picture_of_every_cell(tmp_path, ending):
    path = tmp_path / f"coverage.{ending}"
    result = run("coverage", "default", "--by", "gpu,cnn_family", "--out", path)
    assert result.exit_code == 0, result.output
    text = path.read_text()
    assert text.count("<title>A40, ") == load("default").labels()["cnn_family"].nunique()
    assert "http" not in re.sub(r"http://www.w3.org/2000/svg", "", text)
    if ending == "svg":
        ET.fromstring(text)


def test_heat_map_refuses_other_endings_and_dimensions(tmp_path):
    assert "expected a file ending in .svg or .html" in run("coverage", "--out", tmp_path / "a.png").output
    assert "unknown dimension 'gpus'" in run("coverage", "--by", "gpus").output
    assert "expected different dimensions" in run("coverage", "--by", "gpu,gpu").output


def test_what_was_measured_on_a_gpu_is_one_command():
    text = run("show", "atlas", "--gpu", "RTX 4060 Ti").stdout
    assert text.startswith("RTX 4060 Ti 16GB: 68 runs of 34 CNNs in atlas")
    assert "pytorch-gpu-benchmark-lamikr" in text
    assert max(map(len, text.splitlines())) <= 100
    limited = run("show", "atlas", "--gpu", "K80").stdout
    assert "--all shows them" in limited
    assert len(run("show", "atlas", "--gpu", "K80", "--all").stdout) > len(limited)
    refused = run("show", "default", "--gpu", "RTX 4060 Ti")
    assert refused.exit_code != 0
    assert "unknown GPU in default" in refused.output


def test_noise_lists_pairs_of_harnesses():
    text = run("noise", "atlas").stdout
    assert max(map(len, text.splitlines())) <= 100
    assert "lambda-tensorflow-benchmark, repeats" in text
    assert "same parts" in text
