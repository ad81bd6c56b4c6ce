"""Laws of several GPUs: the kinds of study that find them, the built-in one, and what uses it."""

from pathlib import Path

import numpy as np
import pytest
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.models.builtin import BUILT_IN, formula_named
from trainlaw.app.models.multi_gpu import (
    covers_algorithm,
    exchange_seconds,
    formula_of_choices,
    scaled_runs,
    scaled_seconds,
    with_single_gpu_formula,
)
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.models.user_formula import find_formulas
from trainlaw.app.page.html import page_html
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.predictions.scaling import scaling_curve
from trainlaw.app.report.html import report_html
from trainlaw.app.studies.definition import definition_of
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.kinds.multi_gpu import TwoStageFit
from trainlaw.app.studies.study import study_table
from trainlaw.datasets import FEATURES, configuration, find_cnn_counts, find_gpu, load
from trainlaw.datasets.features.amounts import wide_amounts
from trainlaw.datasets.features.run_features import SCALING_FEATURES, SINGLE_GPU_TIME
from trainlaw.datasets.hardware.collectives import ALGORITHMS
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import SECOND, InputError, infer_unit, load_formula
from trainlaw.validate import leave_one_group_out
from trainlaw.validate.baselines import CONTROLS
from trainlaw.validate.result import OURS
from trainlaw.validate.splits import evaluated_splits

from ...commands import invoke

RUN = {"cnn": "vgg16", "gpu": "V100-SXM2-16GB", "batch_per_gpu": 64}
MEASURED_ALGORITHMS = ("data_parallel", "mpi", "parameter_server", "ring")


def iteration_seconds(formula, runs, law=None):
    """Time on one GPU and the exchange of several, shape (n_runs,)."""
    single = formula_rows(formula, runs).predict(formula)
    return single + exchange_seconds(formula, runs, law, single)


@pytest.fixture(scope="module")
def law():
    return formula_named("multi")


@pytest.fixture(scope="module")
def outcome(quick_studies):
    kind = STUDY_KINDS["multi"]
    few = kind.read("multi", None, ()).where(source=["azure-batchai-horovod", "nvidia-deeplearningexamples"])
    wanted = definition_of(
        {"of": "multi", "evaluations": 300, "against": "perfect_scaling, ring_scaling, mg13"}, "test"
    )
    return study_table(few, wanted, 1)


def test_each_kind_has_a_name_and_a_table_and_known_baselines():
    help_text = " ".join(invoke("study --help").output.split()).replace("- ", "-")
    for name, kind in STUDY_KINDS.items():
        assert name == kind.name and kind.title
        assert name in help_text
        definition = definition_of({"of": name}, "test")
        assert set(definition.against) <= set(kind.baselines)
        assert definition.split in kind.splits
        assert set(kind.platform_baselines) <= set(kind.baselines)


def test_the_study_is_of_runs_with_a_time_on_one_gpu(outcome):
    assert outcome.definition.table == "atlas-multi" and outcome.definition.split == "gpu"
    assert (outcome.result.predictions["nodes"].nunique(), outcome.definition.of) == (2, "multi")
    assert set(outcome.formula.provenance["algorithms"]) == {"mpi", "ring"}
    # The law, whichever formula few runs deliver.
    formula = outcome.few.rows[-1].formula
    names = {spec.name for spec in formula.used_features}
    # Every way to reduce gradients has its required terms, also where no run uses it.
    assert {SINGLE_GPU_TIME, "bucket_network_s", "tensor_launch_s", "replica_host_s"} <= names
    assert {"server_network_s", "server_node_s"} <= names
    units = {spec.name: spec.unit for spec in formula.features}
    assert infer_unit(formula.expression, units) in (None, SECOND)
    # The whole time on one GPU, once: several are never faster.
    columns = {name: np.zeros(1) for name in names} | {SINGLE_GPU_TIME: np.ones(1)}
    assert formula.predict(columns)[0] >= 1.0


