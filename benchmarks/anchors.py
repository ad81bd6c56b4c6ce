"""From a profile on an anchor GPU to the time on a target GPU: held-out errors and the built-in formulas.

python -m benchmarks.anchors pairs            12 pairs, architectures held out; --ensemble: with PROFET's
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
from trainlaw.datasets import TARGET, PairTable, load
from trainlaw.datasets.measurements.pairs import PAIR
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Formula, round_constants, save_formula
from trainlaw.validate import StudyResult
from trainlaw.validate.baselines import title_of
from trainlaw.validate.error_json import errors_json
from trainlaw.validate.error_table import BY_CNN
from trainlaw.validate.metrics import mape_percent
from trainlaw.validate.result import OURS

from tools.pair_formulas import PAIR_FORMULA_FEATURES, ProfileSearch
from tools.profet import PROFET, AnchorLine, run_pair_study

ALONE = "trainlaw, profile alone"
_PAIR_SETTINGS = SearchSettings(evaluations=300)
_PROTOCOL = "one formula per pair of GPUs; each architecture held out in turn, with all sizes and batches"


def pair_results(table: PairTable, ensemble: bool = False) -> StudyResult:
    """Return the held-out predictions of both formulas of each pair and of the baselines."""
    baselines = dict(PROFET)
    if not ensemble:
        del baselines["profet_ensemble"]
    estimators = {
        OURS: partial(ProfileSearch, _PAIR_SETTINGS),
        ALONE: partial(ProfileSearch, _PAIR_SETTINGS, with_cnn=False),
        "PROFET, linear leg": AnchorLine,
        **baselines,
    }
    return run_pair_study(table, estimators, features=PAIR_FORMULA_FEATURES)


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


def write_formulas(folder: Path) -> None:
    """Write the formulas of GPU pairs, each with its held-out errors."""
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
    given = parser.parse_args()
    begun = time.monotonic()
    _PARTS[given.part](given)
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
