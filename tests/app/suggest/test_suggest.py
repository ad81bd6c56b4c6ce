"""What to measure next: choice, table, plan; plans go into the profiler's reader."""

import csv
import shutil
from dataclasses import replace
from functools import partial

import pytest
from trainlaw.app.models.user_formula import read_formula
from trainlaw.app.suggest.candidates import StudiedFront, find_front, suggested_runs
from trainlaw.app.suggest.jobs import cnn_pool, worth_measuring
from trainlaw.app.suggest.options import SuggestOptions
from trainlaw.datasets import built_in_gpus, load
from trainlaw.datasets.profiler.configurations import read_plan
from trainlaw.formulas import InputError, UnknownNameError, save_formula
from trainlaw.validate.error_table import MACRO
from trainlaw.validate.result import OURS

from ...commands import check_width, invoke

NETWORKS = "resnet18,vgg11,alexnet_mx,squeezenet1_1,mobilenet_v2"


run = partial(invoke, "suggest")


@pytest.fixture(scope="module")
def pool():
    return cnn_pool(NETWORKS.split(","), (8, 32), (), gpus=built_in_gpus(), named=("T4",))


@pytest.fixture
def front(formula, tmp_path):
    """A run folder as a study leaves it, its front made of three formulas, on few runs."""
    folder = tmp_path / "run"
    folder.mkdir()
    save_formula(formula, folder / "formula.json")
    (folder / "provenance.json").write_text("{}")
    (folder / "study.toml").write_text('table = "runs.csv"\n')
    runs = load("fp32-2026").where(source="lambda-tensorflow-benchmark").frame
    runs.to_csv(folder / "runs.csv", index=False)
    (folder / "front").mkdir()
    text = "20 * conv_output_memory_s"
    for size, error, more in (
        (3, 60, ""),
        (5, 10, " + 3 * conv3x3_both_s"),
        (7, 11, " + 2 * layer_launch_s"),
    ):
        text += more
        law = replace(read_formula(text), errors={"summary": {OURS: {MACRO: error}}})
        save_formula(law, folder / "front" / f"{size}.json")
    return folder


def test_the_front_of_a_run_folder(front, formula, tmp_path):
    found = find_front(SuggestOptions(front=front), tmp_path)
    assert found.chosen.expression == formula.expression
    assert [law.text() for law in found.near_equals] == [
        "20 * conv_output_memory_s + 3 * conv3x3_both_s",
        "20 * conv_output_memory_s + 3 * conv3x3_both_s + 2 * layer_launch_s",
    ]
    assert len(found.measured) == 71
    assert find_front(SuggestOptions(front=front / "formula.json"), tmp_path).measured == found.measured
    shutil.rmtree(front / "front")
    assert find_front(SuggestOptions(front=front), tmp_path).near_equals == ()


def test_suggestions_say_why(front, pool, tmp_path):
    found = suggested_runs(find_front(SuggestOptions(front=front), tmp_path), pool, 4)
    assert len({member.row for member in found.members}) == 4
    assert sum(member.represents for member in found.members) == pytest.approx(found.represented)
    shares = [member.represents for member in found.members]
    assert shares == sorted(shares, reverse=True)
    assert 0 < found.represented <= 1 and 0 < found.removed <= 1
    assert found.covered[0] <= found.covered[1] <= 1
    for member in found.members:
        assert member.cost_s == pytest.approx(30 * member.predicted_s)
        assert member.uncertainty > 0 and member.disagreement > 0
        assert all(factor > 1 for _, factor in member.new)
    assert suggested_runs(find_front(SuggestOptions(front=front), tmp_path), pool, 4) == found


def test_all_of_the_pool_represents_everything(front, pool, tmp_path):
    found = suggested_runs(find_front(SuggestOptions(front=front), tmp_path), pool, len(pool))
    assert found.represented == pytest.approx(1)
    assert found.covered[1] == pytest.approx(1)
    with pytest.raises(InputError, match="at most the 10"):
        suggested_runs(find_front(SuggestOptions(front=front), tmp_path), pool, len(pool) + 1)


def test_what_is_measured_twice_or_too_large_is_no_candidate(pool):
    left, told = worth_measuring(pool.merged(pool), [pool.where(cnn="vgg11")])
    assert len(left) == 8
    assert "without 12 already measured" in told
    large = cnn_pool(["vgg16"], (8, 4096), (), gpus=built_in_gpus(), named=("T4",))
    left, told = worth_measuring(large, [])
    assert left.frame["batch_per_gpu"].tolist() == [8]
    assert "without 1 that cannot fit" in told
    with pytest.raises(InputError, match="no configuration can be measured"):
        worth_measuring(pool, [pool])