def test_its_errors_are_told_by_algorithm_and_nodes(outcome):
    html = report_html(outcome)
    for text in ("per algorithm", "per nodes", "several nodes", "null: perfect scaling", "ring all-reduce"):
        assert text in html, text
    held_out = outcome.result.summary().set_index("estimator")["mape_percent"]
    assert held_out["trainlaw"] < held_out["perfect_scaling"]


@pytest.mark.usefixtures("few_networks")
def test_workbook_page_and_code_of_a_law_of_several(law, tmp_path):
    export_formula(law, tmp_path / "law.xlsx")
    export_formula(law, tmp_path / "law.py")
    assert SINGLE_GPU_TIME in (tmp_path / "law.py").read_text()
    # In the page the built-in formula gives the time on one GPU, so the formula's error is not its own.
    page = page_html(law)
    assert f'"name":"{SINGLE_GPU_TIME}"' not in page
    assert page == page_html(formula_of_choices(law, "page"))
    assert "10.3 %" not in page


def test_the_built_in_law_was_found_and_evaluated(law):
    assert set(law.provenance["algorithms"]) == set(MEASURED_ALGORITHMS)
    summary = law.errors["summary"]
    macro = {name: figures["macro_gpu_group_mape_percent"] for name, figures in summary.items()}
    # Further seeds, as "trainlaw seed 1", are no rivals.
    rivals = [value for name, value in macro.items() if name.split()[0] != OURS and name not in CONTROLS]
    assert macro["trainlaw"] < 11.5 < min(rivals)
    assert law.provenance["table"] == "atlas-multi" and law.provenance["split"] == "gpu"


@pytest.mark.parametrize("algorithm", ALGORITHMS[1:])
def test_the_law_speaks_for_what_it_was_trained_on_and_the_textbook_for_the_rest(law, algorithm):
    formula = load_formula(BUILT_IN)
    run = configuration(**RUN, n_gpus=8, n_nodes=2, algorithm=algorithm)
    assert covers_algorithm(law, algorithm) == (algorithm in MEASURED_ALGORITHMS)
    single = formula_rows(formula, run).predict(formula)
    time = iteration_seconds(formula, run, law=law)
    if covers_algorithm(law, algorithm):
        assert time == pytest.approx(scaled_seconds(law, run, single), rel=1e-12)
    else:
        assert time == iteration_seconds(formula, run)
    (prediction,) = predict_runs(formula, run, law)
    assert prediction.time_s == time[0]
    assert ("textbook" in " ".join(prediction.warnings)) == (not covers_algorithm(law, algorithm))


def test_one_gpu_needs_no_law(law):
    formula, one = load_formula(BUILT_IN), configuration(**RUN)
    assert not scaled_runs(law, one).any()
    single = formula_rows(formula, one).predict(formula)
    assert exchange_seconds(formula, one, law, single).tolist() == [0.0]
    assert iteration_seconds(formula, one, law=law) == formula_rows(formula, one).predict(formula)


def test_the_law_with_a_formula_of_one_gpu_is_one_formula(law):
    formula, run = load_formula(BUILT_IN), configuration(**RUN, n_gpus=8)
    whole = with_single_gpu_formula(law, formula)
    assert SINGLE_GPU_TIME not in {spec.name for spec in whole.features}
    assert formula_rows(whole, run).predict(whole) == pytest.approx(
        iteration_seconds(formula, run, law=law), rel=1e-12
    )
    assert with_single_gpu_formula(formula, formula) is formula


