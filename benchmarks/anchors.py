"""From a profile on an anchor GPU to the time on a target GPU: held-out errors and the built-in formulas.

python -m benchmarks.anchors pairs            12 pairs, architectures held out; --ensemble: with PROFET's
python -m benchmarks.anchors target           GPUs held out as target, as anchor and from plain runs
python -m benchmarks.anchors scalers          batch and image size between known ends, architectures held out
python -m benchmarks.anchors formulas FOLDER  write the built-in formulas with their held-out errors
"""

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from trainlaw.app.models.builtin import pair_formula_path
from trainlaw.app.models.errors import BY_CNN, BY_GPU, OURS, errors_json
from trainlaw.app.studies.clusters import task_place
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.kinds.anchor import PAIR_FORMULA_FEATURES, ProfileSearch
from trainlaw.datasets import TARGET, PairTable, load
from trainlaw.datasets.measurements.end_points import (
    BATCH,
    END_POINT_FEATURES,
    PIXELS,
    runs_between_end_points,
)
from trainlaw.datasets.measurements.pairs import PAIR
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import Formula, parse_text, round_constants, save_formula
from trainlaw.validate import StudyResult, leave_one_group_out, run_pair_study, run_study, splits_by_name
from trainlaw.validate.baselines import baselines_for, named_baselines, title_of
from trainlaw.validate.baselines.anchors import PolynomialScaler
from trainlaw.validate.metrics import mape_percent

ALONE = "trainlaw, profile alone"
_PAIR_SETTINGS = SearchSettings(evaluations=300)
_PROTOCOL = "one formula per pair of GPUs; each architecture held out in turn, with all sizes and batches"
_SCALER_PROTOCOL = (
    "runs between the ends of their series, whose times are known; each architecture held out in turn"
)
_OPERATIONS = {"fast": ("anchor_ratio", "profet_line", "operations_nonnegative")}


def pair_results(table: PairTable, ensemble: bool = False) -> StudyResult:
    """Return the held-out predictions of both formulas of each pair and of the baselines."""
    names = baselines_for("gpu_pair", "profile") if ensemble else _OPERATIONS["fast"]
    estimators = {
        OURS: partial(ProfileSearch, _PAIR_SETTINGS),
        ALONE: partial(ProfileSearch, _PAIR_SETTINGS, with_cnn=False),
        **named_baselines(*names),
    }
    return run_pair_study(table, estimators, features=PAIR_FORMULA_FEATURES)


def target_results(seed: int = 0, cluster: str = "") -> StudyResult:
    """Return the predictions for GPUs that occur neither in the pairs nor in the plain runs of training."""
    kind = STUDY_KINDS["anchor"]
    rows = kind.rows(load("profet-pairs"))
    splits = [
        replace(split, test=test)
        for split in splits_by_name("gpu", rows.labels)
        if len(test := split.test[rows.evaluated[split.test]])
    ]
    settings = SearchSettings(evaluations=12_000, random_seed=seed, islands=2, population=200)
    baselines = {name: kind.baselines[name] for name in (*kind.defaults["against"], "cf21")}
    estimators = {OURS: kind.search(rows, settings), **baselines}
    with task_place(cluster) as place:
        return run_study(rows.X, rows.seconds, rows.labels, splits, estimators, **place)


class EndPointSearch:
    """Evolve a formula of times between end points; `evaluations` : formulas tried."""

    def __init__(self, evaluations: int = 1_000) -> None:
        """Store the number of formulas."""
        self.evaluations = evaluations

    def fit(self, X, y, groups):
        """Search from the straight line by traffic; X : features, y : seconds, groups : architectures."""
        settings = SearchSettings(
            evaluations=self.evaluations, population=100, loss="absolute_percentage", choice="validation",
            group_weight_power=0.0, seeds=(parse_text("line_by_traffic_s"),), max_nodes=30, max_constants=8,
        )  # fmt: skip
        search = FormulaRegressor(END_POINT_FEATURES, TARGET, settings).fit(X, y, groups)
        self.formula_ = search.formula_
        return self

    def predict(self, X):
        """Return seconds, shape (n_rows,)."""
        return np.broadcast_to(self.formula_.predict({n: X[n].to_numpy() for n in X}), len(X)).copy()


