"""Layer times become rows that the layers schema and the anchor schema take."""

import pandas as pd
import pytest
from trainlaw.datasets import load
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.files.checks import typed_frame, value_faults
from trainlaw.datasets.measurements.layers import LAYER_COLUMNS, LayerTable
from trainlaw.datasets.measurements.pairs import PairTable, profile_pairs
from trainlaw.datasets.profiler import Configuration
from trainlaw.datasets.profiler.layer_times import (
    DETAIL_FILE_COLUMNS,
    LAYER_FILE_COLUMNS,
    OPERATION_FILE_COLUMNS,
    LayerTime,
    MeasuredLayers,
    has_schema_row,
)


def times_of(cnn):
    return [
        LayerTime(position, 0.001, 0.002, 0.003, 0.0005, 0.0065, (0.0009, 0.002), (0.006, 0.008), 20)
        for position, layer in enumerate(cnn.layers)
        if position and layer.kind != "softmax"
    ]


def layers_of(name, gpu="V100-SXM2-16GB", step_s=(0.5, 0.004)):
    cnn = build(name, 64 if name != "lenet5" else 32, 10)
    configuration = Configuration("cpu", 1, 1, "fp32", cnn.name, cnn.input_size_px, 10, 8)
    return MeasuredLayers(configuration, gpu, cnn, times_of(cnn), step_s)


@pytest.mark.parametrize("name", ["mobilenet_v2", "lenet5", "googlenet"])
def test_rows_of_layers_and_operations_fit_their_files(name):
    measured = layers_of(name)
    frame = pd.DataFrame(measured.schema_rows(), columns=LAYER_FILE_COLUMNS)
    typed, faults = typed_frame(frame, LAYER_COLUMNS)
    assert faults + value_faults(typed, LAYER_COLUMNS) == []
    assert set(frame["phase"]) == {"forward", "forward+backward+optimizer"}
    table = LayerTable("own", frame[[column.name for column in LAYER_COLUMNS]])
    assert table.features().notna().all(axis=None)
    rows = measured.detail_rows()
    assert [row["layer"] for row in rows] == [
        measured.cnn.layers[time.position].name for time in measured.times
    ]
    assert all(set(row) == set(DETAIL_FILE_COLUMNS) for row in rows)


@pytest.mark.parametrize("name", ["mobilenet_v2", "lenet5", "googlenet"])
def test_operations_hold_all_the_time(name):
    measured = layers_of(name, "T4")
    row = measured.operation_row()
    assert set(row) == set(OPERATION_FILE_COLUMNS)
    total = sum(seconds for name, seconds in row.items() if name.startswith("device_"))
    assert total == pytest.approx(0.0065 * len(measured.times) + 0.004)
    other = layers_of(name, step_s=(0.25, 0.004)).operation_row()
    pairs = PairTable("own", profile_pairs(pd.DataFrame([row, other])))
    assert len(pairs) == 2
    assert pairs.profile().shape[1] == sum(name.startswith("device_") for name in row)


def test_operations_have_the_names_of_the_built_in_profiles():
    """So that a formula over operations that was evolved from the built-in profiles takes one's own."""
    known = set(load("profet-pairs").operations)
    own = {name for name in OPERATION_FILE_COLUMNS if name.startswith("device_")}
    # No network of those profiles has a sigmoid.
    strange = {f"device_{name}_s" for name in ("Other", "OtherGrad", "Sigmoid", "SigmoidGrad")}
    assert own - known == strange


def test_what_the_schema_cannot_say_gets_no_row():
    layers = build("mobilenet_v2", 64, 10).layers
    assert not any(has_schema_row(layer) for layer in layers if layer.is_depthwise)
    assert all(has_schema_row(layer) for layer in layers if layer.kind == "dense")
    wide = [
        layer for layer in build("inception_v3", 96, 10).layers if layer.kernel_height != layer.kernel_width
    ]
    assert wide and not any(has_schema_row(layer) for layer in wide)


def test_gradients_of_depthwise_convolutions_have_their_own_names():
    measured = layers_of("mobilenet_v2")
    row, depthwise = measured.operation_row(), sum(layer.is_depthwise for layer in measured.cnn.layers)
    assert row["device_DepthwiseConv2dNativeBackpropFilter_s"] == pytest.approx(0.003 * depthwise)
    assert row["device_Relu6Grad_s"] > 0