def test_a_network_too_deep_for_an_image_is_left_out_unless_asked_for():
    gpus = {"gpus": built_in_gpus(), "named": ("T4",)}
    assert 50 < len(cnn_pool([], (8,), (32,), **gpus)) < 200
    with pytest.raises(InputError, match="vgg16"):
        cnn_pool(["vgg16"], (8,), (8,), **gpus)
    with pytest.raises(UnknownNameError, match="did you mean"):
        cnn_pool(["vgg61"], (8,), (), **gpus)
    with pytest.raises(InputError, match="--gpu"):
        cnn_pool(["vgg16"], (8,), (), gpus=built_in_gpus(), named=())
    with pytest.raises(InputError, match="expected 1 to 20,000 configurations, got 20,001"):
        cnn_pool(["vgg16"], range(1, 20_002), (), **gpus)
    with pytest.raises(InputError, match="got 20,002"):
        cnn_pool(["vgg16"], range(1, 10_002), (), gpus=built_in_gpus(), named=("T4", "P100-PCIE-16GB"))
    with pytest.raises(InputError, match="got 0"):
        cnn_pool(["vgg16"], (), (), **gpus)


def test_a_law_of_layers(pool):
    """Its features are those of layers; what counts is their sum over each run."""
    law = read_formula("2 * total_compute_s + 9 * conv_output_memory_s + 5 * layer_launch_s", "layer")
    table = load("fp32-2026").where(source="profet", batch_per_gpu=[16])
    measured = table.where(cnn=sorted(set(table.frame["cnn"]))[:4])
    found = suggested_runs(StudiedFront(law, (), measured, "here"), pool, 2)
    assert len(found.members) == 2
    assert 0 < found.represented < 1
    assert all(
        name in ("compute_s", "output_memory_s", "launch_s") for m in found.members for name, _ in m.new
    )


def test_the_plan_is_one_for_the_profiler(front, in_empty_folder):
    shutil.copytree(front, "trainlaw-run")
    (in_empty_folder / "configs.csv").write_text(
        "cnn,batch_per_gpu,gpu,precision\n" + "".join(f"{cnn},16,T4,fp32\n" for cnn in NETWORKS.split(","))
    )
    done = run("--pool", "configs.csv", "-k", 3, "--out", "plan.csv", "--front", "trainlaw-run", columns=80)
    assert done.exit_code == 0, (done.output, done.exception)
    check_width(done.stdout, 80)
    assert "trainlaw-run" in done.output and "plan.csv written" in done.output
    planned = read_plan("plan.csv", device="cuda", threads=[0])
    rows = list(csv.DictReader(open("plan.csv")))
    assert [(each.cnn, each.batch) for each in planned] == [(row["cnn"], 16) for row in rows]
    assert len(rows) == 3 and all(float(row["cost_s"]) > 0 for row in rows)
    assert run("--pool", "configs.csv", "--out", "plan.csv").exit_code == 2


def test_a_pool_without_gpus_and_own_runs_on_processors(in_empty_folder):
    from trainlaw.datasets.profiler.machine import Processor
    from trainlaw.datasets.profiler.row_files import MachineFile

    machine = MachineFile("runs.csv")
    lines = ["gpu,cnn,batch_per_gpu,time_s"]
    for threads in (1, 2):
        row = Processor("Honest CPU", 2, 16, 2.5e9, 8e9, 32e6, 32e3).gpu_row(threads, 0.0, 1e10)
        machine.add(row)
        lines += [f'"{row["gpu"]}",{cnn},{b},{b / threads}' for cnn in ("resnet18", "vgg11") for b in (2, 8)]
    (in_empty_folder / "runs.csv").write_text("\n".join(lines) + "\n")
    (in_empty_folder / "pool.csv").write_text(
        "cnn,batch_per_gpu\nresnet18,4\nalexnet_mx,1\nresnet18,2\nvgg11,1\n"
    )
    names = [option for n in ("1 thread", "2 threads") for option in ("--gpu", f"Honest CPU, {n}")]
    own = ["--runs", "runs.csv", "--gpu-file", "runs-machine.csv", *names]
    assert "can hardly be right" in run("--pool", "pool.csv", *own).output
    own.append("--trust")
    done = run("--pool", "pool.csv", *own, "-k", 2, "--out", "plan.csv")
    assert done.exit_code == 0, (done.output, done.exception)
    assert "6 configurations to choose from; without 2 already measured" in done.output
    planned = read_plan("plan.csv", device="cpu", threads=[9])
    assert len(planned) == 2 and {each.threads for each in planned} <= {1, 2}
    (in_empty_folder / "pool.csv").write_text("cnn,batch_per_gpu\nresnet18,4\nvgg61,1\n")
    assert "line 3" in run("--pool", "pool.csv", *own).output
