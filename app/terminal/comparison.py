"""Two run folders side by side: paired differences of error on the rows that both held out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.text.numbers import show_percent
from trainlaw.app.text.tables import Table, finite_json
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.files.text_files import csv_rows, read_json, read_text
from trainlaw.validate import StudyResult
from trainlaw.validate.baselines import title_of
from trainlaw.validate.comparison import Comparison, compare_studies
from trainlaw.validate.error_table import MEANS
from trainlaw.validate.result import CONFIGURATION, MEASURED, OURS

_MAX_PREDICTIONS_BYTES = 64 * 2**20  # a row per run, split and repeat
_LAW = "law"
# What a study is defined by, of its provenance.
_DEFINITION = ("trainlaw_version", "seed", "split", "folds", "evaluations_per_search")


@dataclass(frozen=True)
class StoredRun:
    """The study of a run folder: `folder`, predictions, and its provenance (`provenance.json`)."""

    folder: Path
    result: StudyResult
    facts: dict[str, object]


def read_run(folder: Path) -> StoredRun:
    """Return the study of a run folder; InputError where a file is missing, faulty or of another kind."""
    path = folder / "predictions.csv"
    if not path.is_file():
        raise InputError(
            f"{folder}: expected a run folder with predictions.csv, as `trainlaw study` writes it"
        )
    rows = csv_rows(read_text(path, _MAX_PREDICTIONS_BYTES), path)
    names = rows[0] if len(rows) > 1 and len(set(map(len, rows))) == 1 else []
    if not {"row", "split", MEASURED} <= set(names) or len(set(names)) < len(names):
        raise InputError(
            f"{path}: expected rows of row, split, labels, {MEASURED} and one column per estimator, each once"
        )
    table = pd.DataFrame(rows[1:], columns=names)
    estimators = tuple(names[names.index(MEASURED) + 1 :])  # the columns after the labels
    try:
        table["row"] = table["row"].astype(np.int64)
        for name in (MEASURED, *estimators):
            table[name] = pd.to_numeric(table[name].replace("", "nan")).astype(float)
        facts = read_json(folder / "provenance.json")
    except (OverflowError, ValueError) as error:
        raise InputError(f"{folder}: a file of the run was altered: {error}") from None
    if not isinstance(facts, dict):
        raise InputError(f"{folder}/provenance.json: expected an object")
    return StoredRun(folder, StudyResult(table, estimators), facts)


def compare_runs(first: StoredRun, second: StoredRun, estimators: tuple[str, str], by: str) -> Comparison:
    """Return how much larger the error of the second run's estimator is; see `compare_studies`.

    InputError where the runs are of different tables, UnknownNameError for a name that does not occur.
    """
    if first.facts.get("table_sha256") != second.facts.get("table_sha256"):
        raise InputError(
            f"{first.folder} and {second.folder} have different tables (their table_sha256 differ), "
            "so their rows cannot be paired"
        )
    for run, name in zip((first, second), estimators, strict=True):
        if name not in run.result.estimators:
            raise unknown_name(f"estimator of {run.folder}", name, run.result.estimators)
    if by in (CONFIGURATION, MEASURED) or by not in first.result.predictions:
        known = list(first.result.predictions.columns)[2:]
        raise unknown_name("label to compare by", by, known[: known.index(MEASURED)])
    return compare_studies(first.result, second.result, estimators, by)


def comparison_text(first: StoredRun, second: StoredRun, estimators: tuple[str, str], by: str) -> str:
    """Return the comparison for a terminal: what differs in the definitions, the difference, and by group."""
    comparison = compare_runs(first, second, estimators, by)
    names = [
        f"{run.folder.name}: {'evolved formula' if name == OURS else title_of(name)}"
        for run, name in zip((first, second), estimators, strict=True)
    ]
    better = "better" if comparison.difference_percent <= 0 else "worse"
    undecided = "the interval contains zero: undecided"
    verdict = f"the second is {better}" if comparison.is_decided else undecided
    ends = f"{comparison.low_percent:+.2f} to {comparison.high_percent:+.2f}"
    interval = f"90 % interval {ends} (bootstrap over groups)"
    if len(comparison.by_group) == 1:
        interval, verdict = "no interval: it takes at least two groups", "undecided"
    columns = ["group", "n_rows", "first_mape_percent", "second_mape_percent", "difference_percent"]
    ordered = comparison.by_group.sort_values("difference_percent", kind="stable")
    rows = [
        [group, number, show_percent(first_error), show_percent(second_error), f"{difference:+.1f}"]
        for group, number, first_error, second_error, difference in ordered[columns].to_numpy().tolist()
    ]
    defined = ((name, *(run.facts.get(name) for run in (first, second))) for name in _DEFINITION)
    differing = [f"  {name}: A {one}, B {other}" for name, one, other in defined if one != other]
    a, b = map(_summary, (first, second), estimators)
    means = [
        f"  {title}: A {show_percent(float(a[metric]))} %, B {show_percent(float(b[metric]))} %"
        for metric, title in MEANS.items()
        if metric in a and metric in b
    ]
    parts = [
        f"A {names[0]}\nB {names[1]}",
        *differing,
        f"B - A: {comparison.difference_percent:+.2f} points of mean absolute percentage error, mean over "
        f"{len(rows)} groups of {by};",
        f"  {interval}; {verdict}",
        f"  {comparison.n_rows} rows paired, {comparison.n_unpaired} held out by one run only",
        *means,
        "",
        Table.of([by, "runs", "A %", "B %", "B - A"], rows).text(indent="  "),
    ]
    return "\n".join(parts)


def comparison_json(first: StoredRun, second: StoredRun, estimators: tuple[str, str], by: str) -> str:
    """Return the comparison as JSON: errors in percent, differences in points, second minus first."""
    found = compare_runs(first, second, estimators, by)
    names = ("difference_percent", "low_percent", "high_percent", "is_decided", "n_rows", "n_unpaired")
    sides = [
        {
            "folder": str(run.folder),
            "estimator": name,
            "means_percent": {metric: _summary(run, name)[metric] for metric in MEANS},
            "front": [{"constants": size, **row} for size, row in _front_of(run.folder).items()],
        }
        for run, name in zip((first, second), estimators, strict=True)
    ]
    groups = found.by_group.to_dict("records")
    return finite_json(
        {"sides": sides, "by": by, **{name: getattr(found, name) for name in names}, "groups": groups}
    )


def _summary(run: StoredRun, estimator: str) -> dict[str, float]:
    """Return the errors of an estimator over all rows of its run, by metric, %."""
    means = run.result.summary().set_index("estimator").loc[estimator]
    return dict(zip(map(str, means.index), means.to_numpy(dtype=float).tolist(), strict=True))


def fronts_text(first: Path, second: Path) -> str:
    """Return the fronts of two run folders side by side, a row per number of constants; "" without any."""
    fronts = []
    for folder in (first, second):
        figures = {size: list(map(show_percent, row.values())) for size, row in _front_of(folder).items()}
        fronts.append({size: (error, f"{low} to {high}") for size, (error, low, high) in figures.items()})
    sizes = dict.fromkeys(size for front in fronts for size in front)
    header = ["constants", *(f"{name} {part}" for name in "AB" for part in ("%", "90 % interval"))]
    rows = [
        [size, *(cell for front in fronts for cell in front.get(size, ("-", "-")))]
        for size in sorted(sizes, key=lambda size: (isinstance(size, str), size))
    ]
    table = Table.of(header, rows).text(indent="  ")
    return f"\nheld-out error by number of constants:\n{table}" if rows else ""


def _front_of(folder: Path) -> dict[int | str, dict[str, float]]:
    """Return the held-out errors of a run folder's front and their intervals, %, by number of constants."""
    path = folder / "front.csv"
    rows = csv_rows(read_text(path, _MAX_PREDICTIONS_BYTES), path) if path.is_file() else []
    columns = [f"{name}_percent" for name in ("held_out", "low", "high")]
    if not rows or not {"constants", "method", *columns} <= set(rows[0]):
        return {}
    found = {}
    for row in (dict(zip(rows[0], cells, strict=True)) for cells in rows[1:]):
        size = _LAW if row["method"] == _LAW else int(_number(row["constants"] or "0", path))
        found[size] = {name: _number(row[name], path) for name in columns}
    return found


def _number(text: str, path: Path) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        raise InputError(f"{path}: expected a number, got {text[:40]!r}") from None
