"""From a profile on one GPU to the time on another: laws, command, study, files."""

from itertools import permutations

import numpy as np
import pytest
from trainlaw.app.inputs.run_folder import FRONT_FOLDER, RUN_FILES
from trainlaw.app.models.builtin import BUILT_IN, BUILT_IN_FORMULAS, MEASURED_PAIR_GPUS, pair_formula
from trainlaw.app.predictions.anchor import Workload, measured_gpu, predict_from_profile
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.kinds.anchor import is_plain_run, transferred, without_vanishing_terms
from trainlaw.datasets import load
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import InputError, constants, load_formula, parse_text, to_text

from ...commands import invoke, refusal
from ...rows import each_row


@pytest.fixture(scope="module")
def profile_file(tmp_path_factory):
    """The operations of one built-in profile as the CSV that TensorFlow's profiler gives."""
    row = load("profet-pairs").where(
        anchor_gpu="T4", target_gpu="K80", cnn="vgg16_profet", batch_per_gpu=32, input_size_px=128
    )
    lines = ["Host/device,Type,Operation,Total self-time (us)"]
    for name, seconds in row.frame[list(row.operations)].iloc[0].items():
        place, _, operation = name.removesuffix("_s").partition("_")
        lines.append(f"{place.capitalize()},{operation},scope/{operation},{1e6 * seconds!r}")
    path = tmp_path_factory.mktemp("profiles") / "stats.csv"
    path.write_text("\n".join(lines).replace("np.float64(", "").replace(")", "").replace("(us", "(us)"))
    return path, row.frame.iloc[0]


def test_terms_that_vanish_are_left_out():
    law = parse_text("max(1e-99 * a, max(1e-50 * b, 2 * c)) + (1e-12 * d + 3 * e)")
    assert to_text(without_vanishing_terms(law)) == "2 * c + 3 * e"


def test_transferred_law_finds_the_planted_exponent():
    table = load("profet-pairs")
    law = load_formula(BUILT_IN)
    names = [spec.name for spec in law.used_features]
    X = table.features((*names, *(f"anchor_{name}" for name in names), "anchor_time_s"))
    target, anchor = (
        law.predict({name: X[prefix + name].to_numpy() for name in names}) for prefix in ("", "anchor_")
    )
    y = target * (X["anchor_time_s"].to_numpy() / anchor) ** 0.37
    found = transferred(law, X, y)
    assert constants(found.expression)[-1] == pytest.approx(0.37, abs=1e-9)
    assert found.predict({spec.name: X[spec.name].to_numpy() for spec in found.features}) == pytest.approx(y)


def test_transfer_law_forgets_anchors_without_runs_of_their_own():
    rows = STUDY_KINDS["anchor"].rows(load("profet-pairs"))
    assert is_plain_run(rows.X).sum() == 1730 == (~rows.evaluated).sum()
    held_out = rows.labels["gpu_group"].to_numpy() == "GV100-80"
    X, y, groups = rows.X[~held_out], rows.seconds[~held_out], rows.groups[~held_out]
    search = STUDY_KINDS["anchor"].search(rows, SearchSettings(evaluations=100))
    law = search().fit(X, y, groups)
    # The same, with nonsense wherever a V100 is the anchor.
    spoiled = X.copy()
    spoiled.loc[spoiled["anchor_sm_count"] == 80, "anchor_time_s"] *= 7.0
    assert (spoiled["anchor_time_s"] != X["anchor_time_s"]).sum() == 921
    again = search().fit(spoiled, y, groups)
    assert again.formula_.text(None) == law.formula_.text(None)


def test_every_pair_has_two_laws_with_errors_within_the_bar():
    assert len([name for name in BUILT_IN_FORMULAS if "-to-" in name]) == 24
    errors = []
    for anchor in MEASURED_PAIR_GPUS:
        for target in set(MEASURED_PAIR_GPUS) - {anchor}:
            for with_network in (True, False):
                law, origin = pair_formula(anchor, target, with_network)
                assert anchor in origin and law.errors["interval"]["factor"] > 1
            errors.append(pair_formula(anchor, target, True)[0].errors["summary"]["trainlaw"]["mape_percent"])
    assert np.mean(errors) <= 10.2
    law, _ = pair_formula("T4", "A40", True)
    assert law.errors["summary"]["trainlaw"]["mape_percent"] < 16.0


def test_names_of_measured_cards_may_be_short():
    assert measured_gpu("V100") == "V100-SXM2-16GB" and measured_gpu("T4") == "T4"
    assert measured_gpu("V") is None and measured_gpu("A40") is None


def test_prediction_from_tensorflows_table_is_near_the_measured_time(profile_file):
    path, row = profile_file
    anchor_s = float(row["anchor_time_s"])
    found = predict_from_profile(path, ("T4", "K80"), Workload("vgg16_profet", 32, 128), anchor_s=anchor_s)
    assert found.time_s == pytest.approx(row["time_s"], rel=0.15)
    assert found.low_s < found.time_s < found.high_s and "profile and CNN" in found.formula
    assert found.low_s * found.high_s == pytest.approx(found.time_s**2)
    assert found.warnings == ()
    alone = predict_from_profile(path, ("T4", "K80"), anchor_s=anchor_s)
    assert "profile alone" in alone.formula and alone.time_s == pytest.approx(row["time_s"], rel=0.3)
    unmeasured = predict_from_profile(path, ("T4", "A40"), Workload("vgg16", 32, 128), anchor_s=0.3)
    assert "any pair" in unmeasured.formula and 0 < unmeasured.time_s < 0.3


@each_row("pair", permutations(MEASURED_PAIR_GPUS, 2))
def test_a_profile_alone_is_enough_for_every_measured_pair(pair, profile_file):
    path, row = profile_file
    found = predict_from_profile(path, pair, anchor_s=float(row["anchor_time_s"]))
    assert "profile alone" in found.formula and found.time_s > 0


def test_a_formula_of_runs_does_not_transfer_between_gpus(profile_file):
    with pytest.raises(InputError, match="target GPU"):
        predict_from_profile(profile_file[0], ("T4", "K80"), formula=BUILT_IN)


@pytest.mark.usefixtures("quick_studies")
def test_study_of_anchors_ends_in_the_files_of_every_study(tmp_path):
    folder = tmp_path / "run"
    options = "--of anchor --evaluations 200 --split gpu-folds --folds 2 --workers 1 --seeds 1".split()
    result = invoke("study", *options, "--against", "anchor_peak_ratio", "--into", folder)
    assert result.exit_code == 0, result.output
    # Anchor times are no inputs of a workbook.
    files = {*RUN_FILES, FRONT_FOLDER} - {"formula.xlsx"}
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)
    law = load_formula(folder / "formula.json")
    assert "anchor_time_s" in {spec.name for spec in law.used_features}
    assert law.errors["summary"]["trainlaw"]["n_rows"] == 3684
    assert "anchor_peak_ratio" in law.errors["estimators"]
    assert "profet-pairs" in refusal("study default --of anchor")


@pytest.mark.parametrize("name", ["T4-to-K80", "T4-to-K80-profile", "anchor"])
def test_built_in_laws_are_shown_and_exported(name, tmp_path):
    shown = invoke("show", name)
    assert shown.exit_code == 0 and "time_s [s] =" in shown.output
    assert invoke("export", name, "--to", tmp_path / "law.py").exit_code == 0
    assert "has no workbook" in refusal("export", name, "--to", tmp_path / "law.xlsx")
