"""Recipes of docs/architecture.md, carried out on a copy: added lines reach every output and the study."""

import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = ("app", "datasets", "validate", "tools")
LINKED = ("evolve", "formulas")  # as installed: what numba compiled lies next to these files
NAME = "probe_launch_s"
AMOUNT = "probe_work_s"
FEATURE = f"time,{NAME},l_P,s,,,launches of layers and convolutions,layer_launch_s + conv_launch_s,a probe\n"
WORK = f"{AMOUNT},k_P,kernels,launch,n_layers * host_launch_s,,,,layers x the launch time of the host\n"


def add(path, line, before=None):
    """Add a line of a recipe at the end of a file, or before the first place that has a text."""
    text = path.read_text(encoding="utf-8")
    assert before is None or before in text, f"{path.name} has no {before!r}"
    place = len(text) if before is None else text.index(before)
    path.write_text(text[:place] + line + text[place:], encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Carry out the recipes, and give what runs a program on the copy and returns what it prints."""
    root = tmp_path_factory.mktemp("recipes")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in LINKED:
        (root / folder).symlink_to(Path(import_module(f"trainlaw.{folder}").__file__).parent)
    data = root / "datasets" / "data"
    # A feature: one line. An amount of work: one row.
    add(data / "features.csv", FEATURE, before="skeleton,")
    add(data / "work.csv", WORK)
    # A GPU: one line.
    known = next(line for line in (data / "gpus.csv").read_text().splitlines() if line.startswith("T4,"))
    add(data / "gpus.csv", known.replace("T4,", "Probe 9000,", 1).replace("Tesla T4", "") + "\n")
    # A baseline: one row, and a closed form. A metric: one function and its row.
    form = f'probe = partial(FittedForm, "probe", "c0 * {NAME} + c1 * total_compute_s")\n'
    add(root / "validate/baselines/forms.py", form)
    add(root / "validate/baselines/__init__.py", "    probe,\n", before="    ring_scaling,\n")
    row = 'Baseline("probe", "a probe", RUN, probe),\n    '
    add(root / "validate/baselines/__init__.py", row, before='Baseline("gplearn", ')
    metric = '    "probe_s": lambda measured, predicted: 7.0,\n'
    add(root / "validate/metrics.py", metric, before='    "rmse_s": ')
    environment = {**os.environ, "PYTHONPATH": str(root / "links"), "COLUMNS": "200"}

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-P", *words],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    run(str(root / "tools" / "link_tree.py"), str(root / "links"))
    run(str(root / "tools" / "checksums.py"))
    return run


# Commands in one process: to start one takes longer than most of them.
COMMANDS = """
import shlex, sys
from trainlaw.app.cli import app
for line in sys.argv[1:]:
    app(shlex.split(line), standalone_mode=False)
"""


def commands(run, *lines):
    """What these commands print, one after the other."""
    return run("-c", COMMANDS, *lines)


def test_a_feature_is_listed_predicted_validated_and_exported(run, tmp_path):
    place, law = tmp_path / "run", shlex.quote(f"3 * {NAME} + 2 * total_compute_s")
    printed = commands(
        run,
        f"features {NAME}",
        f"validate h100 --formula {law} --split cnn --folds 2 --out {place}",
        f"predict --cnn resnet50 --gpu T4 --batch 64 --formula {place}",
        *(f"export {place} --out {tmp_path / name}" for name in ("law.html", "law.py")),
    )
    assert "l_P" in printed and f"3 * {NAME}" in printed and "iteration time" in printed
    for path in (tmp_path / "law.html", tmp_path / "law.py", place / "report.html"):
        assert NAME in path.read_text(encoding="utf-8")
    with zipfile.ZipFile(place / "formula.xlsx") as workbook:
        assert NAME in workbook.read("xl/sharedStrings.xml").decode()


def test_an_amount_of_work_is_searched_over_and_starred(run):
    printed = commands(run, "features probe_").splitlines()
    starred = {name: line.startswith("*") for line in printed for name in (NAME, AMOUNT) if name in line}
    # A feature alone is not searched over.
    assert starred == {NAME: False, AMOUNT: True}
    found = run(
        "-c",
        "from trainlaw.app.studies.definition import definition_of, read_study_table\n"
        "from trainlaw.app.studies.fits import estimator_of\n"
        "from trainlaw.app.studies.material import searched_material\n"
        "asked = definition_of({'table': 'fp32-2026', 'evaluations': 100}, 'a test')\n"
        "material = searched_material(read_study_table(asked), asked)\n"
        "rows = material.rows\n"
        "fitted = estimator_of(material, 0)().fit(rows.X, rows.seconds, rows.groups)\n"
        "print(fitted.formula_.text())",
    )
    # Required, as all work is.
    assert AMOUNT in found
    assert NAME not in found


def test_a_gpu_is_shown_and_predicted_for_and_a_baseline_and_a_metric_stand_in_a_study(run, tmp_path):
    printed = commands(
        run,
        "gpus show 'Probe 9000'",
        "predict --cnn resnet50 --batch 64 --gpu 'Probe 9000'",
        "validate h100 --formula '3 * total_compute_s' --split cnn --against probe,null_compute"
        f" --out {tmp_path / 'run'}",
    )
    assert "TU104" in printed and "iteration time" in printed and "a probe" in printed
    header = (tmp_path / "run" / "errors.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "probe_s" in header.split(",")
