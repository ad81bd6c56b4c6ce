"""Studies on a dask cluster: the same results as in this process, tables sent once, faults in one line."""

from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace

import distributed
import numpy as np
import pandas as pd
import pytest
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.user_formula import read_formula
from trainlaw.app.studies import clusters
from trainlaw.app.studies.clusters import ClusterExecutor
from trainlaw.app.studies.study import score_formula
from trainlaw.datasets import load
from trainlaw.formulas import TrainlawError
from trainlaw.validate import leave_one_group_out, run_study
from trainlaw.validate.baselines.null_models import ScaledForm
from trainlaw.validate.platforms import cross_platform
from trainlaw.validate.workers import given_up

from ...commands import refusal


@pytest.fixture(scope="module")
def client():
    """A cluster of two threads in this process, which starts in a fraction of a second."""
    local = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster) as one:
        yield one


@pytest.fixture
def thread_place(client, monkeypatch):
    """Let every cluster be the one of this process; the addresses that were asked for."""
    asked = []

    @contextmanager
    def started(cluster):
        asked.append(cluster)
        yield client

    monkeypatch.setattr(clusters, "_client", started)
    return asked


def test_a_study_on_a_cluster_is_the_study_here(client):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"compute_s": random.uniform(1, 9, 24)})
    labels = pd.DataFrame({"gpu_group": [f"gpu{row % 4}" for row in range(24)], "cnn": "one"})
    seconds = 2.0 * X["compute_s"].to_numpy() * random.lognormal(0.0, 0.1, 24)
    splits = leave_one_group_out(labels["gpu_group"])
    estimators = {"scaled": _scaled}
    here = run_study(X, seconds, labels, splits, estimators)
    there = run_study(X, seconds, labels, splits, estimators, workers=9, executor=ClusterExecutor(client))
    assert there.predictions.equals(here.predictions)


def _scaled():
    return ScaledForm("compute_s")


def test_a_table_is_sent_once_and_arrives_unchanged(client):
    executor, table = ClusterExecutor(client), pd.DataFrame({"a": [1.0, 2.0]})
    before = len(client.futures)
    sums = [executor.submit(_sum_of, table, factor) for factor in (1.0, 2.0, 3.0)]
    assert [future.result(300) for future in sums] == [3.0, 6.0, 9.0]
    assert len(executor._sent) == 1
    assert len(client.futures) <= before + 4
    executor.shutdown()
    assert not executor._sent


def _sum_of(table, factor):
    return factor * float(table["a"].sum())


def test_a_formula_is_validated_on_a_cluster_as_here(thread_place):
    table = load("fp32-2026").where(source="mxnet-docs")
    definition = StudyDefinition(table="fp32-2026", folds=2, against=("null_compute",))
    formula = read_formula("6 * macs * batch / peak / 0.4", "run")
    here, there = (
        score_formula(formula, table, definition, refit=True, cluster=cluster) for cluster in ("", "local:2")
    )
    assert thread_place == ["local:2"]
    assert there.result.predictions.equals(here.result.predictions)
    assert there.formula.to_json() == here.formula.to_json()


def test_errors_from_platform_to_platform_are_the_same_on_a_cluster(client):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"compute_s": random.uniform(1, 9, 24)})
    labels = pd.DataFrame({"gpu_group": [f"gpu{row % 4}" for row in range(24)], "cnn": "one"})
    seconds = 2.0 * X["compute_s"].to_numpy() * random.lognormal(0.0, 0.1, 24)
    platforms = np.repeat(["a", "b"], 12)
    arguments = (X, seconds, labels, platforms, {"scaled": _scaled})
    here = cross_platform(*arguments, least_runs=5)
    there = cross_platform(*arguments, least_runs=5, workers=9, executor=ClusterExecutor(client))
    assert there.equals(here)


def test_errors_of_a_task_reach_who_waits(client):
    with pytest.raises(ZeroDivisionError):
        ClusterExecutor(client).submit(divmod, 1, 0).result(300)