def test_scaling_by_the_law_has_parts_that_add_up(law):
    formula = load_formula(BUILT_IN)
    cnn, gpu = find_cnn_counts("resnet50"), find_gpu("V100-SXM2-16GB")
    points = scaling_curve(
        formula, cnn, gpu, 64, most=32, scaling=law, setup=Setup(link="nvlink2", fabric="ib-edr")
    )
    assert points[0].speed_up == 1 and points[0].transfer_s == points[0].latency_s == 0
    for point in points[1:]:
        assert point.computing_s == pytest.approx(points[0].time_s, rel=1e-12)
        assert point.computing_s + point.transfer_s + point.latency_s == pytest.approx(
            point.time_s, rel=1e-12
        )
        assert point.transfer_s > 0 and point.latency_s > 0 and point.efficiency < 1
        run = configuration(
            cnn=cnn,
            gpu=gpu,
            batch_per_gpu=64,
            n_gpus=point.n_gpus,
            n_nodes=point.n_nodes,
            link="nvlink2",
            network="ib-edr",
        )
        assert predict_runs(formula, run, law)[0].time_s == point.time_s
    with pytest.raises(InputError, match="hidden"):
        scaling_curve(formula, cnn, gpu, 64, scaling=law, hidden_share=0.5)


def test_what_a_person_asks_for(law, tmp_path):
    assert find_formulas(None, "textbook", tmp_path).scaling is None
    assert find_formulas(None, "", tmp_path).scaling == law
    # A formula of several GPUs that is given as the formula is used as the formula.
    found = find_formulas(Path("multi"), "", tmp_path)
    assert (found.scaling, found.formula) == (law, load_formula(BUILT_IN))
    with pytest.raises(InputError, match="several GPUs"):
        find_formulas(None, "built-in", tmp_path)
    with pytest.raises(InputError, match="--scaling-formula"):
        predict_runs(law, configuration(**RUN, n_gpus=2))


def test_runs_without_a_time_on_one_gpu_are_refused(tmp_path):
    load("fp32-2026").where(source="zeus").frame.to_csv(tmp_path / "one.csv", index=False)
    for name in ("multi", "multi-end-to-end"):
        with pytest.raises(InputError, match="expected runs on"):
            STUDY_KINDS[name].read(str(tmp_path / "one.csv"), None, ())


def test_end_to_end_knows_no_measured_time():
    kind = STUDY_KINDS["multi-end-to-end"]
    table = kind.read("multi", None, ())
    some = table.frame["gpu"].isin(["P40", "V100-PCIE-16GB", "P100-PCIE-16GB", "T4"]).to_numpy()
    rows = kind.rows(table.where(some))
    search = TwoStageFit(SearchSettings()).fit(rows.X, rows.seconds, rows.groups)
    names = {spec.name for spec in search.formula_.used_features}
    assert names and SINGLE_GPU_TIME not in names
    assert np.isfinite(search.predict(rows.X)).all()
    without = rows.X.assign(**{SINGLE_GPU_TIME: np.nan})
    np.testing.assert_array_equal(search.predict(without), search.predict(rows.X))


def test_only_evaluated_rows_are_tested():
    kind = STUDY_KINDS["multi-end-to-end"]
    rows = kind.rows(kind.read("multi", None, ()))
    splits = evaluated_splits(leave_one_group_out(rows.labels["gpu_group"]), rows.labels, rows.evaluated)
    assert len(splits) == 12
    assert sum(len(split.test) for split in splits) == rows.evaluated.sum() == 1163
    for split in splits:
        assert not set(rows.groups[split.train]) & set(split.held_out)


