"""Coverage of the 90 % intervals of the built-in formula on runs that were held out.

python -m benchmarks.coverage       some minutes on one thread

Each GPU group, generation, family of CNNs and source of the default table is held out once: the constants
of the built-in formula are fitted without it, and the intervals are calibrated on the errors of the others.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.models.settings import host_factor, host_margin
from trainlaw.app.studies.kinds.kind import study_labels
from trainlaw.datasets import RunTable, load
from trainlaw.formulas import Formula, evaluate, load_formula, variables
from trainlaw.validate.class_intervals import ClassIntervals, architecture_factor
from trainlaw.validate.metrics import by_group, mape_percent
from trainlaw.validate.run_classes import MAIN_VENDOR, STACK_PRECISIONS, run_classes
from trainlaw.validate.study_intervals import KNOWN_SHARE_WITHIN, NEW_SHARE_WITHIN, class_intervals

from benchmarks.calibration import laws_without

#: Bounds of the coverage, percent, as mean over GPU groups.
BAR = (87.0, 95.0)
PARTS = ("gpu_group", "generation", "cnn_family", "source")
_UNKNOWN = " without stack"  # ends the name of a column of predictions
_SMALL_BATCH = 16


def held_out_runs(table: RunTable, law: Formula) -> pd.DataFrame:
    """Return labels and measured seconds of the runs, and the seconds predicted without each of `PARTS`.

    A second column per part has the predictions with an unknown stack. `is_host` says where launches decide,
    `host_factor` by how much the host widens the interval.
    """
    runs = study_labels(table).assign(measured_s=table.seconds)
    rows = formula_rows(law, table)
    eager = formula_rows(law, RunTable(table.name, table.frame.assign(stack="unknown"), table.facts))
    margin = host_margin(law)
    assert margin is not None
    runs["is_host"] = np.where(evaluate(margin, rows.columns)[0] > 0, "host decides", "GPU decides")
    of_host = host_factor(law)
    base = {name: table.matrix([name])[:, 0] for name in variables(of_host) if name not in rows.columns}
    runs["host_factor"] = evaluate(of_host, {**rows.columns, **base})[0]
    for part in PARTS:
        groups, names = runs["gpu_group"].to_numpy(str), runs[part].to_numpy(str)
        laws = laws_without(law, rows, table.seconds, groups, names)
        for ending, inputs in (("", rows), (_UNKNOWN, eager)):
            by_name = {name: inputs.predict(fitted) for name, fitted in laws.items()}
            runs[f"predicted {part}{ending}"] = [by_name[name][row] for row, name in enumerate(names)]
    return runs


def with_factors(runs: pd.DataFrame, part: str) -> Iterator[pd.DataFrame]:
    """Yield the held-out runs of each group of a part, with the factor of their interval.

    `unknown` says whether the stack was known. An interval uses nothing of the group.
    """
    for name in runs[part].unique():
        known, held_out = runs[runs[part] != name], runs[runs[part] == name]
        by_gpu = known["predicted gpu_group"]
        errors = by_group(mape_percent, known["measured_s"], by_gpu, known["cnn_base"])
        intervals = _intervals(known, "gpu_group", errors, KNOWN_SHARE_WITHIN)
        if part == "generation":
            intervals = _intervals(known, part, errors, NEW_SHARE_WITHIN).wider_than(intervals)
        widths = np.log([architecture_factor(errors.get(str(base))) for base in held_out["cnn_base"]])
        widths = np.hypot(widths, np.log(held_out["host_factor"]))
        for stack, ending in (("known", ""), ("unknown", _UNKNOWN)):
            asked = held_out if not ending else held_out.assign(stack="unknown")
            kinds = run_classes(asked["precision"], asked["stack"], asked["vendor"])
            of_class = np.log([intervals.factor(kind) for kind in kinds])
            predicted = held_out[f"predicted {part}{ending}"]
            yield held_out.assign(predicted=predicted, asked=stack, factor=np.exp(np.hypot(of_class, widths)))


def _intervals(
    runs: pd.DataFrame, part: str, errors: dict[str, float], share_within: float
) -> ClassIntervals:
    known = runs.assign(predicted=runs[f"predicted {part}"])
    depends = runs["precision"].isin(STACK_PRECISIONS) & (runs["vendor"] == MAIN_VENDOR)
    eager = runs.assign(predicted=runs[f"predicted {part}{_UNKNOWN}"], stack="unknown")[depends]
    return class_intervals(known, errors, share_within, eager)


def coverage(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per part and group of runs: coverage over GPU groups and over runs, error, factor."""
    found = []
    for part in PARTS:
        held = pd.concat(with_factors(runs, part), ignore_index=True)
        logs = np.abs(np.log(held["predicted"] / held["measured_s"]))
        held["covered"] = 100.0 * (logs <= np.log(held["factor"]))
        held["error"] = 100.0 * np.abs(held["predicted"] / held["measured_s"] - 1)
        known, unknown = (held[held["asked"] == stack] for stack in ("known", "unknown"))
        small = known[known["batch"].astype(float) <= _SMALL_BATCH]
        bits = unknown[unknown["precision"].isin(STACK_PRECISIONS) & (unknown["vendor"] == MAIN_VENDOR)]
        named = [("all", "", known), ("batches up to", str(_SMALL_BATCH), small), ("stack", "unknown", bits)]
        by = ("precision", "stack", "layout", "is_host", *(["generation"] * (part == "generation")))
        named += [(column, str(name), rows) for column in by for name, rows in known.groupby(column)]
        for kind, name, rows in named:
            means = rows.groupby("gpu_group")[["covered", "error"]].mean().mean()
            line = means["covered"], rows["covered"].mean(), means["error"], rows["factor"].median()
            found.append((part, kind, name, len(rows), *line))
    columns = ["held out", "of", "name", "runs", "covered", "covered, runs", "error", "factor"]
    return pd.DataFrame(found, columns=columns)


def main() -> None:
    """Print the table, marking what lies outside the bar; single generations are too few."""
    found = coverage(held_out_runs(load("default", RunTable), load_formula(BUILT_IN)))
    outside = ~found["covered"].between(*BAR) & (found["of"] != "generation")
    print(found.round(2).assign(outside=outside.map({True: "*", False: ""})).to_string(index=False))


if __name__ == "__main__":
    main()
