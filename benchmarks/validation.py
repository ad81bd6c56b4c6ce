"""Held-out errors of all baselines on the built-in tables, and the coverage of their intervals.

python -m benchmarks.validation t1        every baseline of one GPU, GPUs and CNNs held out; the seconds
python -m benchmarks.validation t1b       several precisions
python -m benchmarks.validation t2        several GPUs
python -m benchmarks.validation t3        pairs of PROFET, medians of nine repeats
python -m benchmarks.validation t3 --repeats FILE   its linear leg on all repeats: a CSV with columns
    instance, model_raw, input_size, batch, exp, batch_latency_ms (the source's raw runs)
python -m benchmarks.validation t4        single layers
python -m benchmarks.validation engines   gplearn and pyoperon on one GPU (minutes)
"""

import argparse
import time
from collections.abc import Mapping
from functools import partial
from itertools import permutations

import numpy as np
import pandas as pd
from trainlaw.app.studies.clusters import Place, task_place
from trainlaw.datasets import load
from trainlaw.validate import (
    EstimatorFactory,
    Split,
    StudyResult,
    leave_one_group_out,
    run_pair_study,
    run_study,
)
from trainlaw.validate.baselines import baselines_for, named_baselines, title_of
from trainlaw.validate.baselines.anchors import AnchorLine
from trainlaw.validate.baselines.closed_forms import cf9, cf21
from trainlaw.validate.conformal import conformal_coverage

_GPU, _CNN = "gpu_group", "cnn_base"


_FOR_PRECISIONS = ("null_compute", "roofline", "cf9", "cf21", "cf21_tensor")
_HARNESS: Mapping[str, EstimatorFactory] = {
    "cf9 + harness": partial(cf9, harness_constants=True),
    "cf21 + harness": partial(cf21, harness_constants=True),
}
_SLOW = (
    "random_forest",
    "gradient_boosting",
    "gradient_boosting_on_roofline",
    "gradient_boosting_on_cf21",
    "perceptron",
)


def show(result: StudyResult, title: str, over: str) -> None:
    """Print MAPE, median and macro error of each estimator, and the coverage of its 90 % interval."""
    print(f"\n{title}: MAPE / median / macro over {over}, %; coverage of the 90 % interval, macro")
    for row in result.summary().to_dict("records"):
        name = str(row["estimator"])
        groups = result.labels(over)
        errors = result.errors_by(over, {"mape": _mape})
        macro = errors[errors["estimator"] == name]["mape"].mean()
        coverage = conformal_coverage(result.measured_s, result.predicted_s(name), groups)
        known = np.isfinite(coverage["factor"])
        # A 90 % interval needs at least nine groups.
        covered = (
            f"{coverage['covered_percent'].mean():5.1f}" if known.all() else "no interval: too few groups"
        )
        print(
            f"  {title_of(name):40} {row['mape_percent']:6.1f} / {row['median_ape_percent']:5.1f}"
            f" / {macro:6.1f}   covered {covered}"
        )


def _mape(measured: np.ndarray, predicted: np.ndarray) -> float:
    return float(100.0 * np.abs(np.where(np.isfinite(predicted), predicted, 0.0) / measured - 1.0).mean())


def one_gpu(
    estimators: Mapping[str, EstimatorFactory],
    table: str = "fp32-2026",
    cnns: bool = True,
    place: Place | None = None,
) -> None:
    """Hold out every GPU group, then every base CNN; place : where the fits run, None for this process."""
    runs = load(table)
    X, seconds, labels = runs.features(), runs.seconds, runs.labels()
    for column in (_GPU, _CNN) if cnns else (_GPU,):
        began = time.monotonic()
        where = place or Place()
        result = run_study(X, seconds, labels, leave_one_group_out(labels[column]), estimators, **where)
        show(result, f"{table}, one {column} out, {time.monotonic() - began:.0f} s", column)


