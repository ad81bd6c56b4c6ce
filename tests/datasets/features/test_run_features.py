from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import FEATURES, LAYER_FEATURES, configuration, load
from trainlaw.datasets.features.amounts import wide_amounts
from trainlaw.datasets.features.pair_features import PROFILE_FEATURES
from trainlaw.datasets.features.run_features import SCALING_FEATURES, SINGLE_GPU_TIME
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas import infer_unit, variables
from trainlaw.formulas.algebra.unit_inference import constant_units
from trainlaw.formulas.algebra.units import SECOND

from ...rows import each_row

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", ["precisions", "multi"])
def test_features_equal_the_golden_figures(name, overwrite_golden):
    """Check rows drawn at random against figures from the tables that the runs originate from."""
    path = HERE / f"golden_{name}.csv"
    golden = pd.read_csv(path, float_precision="round_trip")
    mask = np.zeros(len(load(name)), dtype=bool)
    mask[golden["row"]] = True
    chosen = load(name).where(mask)
    columns = list(golden.columns[2:])
    if overwrite_golden:
        found = chosen.features(columns).reset_index(drop=True)
        golden = pd.concat([golden[["row"]], pd.Series(chosen.seconds, name="time_s"), found], axis=1)
        golden.to_csv(path, index=False, lineterminator="\n")
    assert chosen.seconds == pytest.approx(golden["time_s"].to_numpy(), rel=1e-12)
    for column in columns:
        features = chosen.features([column])[column].to_numpy()
        assert features == pytest.approx(golden[column].to_numpy(), rel=1e-12), column


@pytest.mark.parametrize(
    ("kinds", "features"),
    [
        ("run gpu cnn link time skeleton communication scaling", FEATURES),
        ("layer gpu", LAYER_FEATURES),
        ("operation profile", PROFILE_FEATURES),
    ],
)
def test_names_and_symbols_of_a_table_are_unique(kinds, features):
    rows = [row["name"] for row in read_data_rows("features.csv") if row["kind"] in kinds.split()]
    rows += [row["name"] for row in read_data_rows("work.csv")] if "skeleton" in kinds else []
    rows += [amount.name for amount in wide_amounts()] if "skeleton" in kinds else []
    # A few amounts are of the law, too.
    assert sorted(set(rows)) == sorted(features)
    symbols = [row.spec.symbol for row in features.values()]
    assert len(set(symbols)) == len(symbols)


@each_row("row", FEATURES.values())
def test_every_feature_says_what_it_is(row):
    assert row.spec.meaning and row.spec.symbol
    # The unit stands in the name of whatever is a time.
    is_time = row.spec.name.endswith("_s") and not row.spec.name.endswith("per_s")
    assert is_time == (row.spec.unit == SECOND)


@pytest.mark.parametrize("name", ["precisions", "multi"])
def test_features_are_finite_and_in_range(name):
    usual, scaling = load(name).features(), [row.spec.name for row in SCALING_FEATURES]
    wide = [amount.name for amount in wide_amounts() if amount.name not in usual]
    assert [*usual, *scaling, *wide] == list(FEATURES)
    of_facts = [other for other in FEATURES if other != SINGLE_GPU_TIME]
    features = load(name).features(of_facts)
    assert (features.dtypes == np.float64).all()
    for column in features:
        spec = FEATURES[column].spec
        assert features[column].between(spec.low, spec.high).all(), column


def test_times_scale_with_the_work():
    """Seconds never fall when the batch doubles, and never rise when the GPU is twice as fast."""
    names = [name for name, row in FEATURES.items() if row.spec.unit == SECOND and name != SINGLE_GPU_TIME]
    small, large, fast = (
        configuration(cnn="resnet18", gpu=gpu, batch_per_gpu=batch, n_gpus=4).features(names).iloc[0]
        for gpu, batch in (
            ("V100-SXM2-16GB", 8),
            ("V100-SXM2-16GB", 16),
            ("V100-SXM2-16GB with 2x peak, 2x bandwidth", 8),
        )
    )
    scales = (large >= small) & (small >= fast) & (fast >= 0)
    assert list(scales[~scales].index) == []


def test_one_gpu_sends_nothing():
    alone = configuration(cnn="resnet18", gpu="T4", batch_per_gpu=8)
    names = [name for name in FEATURES if name.endswith(("ring_s", "tree_s", "butterfly_s", "server_s"))]
    assert len(names) >= 6
    assert not alone.matrix([*names, "communication_s", "data_parallel_s", "model_parallel_s"]).any()


# Counts of a whole batch: an image, a pixel and a weight count 1, so units do not say more.
BATCH_COUNTS = {"rows", "weights", "input_elements", "output_elements", "macs"}
DEFINED = [(FEATURES, name) for name, row in FEATURES.items() if not row.is_base]
DEFINED += [(LAYER_FEATURES, name) for name in LAYER_FEATURES if name not in BATCH_COUNTS]


@each_row(("features", "name"), DEFINED)
def test_a_definition_has_the_unit_that_its_row_states(features, name):
    """Constants take what unit is missing, such as 6 FLOP/MAC; sums and functions must agree."""
    units = {other: row.spec.unit for other, row in features.items()}
    row = features[name]
    constant_units(row.expression, units, row.spec.unit)
    assert infer_unit(row.expression, units) in (None, row.spec.unit)


@pytest.mark.parametrize("features", [FEATURES, LAYER_FEATURES])
def test_definitions_name_features_only(features):
    for name, row in features.items():
        assert set(variables(row.expression)) <= set(features), name
        assert row.is_base or name not in variables(row.expression)
