"""Memory and exchange of gradients in the outputs that compute them by themselves."""

import random

import numpy as np
import pytest
from trainlaw.app.answers.figure_rows import needed_memory
from trainlaw.app.models import lookup_tables
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.multi_gpu import exchange_seconds
from trainlaw.app.models.scopes import handling
from trainlaw.app.models.terms import values_of
from trainlaw.datasets import TARGET, configuration, feature_specs
from trainlaw.datasets.cnns.memory import training_memory
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.measurements.memory_fit import memory_needs
from trainlaw.formulas import Formula, load_formula, parse_text


def test_several_gpus_add_the_exchange_of_the_textbook(formula):
    run = configuration(cnn="resnet50", gpu="T4", batch_per_gpu=8, n_gpus=4, n_nodes=2)
    one = configuration(cnn="resnet50", gpu="T4", batch_per_gpu=8)
    exchange = run.matrix(["communication_s"])[0, 0]
    single = np.array([1.0])
    assert exchange > 0 and exchange_seconds(formula, one, None, single).tolist() == [0.0]
    assert exchange_seconds(formula, run, None, single)[0] == pytest.approx(exchange)
    law = Formula(parse_text("tree_s"), feature_specs(["tree_s"]), TARGET, scope="multi_gpu_run")
    assert handling(law).covers_multi_gpu and exchange_seconds(law, run, None, single).tolist() == [0.0]


def test_the_memory_of_workbook_and_page_is_that_of_the_commands():
    choose = random.Random(7)
    nets, cards = list(lookup_tables.cnn_rows().values()), list(lookup_tables.gpu_rows())
    for _ in range(50):
        row, precision = choose.choice(nets), choose.choice(["fp32", "tf32", "amp", "fp16", "bf16"])
        run = configuration(
            cnn=row["cnn"],
            input_size_px=row["input_size_px"],
            n_classes=row["n_classes"],
            gpu=choose.choice(cards),
            batch_per_gpu=choose.randint(1, 600),
            precision=precision,
        )
        need = memory_needs(run).iloc[0]
        graph = build(row["cnn"], row["input_size_px"], row["n_classes"])
        batch = int(run.frame["batch_per_gpu"][0])
        assert need["usual_bytes"] == training_memory(graph, batch, precision).total
        facts = {**row, **lookup_tables.precision_rows()[precision], "batch_per_gpu": batch}
        columns = {name: np.array([value]) for name, value in facts.items() if isinstance(value, int | float)}
        found = [float(values_of(form, columns)[0]) for form in needed_memory(load_formula(BUILT_IN))]
        assert found == [need["least_bytes"], need["usual_bytes"]], run.frame