def test_a_cancelled_task_is_given_up(client):
    executor = ClusterExecutor(client)
    gate = distributed.Event("gate", client=client)
    stopped = distributed.Event("stopped", client=client)
    running = executor.submit(_until_given_up, gate, stopped)
    assert gate.wait(300)
    running.cancel()
    assert stopped.wait(300)


def _until_given_up(gate, stopped):
    gate.set()
    while not given_up():
        gate.wait(0.02)
    stopped.set()


def test_outside_a_cluster_nothing_is_given_up():
    assert not given_up()


def test_a_task_that_kills_its_workers_is_named():
    def result():
        raise distributed.scheduler.KilledWorker("fold 3", None, 10)

    ours = Future()
    clusters._pass_on(SimpleNamespace(result=result), ours)
    with pytest.raises(TrainlawError, match=r"ended its worker again and again.*fold 3"):
        ours.result()


def test_a_shared_table_that_dask_gives_up_is_sent_again(client):
    """Deaths of workers count against a table over the whole study; no task is at fault."""
    sent, table = [], pd.DataFrame({"a": [1.0, 2.0]})

    def submit(function, *arguments, **named):
        if function is clusters.itself:
            sent.append(client.submit(function, *arguments, **named))
            return sent[-1]
        if len(sent) < 3:
            return client.submit(_killed, sent[-1].key, pure=False)
        return client.submit(function, *arguments, **named)

    executor = ClusterExecutor(SimpleNamespace(submit=submit))
    sums = [executor.submit(_sum_of, table, factor) for factor in (1.0, 2.0)]
    assert [future.result(300) for future in sums] == [3.0, 6.0]
    assert len(sent) == 3


def _killed(key):
    raise distributed.scheduler.KilledWorker(key, SimpleNamespace(address="tls://one"), 10)


def test_a_worker_of_another_version_is_refused(monkeypatch):
    here = clusters.own_versions()
    assert clusters.with_versions(here, divmod, 3, 2) == (1, 1)
    for name in here:
        monkeypatch.setattr(clusters, "own_versions", lambda other=name: here | {other: "0.0.9"})
        with pytest.raises(TrainlawError, match=rf"has {name} 0\.0\.9, here it is {here[name]}"):
            clusters.with_versions(here, divmod, 3, 2)


def test_a_cluster_without_workers_and_a_lost_scheduler_are_one_line(monkeypatch):
    monkeypatch.setattr(clusters, "_SECONDS_TO_FIRST_WORKER", 0.2)
    local = {"n_workers": 0, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**local) as empty, distributed.Client(empty) as one:
        with pytest.raises(TrainlawError, match="no worker after"):
            clusters.check_workers(one)
    lost = type("FutureCancelledError", (Exception,), {})("scheduler-connection-lost")
    assert "--resume continues" in str(clusters._named(lost))


def test_local_workers_ask_for_a_certificate(monkeypatch):
    monkeypatch.setattr(clusters, "_SECONDS_TO_FIRST_WORKER", 600.0)
    with clusters.task_place("local:1") as place:
        client = place["executor"]._client
        address = client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        assert place["executor"].submit(divmod, 7, 2).result(300) == (3, 1)
        plain = address.replace("tls://", "tcp://")
        with pytest.raises((OSError, TimeoutError)):
            distributed.Client(plain, timeout=2, set_as_default=False)


@pytest.mark.parametrize(
    ("cluster", "fault"),
    [
        ("node1", "expected tcp://HOST:PORT of a dask scheduler"),
        ("slurm.toml", "expected tcp://HOST:PORT of a dask scheduler"),
        ("local:0", "expected local:N"),
        ("tcp://127.0.0.1:1", "expected a dask scheduler that answers"),
        ("tls://127.0.0.1:1", "expected a dask scheduler that answers"),
        ("ucx://127.0.0.1:1", "expected a dask scheduler that answers"),
    ],
)
def test_a_cluster_that_is_none_is_one_line(cluster, fault, monkeypatch, small_table, in_empty_folder):
    monkeypatch.setattr(clusters, "_SECONDS_TO_CONNECT", 0.5)
    assert fault in refusal("study", small_table, "--cluster", cluster)
    assert not (in_empty_folder / "trainlaw-run").exists()