def test_features_of_scaling_serve_all_ways_of_exchanging():
    times = [row.spec.name for row in SCALING_FEATURES if row.spec.unit == SECOND]
    times.remove(SINGLE_GPU_TIME)
    assert not configuration(**RUN).matrix(times).any()
    ways = {"bucket": {}, "tensor": {"bucketed": False}}
    ways |= {"server": {"algorithm": "parameter_server"}, "replica": {"algorithm": "data_parallel"}}
    for way, setup in ways.items():
        run = configuration(**RUN, n_gpus=8, n_nodes=2, link="nvlink2", network="ib-edr", **setup)
        values = dict(zip(times, run.matrix(times)[0], strict=True))
        # Servers also fetch tensor by tensor; V100s access each other's memory.
        used = {name for name, value in values.items() if value} - {"tensor_launch_s"}
        own = {name for name in times if name.startswith(way)} - {f"{way}_staged_s", "tensor_launch_s"}
        assert used == own, way
    eight = configuration(**RUN, n_gpus=8, n_nodes=2, link="nvlink2", network="ib-edr")
    assert eight.matrix(["bucket_node_s"]) == pytest.approx(eight.matrix(["node_ring_s"]), rel=1e-12)
    # In mixed precision parameters and gradients stay in fp32; TensorFlow sends single tensors in 16 bits.
    for bucketed, ratio in ((True, 1.0), (False, 0.5)):
        setup = {"n_gpus": 8, "n_nodes": 2, "network": "ib-edr", "bucketed": bucketed}
        both = [configuration(**RUN, **setup, precision=name) for name in ("amp", "fp32")]
        amp, fp32 = (run.matrix(["exchange_bytes", "network_bytes"]) for run in both)
        assert amp == pytest.approx(ratio * fp32)
    # Nor are amounts that only the study of formulas of few constants is offered.
    offered = set(load("fp32-2026").features())
    others = set(FEATURES) - offered - {row.spec.name for row in SCALING_FEATURES}
    assert not offered & {row.spec.name for row in SCALING_FEATURES}
    assert others == {amount.name for amount in wide_amounts()} - offered


def test_nodes_may_have_different_numbers_of_gpus(law):
    formula = load_formula(BUILT_IN)

    def seconds(**spread):
        return float(iteration_seconds(formula, configuration(**RUN, bucketed=False, **spread), law=law)[0])

    uneven = configuration(**RUN, allocation="4,2,1")
    assert uneven.matrix(["n_gpus", "n_nodes", "gpus_per_node"])[0].tolist() == [7, 3, 4]
    # The largest node decides, and all nodes wait for it.
    assert seconds(allocation="4,2,1") == pytest.approx(seconds(n_gpus=12, n_nodes=3), rel=1e-12)
    assert seconds(allocation="4+4") == seconds(n_gpus=8, n_nodes=2)
    assert seconds(allocation="3,1") > seconds(n_gpus=4, n_nodes=2)
    for wrong in ({"allocation": "4,x"}, {"allocation": "4,0"}, {"allocation": "4,2,1", "n_gpus": 8}):
        with pytest.raises(InputError, match="allocation"):
            configuration(**RUN, **wrong)
    with pytest.raises(InputError, match="allocation such as 4,2,1"):
        configuration(**RUN, n_gpus=7, n_nodes=3)


def test_parameter_servers_across_nodes_cost_time(law):
    formula = load_formula(BUILT_IN)
    spread = {"algorithm": "parameter_server", "n_gpus": 8}

    def added(**setup):
        run = configuration(**RUN, **spread, **setup)
        single = formula_rows(formula, run).predict(formula)
        return float(exchange_seconds(formula, run, law, single)[0])

    assert added(n_nodes=8, network="ethernet-10g") > 1.5 * added(n_nodes=8, network="ethernet-100g") > 0
    assert added(n_nodes=8, network="ethernet-10g") > added(n_nodes=2, network="ethernet-10g") > 0


def test_a_measured_time_on_one_gpu_takes_the_place_of_the_formula(law):
    formula, run = load_formula(BUILT_IN), configuration(**RUN, n_gpus=8)
    (prediction,) = predict_runs(formula, run, law, measured_s=0.142)
    assert prediction.time_s == scaled_seconds(law, run, np.array([0.142]))[0] > 0.142
    assert prediction.high_s / prediction.time_s == pytest.approx(law.errors["interval"]["factor"])
    assert not prediction.warnings
    (strange,) = predict_runs(formula, run, law, measured_s=1e4)
    assert "times that of the built-in formula" in strange.warnings[0]
    assert "work per iteration than in any training run" in strange.warnings[1]
    for others in ((None, run), (law, configuration(**RUN, n_gpus=8, algorithm="tree"))):
        with pytest.raises(InputError, match="a scaling formula"):
            predict_runs(formula, others[1], others[0], measured_s=0.142)
