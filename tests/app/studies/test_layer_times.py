"""Laws of one kind of layer from measured layers: the table, the search, the forms that people get."""

import numpy as np
import pytest
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.front import EVOLVED
from trainlaw.app.studies.definition import definition_of
from trainlaw.app.studies.fits import estimators_of
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.kinds.layer_times import (
    LAYER_TIME_FEATURES,
    LayerTimeFit,
    drawn_rows,
    layer_time_rows,
    read_layer_times,
    skeleton_of,
)
from trainlaw.app.studies.material import material_of
from trainlaw.formulas import InputError, UnknownNameError, save_formula, to_text
from trainlaw.validate.baselines import PRUNED_LAW, RANDOM_SEARCH, STEPWISE
from trainlaw.validate.baselines.null_models import ScaledForm
from trainlaw.validate.result import OURS

from ...commands import invoke, output


def few(text, count=600):
    table = read_layer_times(text, None, ())
    return table.where(np.isin(np.arange(len(table)), np.linspace(0, len(table) - 1, count).astype(int)))


@pytest.fixture(scope="module")
def found():
    """A formula of convolutions in training, from three cards; the table's rows of a fourth."""
    table = few("cde-layers/conv/train")
    groups = table.labels()["gpu_group"].to_numpy(dtype=str)
    train = groups != "GP102-28"
    known = table.where(train)
    law = LayerTimeFit(skeleton_of(layer_time_rows(known)))
    return law.fit(known.features(), known.seconds, groups[train]), known, table.where(~train)


def test_tables_are_one_kind_in_one_pass():
    table = read_layer_times("cde-layers/dense/train", None, ())
    assert table.name == "cde-layers/dense/train"
    assert set(table.frame["kind"]) == {"dense"}
    assert set(table.frame["phase"]) == {"forward+backward+optimizer"}


def test_a_study_of_layers_has_defaults_of_its_own():
    definition = definition_of({"of": "layer-times"}, "here")
    assert (definition.table, definition.split) == ("neusight-layers/conv/forward", "gpu")
    assert set(definition.against) <= set(STUDY_KINDS["layer-times"].baselines)
    with pytest.raises(UnknownNameError):
        definition_of({"of": "layer-times", "against": ("cf9",)}, "here")


def test_rows_are_drawn_evenly():
    groups = np.repeat(["a", "b"], [900, 100])
    rows = drawn_rows(groups, 100, 0)
    assert np.unique(groups[rows], return_counts=True)[1].tolist() == [90, 10]
    assert np.array_equal(rows, drawn_rows(groups, 100, 0))
    assert np.array_equal(drawn_rows(groups, 1000, 0), np.arange(1000))


def test_families_of_shapes_are_labels():
    rows = layer_time_rows(few("cde-layers/conv/forward"))
    assert "7x7, stride 2" in set(rows.labels["cnn_base"])
    assert set(LAYER_TIME_FEATURES) <= set(rows.X)


def test_the_law_chooses_between_two_algorithms_and_beats_the_null_on_a_new_card(found):
    law, known, unseen = found
    assert "min(" in to_text(law.formula_.expression)
    null = ScaledForm("compute_s").fit(known.features(), known.seconds, np.zeros(len(known)))
    errors = [np.abs(one.predict(unseen.features()) / unseen.seconds - 1).mean() for one in (law, null)]
    assert errors[0] < 0.3 < errors[1]


def test_formulas_of_few_constants_choose_too(found):
    """Each has both alternatives or one, and the controls have the same space."""
    kind, definition = STUDY_KINDS["layer-times"], StudyDefinition(split="gpu", against=(), evaluations=300)
    estimators = estimators_of(material_of(found[1], definition, kind))
    assert {OURS, EVOLVED, RANDOM_SEARCH, STEPWISE, PRUNED_LAW} <= set(estimators)
    groups = found[1].labels()["gpu_group"].to_numpy(dtype=str)
    front = estimators[EVOLVED]().fit(found[1].features(), found[1].seconds, groups).front_
    texts = [member.formula.text() for member in front]
    assert any("min(" in text for text in texts), texts
    errors = np.abs(front[-1].formula.predict(found[2].features()) / found[2].seconds - 1)
    assert errors.mean() < 0.35


def test_dense_layers_have_a_law_of_sums():
    table = few("cde-layers/dense/forward")
    skeleton = skeleton_of(layer_time_rows(table))
    assert not any(name.startswith("fast_") for name in skeleton.names)
    assert not skeleton.alternatives


def test_a_schedule_refuses_a_law_of_one_kind_of_layer(found, tmp_path):
    save_formula(found[0].formula_, tmp_path / "law.json")
    done = invoke("schedule --cnn lenet5 --gpu T4 --law", tmp_path / "law.json")
    assert done.exit_code == 2 or isinstance(done.exception, InputError)
    assert "one layer of a CNN" in done.output + str(done.exception)


@pytest.mark.usefixtures("quick_studies")
def test_a_study_ends_in_all_files(in_empty_folder):
    few("cde-layers/conv/forward", 300).frame.to_csv("layers.csv", index=False)
    asked = "layers.csv/conv/forward --of layer-times --split gpu-folds --folds 2 --evaluations 100"
    rest = "--against layer_roofline --workers 1 --out run"
    output(f"study {asked} {rest}")
    names = {path.name for path in (in_empty_folder / "run").iterdir()}
    assert {"formula.json", "report.html", "errors.csv", "study.toml"} <= names


def test_layers_of_ones_own_are_a_table(tmp_path):
    path = tmp_path / "layers.csv"
    few("cde-layers/conv/train", 40).frame.to_csv(path, index=False)
    table = read_layer_times(f"{path}/conv/train", None, ())
    assert len(table) == 40 and table.name.endswith("layers.csv/conv/train")
    with pytest.raises(InputError, match=r"no such layers were measured; .*layers\.csv/conv/train"):
        read_layer_times(f"{path}/dense/train", None, ())
    with pytest.raises(InputError, match="for layers in a file"):
        read_layer_times("cde-layers/conv/train", path, ())
