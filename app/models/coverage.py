"""Whether runs are among those that a formula was made of."""

from trainlaw.app.models.calibration import calibration_of
from trainlaw.datasets import DATASETS, RunTable, load
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import Formula

_SAME_RUN = ["gpu", "cnn", "input_size_px", "batch_per_gpu", "n_gpus", "precision", "time_s"]


def in_sample_warning(formula: Formula, table: MeasuredTable) -> list[str]:
    """Return a warning, with an empty line, where a formula was made of runs of this table; none otherwise.

    Compared are the sha256 of its table and of a calibration's runs and, for a built-in table, the runs.
    """
    calibrated = (calibration_of(formula) or {}).get("table_sha256")
    known = {formula.provenance.get("table_sha256"), calibrated} - {None}
    number = len(table) if table.sha256 in known else _shared_runs(formula, table)
    if not number:
        return []
    what = "all" if number == len(table) else f"{number:,} of {len(table):,}"
    return [
        f"warning: in-sample: {what} runs of this table are among those that the formula was made of, so the "
        "errors are not those on unseen GPUs; its own held-out errors are in `trainlaw show --all`",
        "",
    ]


def _shared_runs(formula: Formula, table: MeasuredTable) -> int:
    """Return how many runs of a table are in the built-in table that a formula was made of."""
    name = str(formula.provenance.get("table", ""))
    if name not in DATASETS or DATASETS[name].kind != "runs" or not isinstance(table, RunTable):
        return 0
    trained = load(name, RunTable).frame[_SAME_RUN].drop_duplicates()
    return len(table.frame[_SAME_RUN].merge(trained))