def t1(place: Place | None = None) -> None:
    """Print the errors of the fast baselines, with their time, then those of the learned ones."""
    fast = {name: make for name, make in baselines_for("run").items() if name not in _SLOW}
    one_gpu({**fast, **_HARNESS}, place=place)
    one_gpu(named_baselines(*_SLOW), place=place)


def t2() -> None:
    """Hold out GPUs, CNNs and sources of the runs on several GPUs whose single-GPU time was measured."""
    table = load("multi")
    frame = table.frame
    table = table.where(
        frame["single_gpu_time_s"].notna().to_numpy() & (frame["source"] != "sia-pollux").to_numpy()
    )
    X = table.features()
    X["single_gpu_time_s"] = table.frame["single_gpu_time_s"].to_numpy(dtype=float)
    labels = table.labels()
    labels["algorithm"] = table.frame["algorithm"].astype(str).to_numpy()
    for column in (_GPU, _CNN, "source"):
        result = run_study(
            X, table.seconds, labels, leave_one_group_out(labels[column]), baselines_for("multi_gpu")
        )
        show(result, f"several GPUs ({len(table)} runs), one {column} out", column)


def t3() -> None:
    """Hold out CNNs within each pair of GPUs; then target GPUs, from the anchor time and a closed form."""
    table = load("profet-pairs")
    result = run_pair_study(table)
    show(result, "pairs, one architecture out", _CNN)
    measured, predicted = result.measured_s, result.predicted_s("profet_line")
    errors = 100.0 * np.abs(predicted / measured - 1.0)
    print(f"  PROFET's linear leg, medians: {errors.mean():.2f} % MAPE, including negative times")
    print(f"  RMSE {1e3 * np.sqrt(np.mean((predicted - measured) ** 2)):.1f} ms")
    new_target(table)


def new_target(table) -> None:
    """Predict target GPUs without training pairs: anchor time x ratio of the closed form CF21."""
    runs = load("fp32-2026")
    X, seconds, labels = runs.features(), runs.seconds, runs.labels()
    target, anchor = table.target_runs(), table.anchor_runs()
    groups = target.labels()[_GPU].to_numpy(dtype=str)
    ratio, direct = np.full(len(table), np.nan), np.full(len(table), np.nan)
    for name in np.unique(groups):
        train = labels[_GPU].to_numpy(dtype=str) != name
        fitted = cf21().fit(X[train], seconds[train], labels[_GPU].to_numpy(dtype=str)[train])
        inside = groups == name
        direct[inside] = fitted.predict(target.features()[inside])
        ratio[inside] = direct[inside] / fitted.predict(anchor.features()[inside])
    by_anchor = table.frame["anchor_time_s"].to_numpy(dtype=float) * ratio
    frame = target.labels().assign(row=range(len(table)), split=groups, measured_s=table.seconds)
    frame["anchor x ratio of 21 terms"], frame["21 terms, no anchor"] = by_anchor, direct
    result = StudyResult(frame, ("anchor x ratio of 21 terms", "21 terms, no anchor"))
    show(result, "pairs, new target GPU (4 groups: too few for an interval)", _GPU)


def t3_repeats(path: str) -> None:
    """Print the error of the linear leg on all nine repeats, each paired with that on the target."""
    runs = pd.read_csv(path)
    keys = ["model_raw", "input_size", "batch", "exp"]
    runs = runs[_is_built_in(runs)]
    errors, squares = [], []
    for anchor, target in permutations(sorted(runs["instance"].unique()), 2):
        pairs = runs[runs["instance"] == anchor].merge(runs[runs["instance"] == target], on=keys)
        X = pd.DataFrame({"anchor_time_s": pairs["batch_latency_ms_x"] / 1e3})
        measured = pairs["batch_latency_ms_y"].to_numpy(dtype=float) / 1e3
        for split in leave_one_group_out(pairs["model_raw"]):
            predicted = _fit_and_predict(X, measured, split)
            errors.append(np.abs(predicted / measured[split.test] - 1.0))
            squares.append((predicted - measured[split.test]) ** 2)
    mape, rmse = np.concatenate(errors).mean(), np.sqrt(np.concatenate(squares).mean())
    count = len(np.concatenate(errors))
    print(f"linear leg, {count:,} pairs of repeats: {100 * mape:.2f} % MAPE, RMSE {1e3 * rmse:.1f} ms")


