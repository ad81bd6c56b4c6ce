import json
import re
import typing
from dataclasses import fields
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from trainlaw.app.studies.skeleton import RUN_SKELETON
from trainlaw.datasets import (
    DATASETS,
    FEATURES,
    LayerTable,
    PairTable,
    RunTable,
    built_in_gpus,
    load,
)
from trainlaw.datasets.cnns.catalog import find_cnn_counts
from trainlaw.datasets.files.checks import typed_frame, value_faults
from trainlaw.datasets.files.columns import shipped_schema
from trainlaw.datasets.hardware.collectives import ALGORITHMS
from trainlaw.datasets.hardware.gpus import GPU_COLUMNS, Gpu
from trainlaw.datasets.hardware.links import links
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.measurements.importing import runs_from_frame
from trainlaw.datasets.measurements.layers import LAYER_COLUMNS
from trainlaw.datasets.measurements.runs import RUN_COLUMNS
from trainlaw.formulas.errors import UnknownNameError

RUN_SETS = [name for name, dataset in DATASETS.items() if dataset.kind == "runs"]
LAYER_SETS = [name for name, dataset in DATASETS.items() if dataset.kind == "layers"]
NOTICE = Path(__file__).parents[3] / "NOTICE"


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("default", 6860),
        ("single-fp32", 1770),
        ("precisions", 1986),
        ("multi", 1218),
        ("fp32-2026", 1730),
        ("precisions-2026", 1986),
        ("forward", 10_778),
        ("compiled", 50),
        ("h100", 210),
        ("h100-forward", 175),
        ("profet-pairs", 3684),
        ("cde-layers", 60_000),
        ("neusight-layers", 32_916),
    ],
)
def test_sets_have_their_rows(name, rows):
    assert len(load(name)) == rows


def test_atlas_is_as_large_as_its_documentation_says():
    single, several = load("atlas-all").frame, load("atlas-multi-all").frame
    assert len(single) >= 6_200
    assert len(several) >= 1_850
    assert single["gpu"].nunique() >= 44
    assert load("atlas").labels()["gpu_group"].nunique() >= 29
    assert set(single["layout"]) == {"nchw", "channels_last", "unknown"}
    assert {"fp32", "tf32", "amp", "fp16"} <= set(single["precision"])


@pytest.mark.parametrize("name", ["atlas", "atlas-multi"])
def test_pooled_runs_have_every_specification_that_a_study_needs(name):
    features = load(name).features(RUN_SKELETON.names)
    assert features.notna().all().all()


@pytest.mark.parametrize("name", ["atlas", "atlas-multi"])
def test_pooled_runs_have_every_feature_of_a_row_but_what_was_not_measured(name):
    table = load(name)
    features = table.features(tuple(FEATURES))
    missing = {feature for feature in features if features[feature].isna().any()}
    # A time on one GPU is not always measured, and integrated GPUs have no memory of their own.
    assert missing <= {"single_gpu_time_s", "memory_bytes"}
    without = table.frame["gpu"][features["memory_bytes"].isna().to_numpy()]
    assert set(without) <= {"Radeon 680M", "Radeon 780M"}


@pytest.mark.parametrize("name", ["atlas-all", "atlas-multi-all"])
def test_runs_outside_the_pool_say_why(name):
    frame = load(name).frame
    assert ((frame["pool"] == 1) == (frame["pool_reason"] == "none")).all()


def test_published_tables_keep_their_identity():
    assert load("fp32-2026") == load("fp32-2026")
    assert load("fp32-2026").sha256.startswith("5598496153bce943")
    assert set(load("fp32-2026").frame["precision_stated"]) == {"fp32"}
    assert load("precisions-2026") == load("precisions")


def test_the_default_is_the_atlas():
    default, atlas = load(), load("atlas")
    assert default.frame.equals(atlas.frame)
    assert set(default.frame["pool"]) == {1}


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_every_set_says_what_to_know(dataset):
    texts = (dataset.title, dataset.coverage, dataset.licence, dataset.commit, dataset.noise_floor)
    assert all(text.strip() for text in (*texts, *dataset.anomalies))
    assert dataset.anomalies


# Of the other sets of runs each is one of these, or a part of one.
WHOLE = [name for name in RUN_SETS if name not in ("default", "atlas", "atlas-multi", "precisions-2026")]


@pytest.mark.parametrize("name", WHOLE + LAYER_SETS)
def test_sets_keep_their_schema(name):
    frame, columns = load(name).frame, LAYER_COLUMNS if name in LAYER_SETS else RUN_COLUMNS
    assert list(frame) == [column.name for column in columns]
    typed, faults = typed_frame(frame, columns)
    assert faults + value_faults(typed, columns) == []
    assert name in LAYER_SETS or runs_from_frame(frame, name) == load(name)


