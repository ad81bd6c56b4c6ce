"""What compiling is worth for a forward pass: `python -m benchmarks.compiling`.

Pairs of the data set forward that differ in the compiler only: measured time per image of inductor over that
of eager NCHW, by family of CNN, and the ratio by a formula of the other families: the skeleton of forward
passes, fitted, without a search; then by models of the ratio from what a CNN is made of.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from trainlaw.app.studies.forward_skeleton import FORWARD_NAMES, ForwardSearch
from trainlaw.app.studies.search import fitted_only
from trainlaw.datasets import load
from trainlaw.evolve import SearchSettings
from trainlaw.validate.splits import grouped_k_fold

from benchmarks.cnn_shares import forest, shares

_PAIR = ["gpu", "cnn", "cnn_base", "cnn_family", "input_size_px", "framework_version"]


def held_out_seconds() -> pd.DataFrame:
    """Return the forward passes with the time by a formula of the other families."""
    table = load("forward")
    frame = table.frame.assign(
        **{name: table.labels()[name].to_numpy() for name in ("cnn_base", "cnn_family")}
    )
    names = dict.fromkeys((*FORWARD_NAMES, "is_tensor_precision", "bytes_per_element"))
    X, groups = table.features(names), table.labels()["gpu_group"].to_numpy(dtype=str)
    predicted = np.full(len(frame), np.nan)
    for split in grouped_k_fold(frame["cnn_family"], 5):
        search = fitted_only(ForwardSearch, SearchSettings(evaluations=1, max_constants=30))()
        search.fit(X.iloc[split.train], table.seconds[split.train], groups[split.train])
        predicted[split.test] = search.predict(X.iloc[split.test])
    return frame.assign(predicted_s=predicted, error=np.abs(predicted / table.seconds - 1))


def pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return measured and predicted ratios of inductor to eager NCHW, per image, one row per pair."""
    frame = frame.assign(
        measured=frame["time_s"] / frame["batch_per_gpu"],
        predicted=frame["predicted_s"] / frame["batch_per_gpu"],
    )
    nchw = frame[frame["layout"] == "nchw"].groupby([*_PAIR, "compilation"])[["measured", "predicted"]]
    both = nchw.median().unstack("compilation").dropna()
    ratios = {name: both[name]["inductor"] / both[name]["eager"] for name in ("measured", "predicted")}
    return pd.DataFrame(ratios).reset_index()


def by_shares(found: pd.DataFrame) -> None:
    """Print how many CNNs have a ratio within 15 %, by models of shares, for each way to hold out."""
    table = load("forward")
    keys = ["cnn", "input_size_px"]
    known = pd.concat([table.frame[keys], shares(table)], axis=1).drop_duplicates(keys)
    X = found[keys].merge(known, on=keys).drop(columns=keys)
    X = X.assign(
        ada=(found["gpu"] == "RTX 4090") * 1.0, later=found["framework_version"].str.startswith("2.9") * 1.0
    )
    y = np.log(found["measured"])
    models = {
        "linear": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 12))),
        "forest": forest(),
        "nearest": make_pipeline(StandardScaler(), KNeighborsRegressor(5, weights="distance")),
        "boosting": GradientBoostingRegressor(
            loss="absolute_error", n_estimators=200, max_depth=4, learning_rate=0.06, subsample=0.6,
            min_samples_leaf=10, random_state=0,
        ),
    }  # fmt: skip
    for held in ("cnn", "cnn_base", "cnn_family"):
        apart = {name: np.full(len(y), np.nan) for name in ("median", *models)}
        for split in grouped_k_fold(found[held], 5):
            apart["median"][split.test] = y.iloc[split.train].median() - y.iloc[split.test]
            for name, model in models.items():
                model.fit(X.iloc[split.train], y.iloc[split.train])
                apart[name][split.test] = model.predict(X.iloc[split.test]) - y.iloc[split.test]
        shown = {
            name: 100 * (pd.Series(np.abs(np.expm1(error))).groupby(found["cnn"]).mean() <= 0.15).mean()
            for name, error in apart.items()
        }
        print(f"held out by {held}, CNNs within 15 %:", {name: round(share) for name, share in shown.items()})


def agreements(found: pd.DataFrame) -> None:
    """Print how many ratios are within 15 % of what was measured elsewhere: what a model can hope for."""
    found = found.assign(
        place=found["gpu"] + ", PyTorch " + found["framework_version"], log=np.log(found["measured"])
    )
    places = found.pivot_table(index=["cnn", "input_size_px"], columns="place", values="log")
    for first, second in combinations(places, 2):
        apart = (places[first] - places[second]).dropna()
        print(f"measured on {first} and on {second}: {_within(apart):.0f} % of {len(apart)}")
    for title, own, whole in (
        ("other variants of the architecture", "cnn", "cnn_base"),
        ("other architectures of the family", "cnn_base", "cnn_family"),
    ):
        apart = pd.concat(
            group["log"] - kin.loc[kin[own] != name, "log"].median()
            for _, kin in found.groupby(["place", whole])
            for name, group in kin.groupby(own)
        ).dropna()
        per_cnn = np.expm1(apart).abs().groupby(found["cnn"]).mean()
        print(f"median of {title}: {100 * (per_cnn <= 0.15).mean():.0f} % of {len(per_cnn)} CNNs")


def _within(apart: pd.Series) -> float:
    return float(100 * (np.expm1(apart).abs() <= 0.15).mean())


def main() -> None:
    """Print errors with families held out, and the ratios."""
    frame = held_out_seconds()
    by_stack = 100 * frame.groupby(["stack", "cnn_family"])["error"].mean().groupby("stack").mean()
    whole = 100 * frame.groupby("cnn_family")["error"].mean().mean()
    print(f"families held out, mean over families: {whole:.1f} %; by stack:", by_stack.round(1).to_dict())
    found = pairs(frame)
    apart = np.abs(found["predicted"] / found["measured"] - 1)
    per_cnn = apart.groupby(found["cnn"]).mean()
    shares = 100 * (per_cnn <= 0.15).mean(), 100 * (apart <= 0.15).mean()
    print(f"{len(found)} pairs of {len(per_cnn)} CNNs; predicted ratio within 15 %: "
          f"{shares[0]:.0f} % of the CNNs, {shares[1]:.0f} % of the pairs")  # fmt: skip
    agreements(found)
    by_shares(found)
    print(found.groupby("gpu")["measured"].quantile([0.05, 0.5, 0.95]).unstack().round(2).to_string())
    table = found.groupby("cnn_family").agg(
        cnns=("cnn", "nunique"), ratio=("measured", "median"),
        low=("measured", lambda values: values.quantile(0.05)),
        high=("measured", lambda values: values.quantile(0.95)), predicted=("predicted", "median"),
    )  # fmt: skip
    print(table.sort_values("ratio").round(2).to_string())


if __name__ == "__main__":
    main()