_INSTANCES = {"g3s.xlarge": "M60", "g4dn.xlarge": "T4", "p2.xlarge": "K80", "p3.2xlarge": "V100-SXM2-16GB"}
_CNNS = {
    "AlexNet": "alexnet_profet",
    "CIFAR10_CNN": "cifar10_cnn",
    "InceptionResNetV2": "inception_resnet_v2",
    "InceptionV3": "inception_v3",
    "LeNet5": "lenet5",
    "MNIST_CNN": "mnist_cnn",
    "MobileNetV2": "mobilenet_v2_keras",
    "ResNet18": "resnet18_preact",
    "ResNet34": "resnet34_preact",
    "ResNet50": "resnet50_preact",
    "ResNetSmall": "resnet_small_profet",
    "VGG11": "vgg11_profet",
    "VGG13": "vgg13_profet",
    "VGG16": "vgg16_profet",
    "VGG19": "vgg19_profet",
}


def _is_built_in(runs: pd.DataFrame) -> np.ndarray:
    """Return whether each raw run has a workload of the built-in pairs: those with a profile."""
    profiled = load("profet-pairs").frame[["anchor_gpu", "cnn", "input_size_px", "batch_per_gpu"]]
    known = set(profiled.itertuples(index=False, name=None))
    keys = zip(
        runs["instance"].map(_INSTANCES),
        runs["model_raw"].map(_CNNS),
        runs["input_size"],
        runs["batch"],
        strict=True,
    )
    return np.array([key in known for key in keys])


def _fit_and_predict(X: pd.DataFrame, measured: np.ndarray, split: Split) -> np.ndarray:
    groups = np.zeros(len(split.train))
    return AnchorLine().fit(X.iloc[split.train], measured[split.train], groups).predict(X.iloc[split.test])


def t4() -> None:
    """Hold out GPUs of the tables of single layers, separately for convolutions and dense layers."""
    for name in ("cde-layers", "neusight-layers"):
        table = load(name)
        X, labels = table.features(), table.labels()
        for kind in ("conv", "dense"):
            rows = np.flatnonzero(labels["kind"].to_numpy(dtype=str) == kind)
            inside = labels.iloc[rows].reset_index(drop=True)
            result = run_study(
                X.iloc[rows].reset_index(drop=True),
                table.seconds[rows],
                inside,
                leave_one_group_out(inside[_GPU]),
                baselines_for("measured_layer"),
            )
            show(result, f"{name}, {kind}, one GPU out", _GPU)


def main() -> None:
    """Run the requested part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["t1", "t1b", "t2", "t3", "t4", "engines", "peers"])
    parser.add_argument("--repeats", help="CSV of PROFET's raw runs, for t3")
    parser.add_argument(
        "--cluster", default="", help="for t1, t1b, engines: tcp://HOST:PORT, local:N or a TOML file"
    )
    arguments = parser.parse_args()
    if arguments.repeats:
        t3_repeats(arguments.repeats)
        return
    with task_place(arguments.cluster) as place:
        parts = {
            "t1": lambda: t1(place),
            "t1b": lambda: one_gpu(named_baselines(*_FOR_PRECISIONS), "precisions", place=place),
            "t2": t2,
            "t3": t3,
            "t4": t4,
            "engines": lambda: one_gpu(baselines_for("run", "engine"), cnns=False, place=place),
        }
        parts["engines" if arguments.part == "peers" else arguments.part]()


if __name__ == "__main__":
    main()