class StraightLine:
    """Null model: the straight line by batch x pixels between the end points."""

    def fit(self, X, y, groups):
        """Return self; nothing is fitted."""
        return self

    def predict(self, X):
        """Return seconds, shape (n_rows,)."""
        return X["line_by_area_s"].to_numpy()


def scaler_results(along: str) -> tuple[StudyResult, np.ndarray]:
    """Return the predictions between end points, and which are of whole series; `along` batch or pixels."""
    rows = runs_between_end_points(load("fp32-2026").where(source="profet"), along)
    splits = leave_one_group_out(rows.labels[BY_CNN])
    estimators = {OURS: EndPointSearch, "straight line": StraightLine, "PROFET's parabola": PolynomialScaler}
    result = run_study(rows.X, rows.seconds, rows.labels, splits, estimators, group_column=BY_CNN)
    return result, rows.whole[result.predictions["row"].to_numpy()]


def show(result: StudyResult, title: str, by: tuple[str, ...]) -> None:
    """Print error and RMSE of each estimator, and a table per label."""
    print(f"\n{title} ({len(result.predictions):,} rows): MAPE / median %, RMSE ms")
    for row in result.summary().to_dict("records"):
        name = str(row["estimator"])
        figures = f"{row['mape_percent']:6.2f} / {row['median_ape_percent']:6.2f}  {1e3 * row['rmse_s']:8.1f}"
        print(f"  {title_of(name):40} {figures}")
    for label in by:
        table = result.errors_by(label, {"mape": _mape}).pivot(
            index=label, columns="estimator", values="mape"
        )
        print(table[list(result.estimators)].round(1).to_string())


def _mape(measured: np.ndarray, predicted: np.ndarray) -> float:
    return mape_percent(measured, predicted)


def show_scalers() -> None:
    """Print the errors between end points, of all series and of whole ones."""
    for along in (BATCH, PIXELS):
        result, whole = scaler_results(along)
        show(result, f"times between end points of {along}", (BY_CNN, "gpu"))
        inside = StudyResult(result.predictions[whole].reset_index(drop=True), result.estimators)
        show(inside, "  of these, of series from the least to the largest value", ())


def write_formulas(folder: Path) -> None:
    """Write the formulas of GPU pairs and of end points, each with its held-out errors."""
    (folder / "pairs").mkdir(parents=True, exist_ok=True)
    table = load("profet-pairs")
    result = pair_results(table)
    labels = table.labels()
    for pair in sorted(set(labels[PAIR])):
        anchor, target = pair.split(" to ")
        inside = table.where(anchor_gpu=anchor, target_gpu=target)
        part = result.predictions[result.predictions[PAIR] == pair].reset_index(drop=True)
        for name, with_network in ((OURS, True), (ALONE, False)):
            formula = _pair_formula(inside, part, name, result.estimators)
            save_formula(formula, pair_formula_path(anchor, target, with_network, folder / "pairs"))
            print(
                f"{pair}: {formula.errors['summary'][OURS]['mape_percent']:.1f} %  {formula.text()}",
                flush=True,
            )
    for along in (BATCH, PIXELS):
        save_formula(_scaler_formula(along), folder / f"{along}-scaler.json")


