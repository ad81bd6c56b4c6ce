"""Evolved formulas of several GPUs on held-out GPUs, CNNs and sources, with the errors of the baselines.

python -m benchmarks.several_gpus            all parts, some minutes on one thread
python -m benchmarks.several_gpus gpu        one of: gpu, cnn, source, end-to-end, added

--cluster ADDRESS runs the studies on a dask cluster, as `trainlaw study` does.
"""

import argparse
import time

import numpy as np
import pandas as pd
from trainlaw.app.models.multi_gpu import EXCHANGE
from trainlaw.app.studies.definition import definition_of
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.studies.study import study_table
from trainlaw.datasets import load
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.validate.baselines import baseline, title_of
from trainlaw.validate.metrics import absolute_percentage_errors
from trainlaw.validate.result import OURS

_MACRO = "macro_gpu_group_mape_percent"
#: Target of each part: an error and its limit, percent.
BARS = {"gpu": (_MACRO, 11.5), "cnn": (_MACRO, 11.5), "source": (_MACRO, 12.5), "end-to-end": (_MACRO, 19.0)}


def studied(part: str, cluster: str = "") -> StudyOutcome:
    """Return the study of one part with all its baselines, on one worker or a cluster."""
    whole = part == "end-to-end"
    kind = STUDY_KINDS["multi-end-to-end" if whole else "multi"]
    definition = definition_of({"of": kind.name, "split": "gpu" if whole else part}, part)
    table = kind.read(definition.table, None, ())
    return study_table(
        table, definition, 1, lambda signals, total: None, lambda progress: None, cluster=cluster
    )


def show(part: str, outcome: StudyOutcome) -> None:
    """Print the limit, the errors of all estimators, and errors by source, algorithm and nodes."""
    metric, most = BARS[part]
    summary = outcome.result.summary().set_index("estimator")
    ours = summary.loc[OURS, metric]
    verdict = "below" if ours < most else "NOT below"
    runs = len(outcome.result.predictions)
    print(f"\n{part} held out: {metric} {ours:.1f}, {verdict} {most} ({runs} runs)")
    for name, row in summary.iterrows():
        print(
            f"  {title_of(str(name)):32} {row['mape_percent']:6.1f} / {row['median_ape_percent']:5.1f}"
            f" / {row['macro_gpu_group_mape_percent']:6.1f}   MAPE / median / mean over GPU groups, %"
        )
    for label in ("source", "algorithm", "nodes", "gpu_group"):
        errors = outcome.result.errors_by(label)
        table = errors.pivot(index=label, columns="estimator", values="mape_percent").round(1)
        print(table.assign(runs=errors.groupby(label)["n_rows"].first()).to_string())
    print(f"  on all rows: {outcome.formula.text()}")


def added(outcome: StudyOutcome) -> None:
    """Print the errors of formula and textbook on top of a measured or predicted time on one GPU.

    outcome : the study that holds out GPUs. The skeleton by hand of one GPU is fitted without them, too.
    """
    kind = STUDY_KINDS["multi"]
    rows = kind.rows(kind.read(outcome.definition.table, None, ()))
    alone = load("default")
    X, groups = alone.features(), alone.labels()["gpu_group"].to_numpy(dtype=str)
    parts = []
    for (split, name), formula in outcome.result.formulas.items():
        if name != OURS:
            continue
        held = np.isin(groups, outcome.held_out[split])
        single = baseline("hand_form").make().fit(X[~held], alone.seconds[~held], groups[~held])
        test = np.isin(rows.groups, outcome.held_out[split])
        features = rows.X[test]
        known = {"measured": features[SINGLE_GPU_TIME].to_numpy(), "predicted": single.predict(features)}
        for what, seconds in known.items():
            ways = {
                "perfect scaling": seconds,
                "textbook all-reduce": seconds + features[EXCHANGE].to_numpy(),
                "evolved formula": formula.predict(features.assign(**{SINGLE_GPU_TIME: seconds})),
            }
            for way, predicted in ways.items():
                error = absolute_percentage_errors(rows.seconds[test], np.asarray(predicted))
                parts.append(pd.DataFrame({"one GPU": what, "way": way, "group": split, "error": error}))
    frame = pd.concat(parts)
    means = frame.groupby(["one GPU", "way"])["error"].mean()
    macro = frame.groupby(["one GPU", "way", "group"])["error"].mean().groupby(level=[0, 1]).mean()
    print("\nadditions to the time on one GPU, with held-out GPUs")
    print(pd.DataFrame({"MAPE": means, "mean over GPU groups": macro}).round(1).to_string())


def main() -> None:
    """Run the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=(*BARS, "added"), default=[])
    parser.add_argument("--cluster", default="", help="tcp://HOST:PORT, local:N or a TOML file")
    given = parser.parse_args()
    asked = given.parts or [*BARS, "added"]
    for part in BARS:
        if part in asked or (part == "gpu" and "added" in asked):
            began = time.monotonic()
            outcome = studied(part, given.cluster)
            if part in asked:
                show(part, outcome)
                print(f"  {time.monotonic() - began:.0f} s")
            if part == "gpu" and "added" in asked:
                added(outcome)


if __name__ == "__main__":
    main()
