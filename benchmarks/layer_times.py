"""Formulas of measured layers: held-out errors with those of all baselines, and known GPUs mixed at random.

python -m benchmarks.layer_times held-out [TABLE/KIND/PASS ...]   each GPU group held out in turn
python -m benchmarks.layer_times shapes [TABLE/KIND/PASS ...]     each family of shapes held out in turn
python -m benchmarks.layer_times mixed [TABLE/KIND/PASS ...]      a random fifth of the rows of all GPUs

Errors are means over all held-out rows, percent. The published error for known GPUs, 10.9 % (Justus, Brennan,
Bonner, McGough, "Predicting the computational cost of deep learning models", IEEE Big Data 2018), is that of
a perceptron on layers of these six GPUs, with rows split at random.
"""

import argparse
import time
from functools import partial

import numpy as np
from trainlaw.app.studies.kinds.layer_times import (
    LayerTimeFit,
    layer_time_rows,
    read_layer_times,
    skeleton_of,
)
from trainlaw.validate import (
    EstimatorFactory,
    Split,
    leave_one_group_out,
    run_study,
)
from trainlaw.validate.baselines import baselines_for, title_of
from trainlaw.validate.baselines.learned import GradientBoosting

CONVOLUTIONS = ("neusight-layers/conv/forward", "cde-layers/conv/forward", "cde-layers/conv/train")
DENSE = ("neusight-layers/dense/forward", "cde-layers/dense/forward", "cde-layers/dense/train")


def measure(text: str, part: str, only: str) -> None:
    """Print mean, median and each held-out group's error of the estimators whose names contain `only`."""
    rows = layer_time_rows(read_layer_times(text, None, ()))
    formula = partial(LayerTimeFit, skeleton_of(rows))
    estimators: dict[str, EstimatorFactory] = {"formula": formula, **baselines_for("measured_layer")}
    if part == "mixed":
        order = np.random.default_rng(0).permutation(len(rows.seconds))
        fifth = len(order) // 5
        splits = (Split("a random fifth", np.sort(order[fifth:]), np.sort(order[:fifth]), ()),)
        estimators["boosting on formula"] = partial(GradientBoosting, formula)
    else:
        label = {"held-out": "gpu_group", "shapes": "cnn_base"}[part]
        splits = leave_one_group_out(rows.labels[label])
    estimators = {name: factory for name, factory in estimators.items() if only in name}
    began = time.monotonic()
    result = run_study(rows.X, rows.seconds, rows.labels, splits, estimators)
    print(f"\n{text}, {part}: {len(result.predictions):,} rows, {time.monotonic() - began:.0f} s")
    groups = result.predictions["split"].to_numpy(str)
    for name in estimators:
        error = 100 * np.abs(result.predicted_s(name) / result.measured_s - 1)
        each = ", ".join(f"{group} {error[groups == group].mean():.1f}" for group in np.unique(groups))
        print(f"  {title_of(name):30} {error.mean():6.2f} / median {np.median(error):6.2f}   {each}")
    for (split, _), formula in result.formulas.items():
        print(f"  without {split}: {formula.text()}")


def main() -> None:
    """Measure the requested tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["held-out", "shapes", "mixed"])
    parser.add_argument("tables", nargs="*", default=[*CONVOLUTIONS, *DENSE])
    parser.add_argument("--only", default="", help="estimators whose names contain this; default: all")
    arguments = parser.parse_args()
    for text in arguments.tables:
        measure(text, arguments.part, arguments.only)


if __name__ == "__main__":
    main()