@pytest.mark.parametrize("name", RUN_SETS)
def test_runs_name_known_facts(name):
    frame = load(name).frame
    assert set(frame["gpu"]) <= {gpu.gpu for gpu in built_in_gpus().gpus}
    assert set(frame["link"]) | set(frame["network"]) <= set(links())
    pooled = frame[frame["pool"] == 1]
    keys = pooled[["cnn", "input_size_px", "n_classes"]].itertuples(index=False, name=None)
    assert all(find_cnn_counts(*key).counts["macs"] > 0 for key in set(keys))


@pytest.mark.parametrize("name", [*RUN_SETS, *LAYER_SETS])
def test_each_row_has_source_commit_place_and_licence(name):
    frame = load(name).frame
    for column in ("source", "source_commit", "source_path", "licence"):
        assert frame[column].notna().all()
        assert (frame[column].str.len() > 0).all()
    commits = ";".join(set(frame["source_commit"])).split(";")
    # Some sources were handed on without their commit, and say so.
    assert all(re.fullmatch("[0-9a-f]{8,40}|not recorded", commit) for commit in commits)
    is_incomplete = name in ("neusight-layers", "default") or name.startswith("atlas")
    assert (frame["source_commit"] == "not recorded").any() == is_incomplete


def test_notice_lists_every_source_with_its_licence():
    notice = NOTICE.read_text(encoding="utf-8")
    for name in DATASETS:
        frame = load(name).frame
        for source, licence in frame[["source", "licence"]].drop_duplicates().itertuples(index=False):
            entry = notice[notice.index(f"  {source}") :]
            assert re.split(r"[ /(]", licence)[0] in entry[:400], source


def test_gpus_keep_their_schema():
    table = built_in_gpus().frame().replace("", None)
    typed, faults = typed_frame(table, GPU_COLUMNS)
    faults += value_faults(typed, GPU_COLUMNS)
    # Integrated GPUs use the host's memory, so they have none of their own.
    shared = set(table["gpu"][table["shares_host_memory"] == 1])
    assert {table["gpu"][fault.row - 1] for fault in faults} <= shared
    assert {fault.column for fault in faults} == {"memory_bytes"}


@pytest.mark.parametrize("file", ["runs", "layers", "gpus"])
def test_schemas_are_complete(file):
    text = files("trainlaw.datasets.data").joinpath(f"{file}.schema.json").read_text(encoding="utf-8")
    entries = json.loads(text)["fields"]
    columns = shipped_schema(file)
    assert [entry["name"] for entry in entries] == [column.name for column in columns]
    assert len({column.name for column in columns}) == len(columns)
    for entry, column in zip(entries, columns, strict=True):
        assert set(entry) <= {"name", "type", "description", "constraints", "unit", "default"}
        assert set(entry["constraints"]) <= {"required", "minimum", "maximum", "enum"}
        assert column.kind in ("text", "integer", "number") and column.meaning and column.low < column.high


def test_schemas_allow_what_the_code_knows():
    allowed = {column.name: column.allowed for column in RUN_COLUMNS}
    assert allowed["algorithm"] == ALGORITHMS
    assert allowed["precision"] == tuple(PRECISIONS)
    assert {column.name: column.allowed for column in LAYER_COLUMNS}["precision"] == tuple(PRECISIONS)
    defaults = {column.name: column.default for column in RUN_COLUMNS}
    assert defaults["time_s"] is None and np.isnan(defaults["bench_year"]) and defaults["n_gpus"] == 1
    assert {column.name for column in GPU_COLUMNS} == {field.name for field in fields(Gpu)} - {"sources"}


def test_unknown_and_wrong_kind_of_set():
    with pytest.raises(UnknownNameError, match="did you mean 'default'"):
        load("defaults")
    with pytest.raises(UnknownNameError, match=r"expected a data set of runs .default, .*which holds layers"):
        load("cde-layers", RunTable)
    with pytest.raises(UnknownNameError, match=r"of layers .* got 'profet-pairs', which holds pairs"):
        load("profet-pairs", LayerTable)
    assert isinstance(load("profet-pairs", PairTable), PairTable)


@pytest.mark.parametrize("name", DATASETS)
def test_the_typed_signatures_list_every_set(name):
    tables = {RunTable: "runs", LayerTable: "layers", PairTable: "pairs"}
    (table,) = [
        overload.__annotations__["return"]
        for overload in typing.get_overloads(load)
        if name in getattr(overload.__annotations__["name"], "__args__", ())
    ]
    assert tables[table] == DATASETS[name].kind and type(load(name)) is table
