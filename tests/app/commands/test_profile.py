"""`trainlaw profile` from the command line: one line without torch, a sweep that resumes with it."""

import csv
import importlib.util
import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from trainlaw.app.cli import app
from trainlaw.app.commands import profile_jobs
from trainlaw.app.commands.profile_jobs import counts_of, print_rates, progress_text, run_profile
from trainlaw.app.commands.profile_options import ProfileOptions
from trainlaw.datasets.profiler.configurations import Configuration
from trainlaw.datasets.profiler.micro import AchievedRates
from trainlaw.datasets.profiler.sweep import SweepProgress
from trainlaw.formulas import InputError

from ...commands import refusal

HAS_TORCH = importlib.util.find_spec("torch") is not None
ENVIRONMENT = {**os.environ, "PYTHONSAFEPATH": "1"}
COMMAND = [sys.executable, "-m", "trainlaw", "profile"]
SMALL = [*COMMAND, "--cnns", "lenet5", "--input", "32", "--classes", "10", "--threads", "1"]


def options(tmp_path, **changed):
    values = {
        "cnns": "lenet5",
        "batch": "2,4",
        "input_px": "",
        "precision": "fp32",
        "classes": None,
        "device": "cpu",
        "threads": "1,2",
        "plan": None,
        "out": tmp_path / "runs.csv",
        "limit_seconds": 1.0,
        "interval": 2.0,
        "stack": "eager",
        "forward": False,
        "micro": False,
    }
    return ProfileOptions(**(values | changed))


@pytest.fixture
def jobs(monkeypatch):
    """The jobs, replaced by what they are asked for."""
    asked = []

    def remember(name, result):
        def job(*arguments, **options):
            asked.append((name, arguments, options))
            return result

        monkeypatch.setattr(profile_jobs, name, job)

    for name in ("profile_runs", "profile_micro"):
        remember(name, 1)
    monkeypatch.setattr(profile_jobs, "device_here", lambda text: "cuda" if text == "cuda" else "cpu")
    return asked


def test_options_become_configurations_and_a_rule(jobs, tmp_path):
    assert "no run was written" in run_profile(options(tmp_path))
    jobs.clear()
    (tmp_path / "runs.csv").write_text("")
    text = run_profile(options(tmp_path, interval=5.0))
    ((name, (wanted, out, rule, _), _),) = jobs
    assert (name, len(wanted), out) == ("profile_runs", 4, tmp_path / "runs.csv")
    assert (rule.interval, rule.limit_seconds) == (0.05, 1.0)
    assert "1 configuration tried (3 measured before)" in text
    assert text.endswith(f"next: trainlaw data check {tmp_path / 'runs.csv'}")


def test_a_machine_file_and_failures_are_named(jobs, tmp_path):
    for name in ("runs.csv", "runs-machine.csv", "runs-failed.csv"):
        (tmp_path / name).write_text("")
    text = run_profile(options(tmp_path))
    assert "configurations that could not be measured, with the reason" in text
    assert f"--gpu-file {tmp_path / 'runs-machine.csv'}" in text


def test_torchrun_is_refused_as_its_processes_would_write_one_file(jobs, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    with pytest.raises(InputError, match="got torchrun"):
        run_profile(options(tmp_path))
    assert jobs == []


def test_a_plan_takes_the_place_of_lists(jobs, tmp_path):
    plan = tmp_path / "plan.csv"
    plan.write_text("cnn,batch_per_gpu,input_size_px,n_classes,threads\nvgg11,4,64,10,2\n")
    run_profile(options(tmp_path, plan=plan))
    assert jobs[0][1][0] == [Configuration("cpu", 2, "fp32", "vgg11", 64, 10, 4)]


def test_a_card_takes_no_threads(jobs, tmp_path):
    run_profile(options(tmp_path, device="cuda", input_px="64"))
    assert {(c.device, c.threads, c.input_size_px) for c in jobs[0][1][0]} == {("cuda", 0, 64)}


def test_micro_is_another_job(jobs, tmp_path):
    text = run_profile(options(tmp_path, micro=True, precision="fp32,bf16"))
    assert text == "1: achieved rates, for trainlaw study --rates"
    ((name, arguments, _),) = jobs
    assert (name, *arguments[:3]) == ("profile_micro", "cpu", (1, 2), ("fp32", "bf16"))
    with pytest.raises(InputError, match="one of --micro and --forward"):
        run_profile(options(tmp_path, micro=True, forward=True))


def test_lists_may_have_spaces():
    assert counts_of("8, 16", "--batch") == (8, 16)


def test_progress_tells_result_reason_and_time_left():
    configuration = Configuration("cpu", 1, "fp32", "lenet5", 32, 10, 2)
    done = SweepProgress(3, 8, configuration, 125.0, 0.0123, 0.012)
    expected = (
        "3/8 lenet5, batch 2, 32 px, fp32, 1 thread: 12.3 ms (95 % interval 1.2 % wide); about 2 min 5 s left"
    )
    assert progress_text(done) == expected
    failed = SweepProgress(3, 8, configuration, 12.0, reason="out of memory: 9 GB")
    assert progress_text(failed).endswith("not measured: out of memory: 9 GB")


def test_rates_are_told_with_their_units(capsys):
    print_rates("Toy", AchievedRates(2e12, 1e12, 9e11, 5e-6))
    assert capsys.readouterr().err == "Toy: products 2 TFLOP/s, copies 900 GB/s, a launch 5 µs\n"


def test_without_torch_one_line_and_exit_code_2(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.chdir(tmp_path)
    needed = "trainlaw: this needs the package torch: pip install 'trainlaw[profile]'"
    assert refusal("profile") == needed
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_says_what_is_kept(monkeypatch, tmp_path):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(profile_jobs, "run_profile", interrupted)
    result = CliRunner().invoke(app, ["profile", "--out", str(tmp_path / "runs.csv")])
    assert result.exit_code == 130
    assert result.stderr.endswith("keeps what was measured; the same command continues\n")


needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="the extra 'profile' brings torch")


def rows_of(path):
    assert path.read_bytes().endswith(b"\n")
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@needs_torch
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a signal of POSIX systems")
def test_kill_9_during_a_real_sweep_loses_one_configuration(tmp_path):
    out = tmp_path / "runs.csv"
    command = [*SMALL, "--batch", "1,2,3,4,5,6", "--limit-seconds", "0.3", "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        for _ in range(2):
            process.stderr.readline()
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    before = rows_of(out)
    assert 2 <= len(before) <= 6
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True)
    after = rows_of(out)
    assert after[: len(before)] == before
    assert sorted(int(row["batch_per_gpu"]) for row in after) == [1, 2, 3, 4, 5, 6]
    assert f"({len(before)} measured before)" in done.stdout


@needs_torch
def test_a_second_sweep_measures_nothing(tmp_path):
    command = [*SMALL, "--batch", "2", "--limit-seconds", "0.3", "--out", str(tmp_path / "runs.csv")]
    for count in (1, 0):
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True)
        assert f"{count} configuration" in done.stdout
    assert len(rows_of(tmp_path / "runs.csv")) == 1
