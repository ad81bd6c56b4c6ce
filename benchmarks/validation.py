"""Held-out errors of all baselines on the built-in tables, and the coverage of their intervals.

python -m benchmarks.validation t1        every baseline of one GPU, GPUs and CNNs held out
python -m benchmarks.validation t2        several GPUs
python -m benchmarks.validation t4        single layers
python -m benchmarks.validation engines   gplearn and pyoperon on one GPU (minutes)
"""

import argparse
from collections.abc import Mapping

import numpy as np
import pandas as pd
from trainlaw.app.studies.clusters import Place, task_place
from trainlaw.datasets import load
from trainlaw.validate import (
    EstimatorFactory,
    StudyResult,
    leave_one_group_out,
    run_study,
)
from trainlaw.validate.baselines import baselines_for, title_of
from trainlaw.validate.conformal import conformal_coverage

_GPU, _CNN = "gpu_group", "cnn_base"


def show(result: StudyResult, title: str, over: str) -> None:
    """Print MAPE, median and macro error of each estimator, and the coverage of its 90 % interval."""
    print(f"\n{title}: MAPE / median / macro over {over}, %; coverage of the 90 % interval, macro")
    macro = result.errors_by(over).groupby("estimator")["mape_percent"].mean()
    for row in result.summary().to_dict("records"):
        name = str(row["estimator"])
        coverage = conformal_coverage(result.measured_s, result.predicted_s(name), result.labels(over))
        # A 90 % interval needs at least nine groups.
        known = np.isfinite(coverage["factor"]).all()
        covered = f"{coverage['covered_percent'].mean():5.1f}" if known else "no interval: too few groups"
        print(
            f"  {title_of(name):40} {row['mape_percent']:6.1f} / {row['median_ape_percent']:5.1f}"
            f" / {macro[name]:6.1f}   covered {covered}"
        )


def hold_out(
    title: str,
    rows: tuple[pd.DataFrame, np.ndarray, pd.DataFrame],
    keys: tuple[str, ...],
    estimators: Mapping[str, EstimatorFactory],
    place: Place | None = None,
) -> None:
    """Print the errors with each group of each key held out in turn; rows : features, seconds, labels."""
    for key in keys:
        splits = leave_one_group_out(rows[2][key])
        show(run_study(*rows, splits, estimators, **(place or Place())), f"{title}, one {key} out", key)


def one_gpu(keys: tuple[str, ...], requires: str, place: Place) -> None:
    """Hold out groups of the runs on one GPU."""
    runs = load("fp32-2026")
    rows = runs.features(), runs.seconds, runs.labels()
    hold_out("fp32-2026", rows, keys, baselines_for("run", requires), place)


def several_gpus() -> None:
    """Hold out GPUs, CNNs and sources of the runs on several GPUs whose single-GPU time was measured."""
    table = load("multi")
    known = table.frame["single_gpu_time_s"].notna() & (table.frame["source"] != "sia-pollux")
    table = table.where(known.to_numpy())
    X = table.features().assign(single_gpu_time_s=table.frame["single_gpu_time_s"].to_numpy(dtype=float))
    rows = X, table.seconds, table.labels()
    hold_out(f"several GPUs ({len(table)} runs)", rows, (_GPU, _CNN, "source"), baselines_for("multi_gpu"))


def layers() -> None:
    """Hold out GPUs of the tables of single layers, separately for convolutions and dense layers."""
    for name in ("cde-layers", "neusight-layers"):
        for kind in ("conv", "dense"):
            table = load(name)
            table = table.where((table.labels()["kind"] == kind).to_numpy())
            rows = table.features(), table.seconds, table.labels()
            hold_out(f"{name}, {kind}", rows, (_GPU,), baselines_for("measured_layer"))


def main() -> None:
    """Run the requested part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["t1", "t2", "t4", "engines"])
    parser.add_argument(
        "--cluster", default="", help="for t1, engines: tcp://HOST:PORT, local:N or a TOML file"
    )
    arguments = parser.parse_args()
    with task_place(arguments.cluster) as place:
        parts = {
            "t1": lambda: one_gpu((_GPU, _CNN), "", place),
            "t2": several_gpus,
            "t4": layers,
            "engines": lambda: one_gpu((_GPU,), "engine", place),
        }
        parts[arguments.part]()


if __name__ == "__main__":
    main()
