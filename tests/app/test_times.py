import json
import random

import numpy as np
import pandas as pd
import pytest
import trainlaw
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS
from trainlaw.app.models.settings import setup_for
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.formulas import InputError
from trainlaw.formulas.scopes import FORWARD

from ..commands import output, refusal

SCALING = BUILT_IN_FORMULAS["multi"]()


def questions(count):
    """CNN, GPU, batch and settings at random."""
    draw = random.Random(5)
    cnns, gpus = list(trainlaw.cnns("*net*")["cnn"]), list(trainlaw.gpus()["gpu"])
    for _ in range(count):
        settings = {"n_gpus": draw.choice([1, 2, 8, 16]), "layout": draw.choice(["nchw", "channels_last"])}
        if settings["n_gpus"] > 1:
            settings["algorithm"] = draw.choice(["ring", "tree", "parameter_server"])
        yield draw.choice(cnns), draw.choice(gpus), draw.choice([1, 7, 64, 4000]), settings


@pytest.mark.parametrize("name", ["built-in", FORWARD, "short"])
def test_a_kept_configuration_is_predicted_as_a_table_of_one_run(name):
    formula = BUILT_IN_FORMULAS[name]()
    for cnn, gpu, batch, settings in questions(12):
        given = {} if name == FORWARD else settings
        run = one_run(cnn, gpu, batch, None, setup_for(formula, Setup(**given)))
        (expected,) = predict_runs(formula, run, SCALING)
        for _ in range(2):
            found = trainlaw.predict(cnn, gpu, batch, formula=formula, **given)
            assert found.values.keys() == expected.values.keys()
            for key, value in expected.values.items():
                assert found.values[key] == (
                    pytest.approx(value, rel=1e-12) if type(value) is float else value
                )
            assert (found.warnings, found.notes, found.figures) == (
                expected.warnings,
                expected.notes,
                expected.figures,
            )
        seconds = trainlaw.seconds(cnn, gpu, batch, formula=formula, **given)
        assert seconds == pytest.approx(found.seconds, rel=1e-12, nan_ok=True)


def test_many_times_are_those_of_single_predictions():
    batches = [8, 64, 8, 300]
    found = trainlaw.predict_many("resnet50", ["T4"], batches, n_classes=10, n_gpus=4)
    single = [trainlaw.seconds("resnet50", "T4", batch, classes=10, n_gpus=4) for batch in batches]
    np.testing.assert_allclose(found, single, rtol=1e-12)
    frame = pd.DataFrame({"cnn": "resnet50", "gpu": "T4", "batch": batches, "classes": 10})
    np.testing.assert_allclose(trainlaw.predict_many(frame, n_gpus=4), single, rtol=1e-12)


def test_files_and_frames_take_short_names_of_columns(tmp_path):
    frame = pd.DataFrame(
        {"cnn": ["resnet50", "vgg16"], "gpu": "T4", "batch": [8, 4], "classes": 10, "pixels": 128}
    )
    expected = trainlaw.predict_many(frame).tolist()
    frame.to_csv(tmp_path / "asked.csv", index=False)
    rows = json.loads(output("predict --json --from", tmp_path / "asked.csv"))
    assert [row["time_s"] for row in rows] == expected
    assert expected[0] == trainlaw.seconds("resnet50", "T4", 8, classes=10, pixels=128)
    with pytest.raises(InputError, match="expected n_classes once"):
        trainlaw.predict(frame.assign(n_classes=10))
    frame.assign(n_classes=10).to_csv(tmp_path / "twice.csv", index=False)
    assert "n_classes once" in refusal("predict --json --from", tmp_path / "twice.csv")


def test_rows_that_repeat_keep_their_places():
    frame = pd.DataFrame(
        {"cnn": ["resnet18", "vgg16", "resnet18"], "gpu": "T4", "batch": [8, 4, 8]}, list("abc")
    )
    found = trainlaw.predict(frame)
    assert found.index.tolist() == list("abc")
    assert found["cnn"].tolist() == ["resnet18", "vgg16", "resnet18"]
    assert found["time_s"].iloc[0] == found["time_s"].iloc[2] == trainlaw.seconds("resnet18", "T4", 8)
    with pytest.raises(InputError, match="line 3: expected a whole number"):
        trainlaw.predict(frame.assign(batch=[8, 8, 0]))


def test_forward_passes_beside_iterations_are_predicted_by_their_own_formula(tmp_path):
    frame = pd.DataFrame({"cnn": "resnet50", "gpu": "T4", "batch_per_gpu": 64}, range(3))
    frame["timed_parts"] = [None, "forward", "forward+backward+optimizer"]
    training, passes = (
        trainlaw.predict("resnet50", "T4", 64, timed_parts=parts) for parts in (None, FORWARD)
    )
    expected = [training.seconds, passes.seconds, training.seconds]
    table = trainlaw.predict(frame)
    assert table["time_s"].tolist() == pytest.approx(expected, rel=1e-12)
    assert table["precision"].tolist() == ["fp32", "amp", "fp32"]
    assert table["warnings"].tolist() == [training.warnings, passes.warnings, training.warnings]
    assert trainlaw.predict_many(frame).tolist() == pytest.approx(expected, rel=1e-12)
    frame.to_csv(tmp_path / "asked.csv", index=False)
    rows = json.loads(output("predict --json --from", tmp_path / "asked.csv"))
    assert [row["time_s"] for row in rows] == pytest.approx(expected, rel=1e-12)
    assert f"{1e3 * passes.seconds:.3g} ms" in output("predict --from", tmp_path / "asked.csv")
