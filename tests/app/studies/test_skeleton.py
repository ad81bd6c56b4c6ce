"""The law of a skeleton: which rows it is fitted to and how they weigh, what it has, when it is not used."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from trainlaw.app.studies.definition import definition_of
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.kinds.kind import StudyRows
from trainlaw.app.studies.material import searched_material
from trainlaw.app.studies.skeleton import (
    RUN_SKELETON,
    RUNS_PER_CELL,
    LawFit,
    by_rules,
)
from trainlaw.datasets import RunTable, feature_specs, load
from trainlaw.datasets.features import work
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import SECOND, infer_unit, parse_text, variables

SHORT_OF_A_FEATURE = replace(RUN_SKELETON, template=parse_text("max(hole_matrix, unknown_s)"))
CNNS = ("resnet50", "vgg16", "mobilenet_v2", "alexnet_mx")


@pytest.fixture(scope="module")
def table():
    """About 300 runs in three precisions, of both vendors."""
    frame = load("default").frame
    part = frame[
        frame["gpu"].isin(["T4", "V100-SXM2-16GB", "A100-SXM4-40GB", "GTX 1080 Ti", "Radeon RX 7900 XTX"])
        & frame["cnn"].isin(CNNS)
    ]
    return RunTable("small", part)


@pytest.fixture(scope="module")
def rows(table):
    return STUDY_KINDS["runs"].rows(table)


def test_runs_fit_where_every_quantity_is_known(rows):
    assert RUN_SKELETON.fits(rows.X)
    assert not RUN_SKELETON.fits(rows.X.drop(columns="host_s"))
    holed = rows.X.copy()
    holed.loc[holed.index[3], "input_copy_s"] = np.nan
    assert not RUN_SKELETON.fits(holed)


def test_a_law_has_all_of_its_skeleton(rows):
    search = LawFit().fit(rows.X, rows.seconds, rows.groups)
    used = set(variables(search.formula_.expression))
    names = RUN_SKELETON.names
    constant = {name for name in names if np.ptp(rows.X[name].to_numpy()) == 0}
    assert {*names} - constant - {"host_s", "least_time_s"} <= used <= {*names}
    units = {spec.name: spec.unit for spec in feature_specs(names)}
    assert infer_unit(search.formula_.expression, units) == SECOND
    predicted = search.predict(rows.X)
    # The host's launches are a bound, not a term.
    assert (predicted >= rows.X["host_s"].to_numpy()).all()
    errors = np.abs(np.log(predicted / rows.seconds))
    assert np.median(errors) < 0.5


def on_cpu(rows):
    return StudyRows(rows.X, rows.seconds, rows.labels.assign(device="CPU"))


def test_a_cpu_is_searched_freely(rows):
    kind = STUDY_KINDS["runs"]
    assert isinstance(kind.search(rows, SearchSettings())(), LawFit)
    assert kind.fits(rows) and not kind.fits(on_cpu(rows)) and kind.otherwise == "free-runs"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"evaluations": 50_000, "seeds": 1, "max_constants": 24}),
        ({"evaluations": 700, "seeds": 2}, {"evaluations": 700, "seeds": 2, "max_constants": 24}),
    ],
    ids=["defaults", "asked"],
)
def test_what_was_not_asked_for_is_as_in_the_free_search(table, rows, monkeypatch, given, expected):
    asked = definition_of({"against": "null_compute", "folds": 3, **given}, "here")
    material = searched_material(table, asked)
    assert (material.kind, material.definition) == (STUDY_KINDS["runs"], asked)
    monkeypatch.setattr("trainlaw.app.studies.kinds.one_gpu.RUN_SKELETON", SHORT_OF_A_FEATURE)
    changed = searched_material(table, asked)
    assert changed.kind is STUDY_KINDS["free-runs"]
    assert len(changed.rows.X) == len(material.rows.X)
    assert asdict(changed.definition) == {**asdict(asked), "of": "free-runs", **expected}


def test_a_new_amount_is_one_row_of_the_table(monkeypatch):
    """The recipe of docs/architecture.md: no other place knows the amounts."""
    (sample, *_) = (row for row in read_data_rows("work.csv") if row["resource"] == "lanes")
    added = {**sample, "name": "pool_simt_s", "symbol": "z_p", "amount": "batch_per_gpu * pool_elements"}
    files = {"work.csv": [*read_data_rows("work.csv"), added]}
    monkeypatch.setattr(work, "read_data_rows", lambda name: files.get(name) or read_data_rows(name))
    table = tuple(work._works())
    monkeypatch.setattr("trainlaw.app.studies.skeleton.works", lambda: table)
    lanes = by_rules("lanes")
    assert lanes.terms[-1] == ("pool_simt_s", 10.0)
    assert table[-1].feature.definition == "6 * batch_per_gpu * pool_elements / comparable_fp32_flop_per_s"


def test_few_runs_of_an_architecture_on_a_gpu_are_fitted_and_weigh_less(rows):
    groups, bases = rows.groups, rows.labels["cnn_base"].to_numpy(dtype=str)
    cells = np.char.add(groups, bases)
    drawn = LawFit().training(rows.X.assign(cell=cells), rows.seconds, groups, rows.labels[["cnn_base"]])
    names, counts = np.unique(drawn.X["cell"].to_numpy(dtype=str), return_counts=True)
    assert counts.max() == RUNS_PER_CELL and counts.min() < RUNS_PER_CELL
    assert len(names) == len(np.unique(cells))
    assert drawn.weights is not None and len(drawn.weights) == len(drawn.y) == len(drawn.groups)
