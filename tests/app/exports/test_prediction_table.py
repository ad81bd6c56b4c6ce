"""The forms for spreadsheets beside .xlsx: each by its suffix; the table holds what Python says."""

import csv
import io
import math
import random
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from trainlaw.app.answers.figure_rows import needed_memory
from trainlaw.app.cli import app
from trainlaw.app.exports import prediction_table
from trainlaw.app.exports.prediction_table import prediction_csv
from trainlaw.app.models import lookup_tables
from trainlaw.app.models.builtin import BUILT_IN, BUILT_IN_FORMULAS
from trainlaw.app.models.multi_gpu import exchange_seconds
from trainlaw.app.models.scopes import handling
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.workbook.compare import COLUMN, ROW, SHARED, factorized
from trainlaw.app.workbook.model import memory_columns, values_of
from trainlaw.datasets import TARGET, configuration, feature_specs, find_cnn, find_cnn_counts
from trainlaw.datasets.cnns import training_memory
from trainlaw.datasets.measurements.memory_fit import memory_needs
from trainlaw.formulas import Formula, UnknownNameError, evaluate, load_formula, parse_text, substitute


def export(formula_file, path, *options):
    return CliRunner().invoke(app, ["export", str(formula_file), "--to", str(path), *options])


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.slow
def test_the_table_of_predictions_is_what_predict_says(formula):
    rows = rows_of(prediction_csv(formula))
    assert len(rows) > 20_000
    about = "\n".join(row["about"] for row in rows[:100])
    for part in ("im2col_compute_s [s]", "in training", "15.2 %", "seed", "printed by trainlaw"):
        assert part in about
    for row in random.Random(4).sample(rows, 60):
        run = configuration(
            cnn=row["cnn"], gpu=row["gpu"], precision=row["precision"],
            batch_per_gpu=int(row["batch_per_gpu"]), input_size_px=int(row["input_size_px"]),
            n_classes=int(row["n_classes"]),
        )  # fmt: skip
        expected = predict_runs(formula, run)[0]
        if math.isnan(expected.time_s):
            assert row["time_s"] == ""
            continue
        assert float(row["time_s"]) == pytest.approx(expected.time_s, rel=1e-12)
        assert (float(row["interval_to_s"]) if row["interval_to_s"] else None) == expected.high_s
        assert (row["quantities_outside_training"] != "0") == any(
            "outside" in text for text in expected.warnings
        )
        assert row["fits_in_memory"] == expected.fits_in_memory


def test_a_cnn_of_which_only_sums_are_known_has_no_times(monkeypatch):
    sizes = {"input_size_px": 28, "n_classes": 10}
    rows = {name: {"cnn": name, **sizes} for name in ("lenet5", "no such network")}
    monkeypatch.setattr(prediction_table, "cnn_rows", lambda: rows)
    law = BUILT_IN_FORMULAS["layer"]()
    known, unknown = (row for row in rows_of(prediction_csv(law)) if row["gpu"] == "K80")
    (alone,) = predict_runs(law, configuration(cnn="lenet5", gpu="K80", batch_per_gpu=64, **sizes))
    assert float(known["time_s"]) == alone.time_s and unknown["time_s"] == ""


def test_open_document_is_one_line_that_says_what_to_do(formula_file, tmp_path):
    done = export(formula_file, tmp_path / "plan.ods")
    assert done.exit_code == 2 and not (tmp_path / "plan.ods").exists()
    assert "export to .xlsx, open it in LibreOffice and save it as .ods" in done.output


SIDES = {"macs": ROW, "layers": ROW, "peak": COLUMN, "rate": COLUMN, "batch": SHARED}


@pytest.mark.parametrize(
    "text",
    [
        "6 * batch * macs / peak + max(layers * 1e-5, macs / rate) * (1 + 1 / rate) - -layers",
        "(macs / rate) ^ 0.5 / (layers + batch) + 3",
        "batch / 2",
        "exp(-macs) * (peak - rate) / (macs + peak)",
    ],
)
def test_an_expression_factorized_has_the_same_value(text):
    values = {
        "macs": [0.3, 4.0],
        "layers": [7.0, 2.0],
        "peak": [2.0, 9.0],
        "rate": [5.0, 0.5],
        "batch": [8.0, 3.0],
    }
    whole = parse_text(text)
    found = factorized(whole, SIDES.__getitem__)
    parts = {f"row_{n}": part for n, part in enumerate(found.rows, start=1)}
    parts |= {f"column_{n}": part for n, part in enumerate(found.columns, start=1)}
    expected, again = evaluate(whole, values)[0], evaluate(substitute(found.cell, parts), values)[0]
    assert again.tolist() == pytest.approx(expected.tolist(), rel=1e-12)


def test_several_gpus_add_the_exchange_of_the_textbook(formula):
    run = configuration(cnn="resnet50", gpu="T4", batch_per_gpu=8, n_gpus=4, n_nodes=2)
    one = configuration(cnn="resnet50", gpu="T4", batch_per_gpu=8)
    exchange = run.matrix(["communication_s"])[0, 0]
    assert exchange > 0 and exchange_seconds(formula, one).tolist() == [0.0]
    assert exchange_seconds(formula, run)[0] == pytest.approx(exchange)
    law = Formula(parse_text("tree_s"), feature_specs(["tree_s"]), TARGET, scope="multi_gpu_run")
    assert handling(law).covers_multi_gpu and exchange_seconds(law, run).tolist() == [0.0]


@pytest.mark.slow
def test_the_memory_of_workbook_and_page_is_that_of_the_commands():
    choose = random.Random(7)
    nets, cards = list(lookup_tables.cnn_rows().values()), list(lookup_tables.gpu_rows())
    for _ in range(50):
        row, precision = choose.choice(nets), choose.choice(["fp32", "tf32", "amp", "fp16", "bf16"])
        run = configuration(
            cnn=row["cnn"], input_size_px=row["input_size_px"], n_classes=row["n_classes"],
            gpu=choose.choice(cards), batch_per_gpu=choose.randint(1, 600), precision=precision,
        )  # fmt: skip
        need = memory_needs(run).iloc[0]
        graph = find_cnn(row["cnn"], row["input_size_px"], row["n_classes"])
        batch = int(run.frame["batch_per_gpu"][0])
        assert need["usual_bytes"] == training_memory(graph, batch, precision).total
        facts = {**row, **lookup_tables.precision_rows()[precision], "batch_per_gpu": batch}
        columns = {name: np.array([value]) for name, value in facts.items() if isinstance(value, int | float)}
        found = [float(values_of(form, columns)[0]) for form in needed_memory(load_formula(BUILT_IN))]
        assert found == [need["least_bytes"], need["usual_bytes"]], run.frame


def test_memory_without_layers_is_rough_and_says_so():
    known = find_cnn_counts("vgg16")
    assert memory_columns(configuration(cnn=known, gpu="T4", batch_per_gpu=1))["kept_bytes"] > 0
    bare = replace(known, cnn="mine", memory=None)
    run = configuration(cnn=bare, gpu="T4", batch_per_gpu=512)
    (told,) = predict_runs(load_formula(BUILT_IN), run)
    assert any(text.endswith("GB (rough: no layers are known)") for text in told.warnings)
    assert 0.3 < memory_needs(run)["least_bytes"][0] / 38.6e9 < 3.0


def test_a_formula_that_needs_other_facts_is_refused(formula):
    with pytest.raises(UnknownNameError, match="unknown feature of layers"):
        prediction_csv(replace(formula, scope="layer"))