def _pair_formula(table: PairTable, part, name: str, names: tuple[str, ...]) -> Formula:
    """Return the formula of one pair from all its rows, with the held-out errors of its kind."""
    X, seconds = table.features(PAIR_FORMULA_FEATURES), table.seconds
    formula = ProfileSearch(_PAIR_SETTINGS, with_cnn=name == OURS).fit(X, seconds, np.zeros(len(X))).formula_
    others = [other for other in names if other not in (OURS, ALONE)]
    held_out = part.drop(columns=[OURS]).rename(columns={name: OURS}) if name != OURS else part
    errors = errors_json(StudyResult(held_out, (OURS, *others)), _PROTOCOL, BY_CNN)
    (anchor, target) = table.frame[["anchor_gpu", "target_gpu"]].iloc[0]
    what = f"on {target}, from a profile on {anchor}"
    return _finalized(formula, X, seconds, errors, what=what, table=table, first=_shown_first(table))


def _shown_first(table: PairTable) -> np.ndarray:
    """Return the rows that a workbook shows as worked cases: four CNNs of different kinds."""
    frame, wanted = table.frame, ("vgg16_profet", "resnet50_preact", "mobilenet_v2_keras", "inception_v3")
    middle = frame[(frame["batch_per_gpu"] == 32) & (frame["input_size_px"] == 128)]
    return middle.index[middle["cnn"].isin(wanted)].to_numpy()


def _scaler_formula(along: str) -> Formula:
    rows = runs_between_end_points(load("fp32-2026").where(source="profet"), along)
    formula = EndPointSearch().fit(rows.X, rows.seconds, rows.labels[BY_CNN].to_numpy(dtype=str)).formula_
    result, _ = scaler_results(along)
    errors = errors_json(result, _SCALER_PROTOCOL, BY_CNN)
    first = np.arange(0, len(rows.X), len(rows.X) // 4)[:4]
    what = f"between known ends of {along}"
    return _finalized(formula, rows.X, rows.seconds, errors, what=what, table=load("fp32-2026"), first=first)


def _finalized(
    formula: Formula, X, seconds: np.ndarray, errors: Mapping, *, what: str, table, first
) -> Formula:
    """Return the formula with rounded constants, errors and provenance; rows `first` are worked cases."""
    columns = {spec.name: X[spec.name].to_numpy() for spec in formula.used_features}
    short = replace(formula, expression=round_constants(formula.expression, columns, seconds).expression)
    ranges = {spec.name: formula.ranges[spec.name] for spec in short.used_features}
    cases = [
        {spec.name: float(f"{X[spec.name].iloc[row]:.6g}") for spec in short.used_features} for row in first
    ]
    facts = {
        "trainlaw_version": version("trainlaw"),
        "method": "evolved by genetic programming: python -m benchmarks.anchors formulas",
        "table": table.name, "table_sha256": table.sha256, "rows": len(seconds), "precisions": ["fp32"],
        "seed": 0, "cases": cases,
    }  # fmt: skip
    target = replace(TARGET, meaning=f"{TARGET.meaning} {what}")
    parts = {"features": short.used_features, "target": target, "ranges": ranges, "errors": errors}
    return replace(short, **parts, provenance=facts)


_PARTS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "pairs": lambda given: show(
        pair_results(load("profet-pairs"), given.ensemble), "12 pairs, architectures held out", (BY_CNN, PAIR)
    ),
    "target": lambda given: show(
        target_results(cluster=given.cluster),
        "GPUs held out as target and anchor, and their plain runs",
        (BY_GPU, BY_CNN),
    ),
    "scalers": lambda given: show_scalers(),
    "formulas": lambda given: write_formulas(Path(given.folder)),
    # The name in the provenance of formulas that were written before.
    "laws": lambda given: write_formulas(Path(given.folder)),
}


def main() -> None:
    """Measure one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=sorted(_PARTS))
    parser.add_argument("folder", nargs="?", default="formulas")
    parser.add_argument("--ensemble", action="store_true", help="include the ensemble of PROFET")
    parser.add_argument("--cluster", default="", help="for target: tcp://HOST:PORT, local:N or a TOML file")
    given = parser.parse_args()
    begun = time.monotonic()
    _PARTS[given.part](given)
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
