"""Predictions as text, CSV and JSON."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import pandas as pd
from trainlaw.app.answers.answer import FIRST_WARNINGS
from trainlaw.app.answers.facts import settings_text
from trainlaw.app.answers.fixed_rows import NO_INTERVAL
from trainlaw.app.models.calibration import own_error
from trainlaw.app.predictions.predict import Prediction, warnings_of
from trainlaw.app.predictions.training import Training
from trainlaw.app.text.csv import columns_as_csv
from trainlaw.app.text.numbers import show_hours, show_number, show_percent, show_seconds, show_seconds_range
from trainlaw.app.text.tables import Table, finite_json, fitted_lines
from trainlaw.datasets import Gpu
from trainlaw.datasets.measurements.memory_fit import FITS
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.formulas import Formula
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.formula_errors import held_out_kind, overall_error
from trainlaw.validate.result import OURS

if TYPE_CHECKING:
    # Its readers of profiles take a while to load.
    from trainlaw.app.predictions.anchor import AnchorPrediction


def formula_line(formula: Formula, origin: str, scaling_origin: str = "") -> str:
    """Return the first line of an output: the formula in use, its error, and the one for several GPUs."""
    error, calibrated = overall_error(formula, OURS), own_error(formula)
    held_out = f"; error on held-out {held_out_kind(formula)}s {show_percent(error)} %"
    shown = f"; {calibrated}" if calibrated else held_out if isfinite(error) else ""
    return f"formula: {origin}{shown}" + (
        f"; several GPUs: {scaling_origin.removeprefix('the ')}" if scaling_origin else ""
    )


def predictions_text(
    formula_said: str,
    predictions: Sequence[Prediction],
    training: Training | None = None,
    most: int | None = None,
    every_warning: bool = False,
) -> str:
    """Return one prediction as a paragraph, several as a table, each with unit, interval and warnings.

    formula_said : the first line. training : what the hours are for, None for none. most : rows that are
    shown, None for all. every_warning : not the gravest alone.
    """
    if len(predictions) == 1:
        return fitted_lines("\n".join([formula_said, *_one(predictions[0], every_warning)]))
    shown = predictions[:most]
    # Each kind of warning with the number of its rows, and what it says of the first of them.
    counted = [
        f"({len(texts)} of {len(shown)} rows{', such as' * (len({*texts}) > 1)}): {texts[0].splitlines()[0]}"
        for texts in warnings_of(shown)
    ]
    lines = [formula_said, *_many(shown, training), *warning_lines(counted, every_warning, " ")]
    setups = list(dict.fromkeys(row.notes[0] for row in shown if row.notes))
    lines += setups if len(setups) == 1 else [f"{setups[0]}; other rows: see --format csv"] if setups else []
    if len(shown) < len(predictions):
        lines.append(
            f"{len(shown)} of {len(predictions)}; --top {len(predictions)} shows all, --out x.csv too"
        )
    return fitted_lines("\n".join(lines))


def written_blocks(
    blocks: Iterable[pd.DataFrame], as_json: bool, counted: Callable[[int], None]
) -> Iterator[str]:
    """Yield the text of predictions that come in blocks, as that of all at once.

    as_json : a JSON list with an object per prediction, nan is null; otherwise CSV, with the units in the
    names of columns, nan is empty. counted : called with the number of predictions of each block.
    """
    for number, block in enumerate(blocks):
        counted(len(block))
        if as_json:
            text = finite_json(block.assign(interval_level=LEVEL).to_dict("records"))
            yield ("," if number else "[") + text[1:-2]
        else:
            text = columns_as_csv({str(name): block[name].tolist() for name in block})
            yield text.partition("\n")[2] if number else text
    yield "\n]\n" if as_json else ""


def warning_lines(texts: Sequence[str], every: bool = False, after: str = ": ") -> list[str]:
    """Return the first warnings, the gravest, a line each, and how many others there are.

    every : all of them. after : what stands after the word "warning".

    >>> warning_lines(["cannot fit", "a", "b", "c"])
    ['warning: cannot fit', 'warning: a', 'warning: b', '1 further warning: --all-warnings']
    """
    shown = [f"warning{after}{text}" for text in (texts if every else texts[:FIRST_WARNINGS])]
    others = len(texts) - len(shown)
    further = f"{others} further warning{'s' * (others > 1)}: --all-warnings"
    return [*shown, *([further] if others else [])]


def _one(prediction: Prediction, every_warning: bool) -> list[str]:
    machine = prediction.gpu if prediction.n_gpus == 1 else f"{prediction.n_gpus} x {prediction.gpu}"
    return [
        f"{prediction.cnn}, batch {prediction.batch_per_gpu}, on {machine}",
        *(f"  {title:<16}{text}" for title, text in prediction.figures),
        *(f"  {note}" for note in prediction.notes),
        *(f"  {line}" for line in warning_lines(prediction.warnings, every_warning)),
        *(explanation_lines(prediction.explanation) if prediction.explanation else []),
    ]


def explanation_lines(explanation: Mapping[str, Any]) -> list[str]:
    """Return an explanation as lines: resources with their terms, and what binds."""
    rows = []
    for group in explanation["resources"]:
        rows.append([show_seconds(group["time_s"]), f"{100 * group['share']:.1f} %", group["resource"]])
        rows += [[show_seconds(one["time_s"]), "", f"  {one['term']}"] for one in group["terms"]]
    lines = [f"  made of {show_seconds(explanation['time_s'])}:"]
    lines.append(Table.of(["time", "share", "limited by"], rows).text(indent="    "))
    for sides in explanation["largest_of"]:
        first, *others = sorted(sides.items(), key=lambda side: -side[1])
        rest = ", ".join(f"{name} {show_seconds(time)}" for name, time in others)
        lines.append(f"    {first[0]} binds: {show_seconds(first[1])}; {rest}")
    return lines


def setup_text(setup: Setup, gpu: Gpu) -> str:
    """Return the precision, PyTorch's default on a GPU where none is given, and settings not the default."""
    precision = setup.precision or f"{gpu.default_precision} (PyTorch's default on this GPU)"
    host = "" if setup.host_launch_s else f"host {show_seconds(gpu.usual_launch_s)} per layer"
    parts = (precision, f"layout {setup.layout or 'nchw'}", host, settings_text(vars(setup)))
    return ", ".join(filter(None, parts))


def _many(predictions: Sequence[Prediction], training: Training | None) -> list[str]:
    """Return what all predictions share in one line, and a table of where they differ and of their times."""
    differing: dict[str, list[str]] = {
        "CNN": [row.cnn for row in predictions],
        "GPU": [row.gpu for row in predictions],
        "GPUs": [str(row.n_gpus) for row in predictions],
        "batch": [str(row.batch_per_gpu) for row in predictions],
        "precision": [row.precision for row in predictions],
        "settings": [settings_text(vars(row)) for row in predictions],
    }
    shared = {name: texts[0] for name, texts in differing.items() if len(set(texts)) == 1 and name != "GPU"}
    columns = {name: texts for name, texts in differing.items() if name not in shared}
    columns["time"] = [show_seconds(row.time_s) for row in predictions]
    columns[f"{100 * LEVEL:g} % interval"] = [
        "-" if row.interval is None else show_seconds_range(*row.interval) for row in predictions
    ]
    if training is not None:
        columns["training"] = [show_hours(row.number("training_h")) for row in predictions]
    columns["images/s"] = [show_number(row.images_per_second) for row in predictions]
    if any(notes := [_note(row) for row in predictions]):
        columns["notes"] = notes
    if shared.get("GPUs") == "1":
        shared.pop("GPUs")
    said = ", ".join(
        text if name in ("CNN", "settings") else f"{name} {text}" for name, text in shared.items() if text
    )
    if training is not None:
        said += f"; training: {training.title}"
    return [said, Table.of(list(columns), list(zip(*columns.values(), strict=True))).text()]


def _note(row: Prediction) -> str:
    if row.fits_in_memory != FITS:
        return str(row.fits_in_memory)
    number = len(row.warnings)
    return "" if not number else "1 warning" if number == 1 else f"{number} warnings"


def anchor_text(prediction: "AnchorPrediction", every_warning: bool = False) -> str:
    """Return a prediction from a profile as a paragraph."""
    what, low, high = prediction.workload, prediction.low_s, prediction.high_s
    bounds = f"{100 * LEVEL:g} % interval {show_seconds_range(low, high)}" if low and high else ""
    parts = [what.cnn or "profiled iteration"]
    parts += [f"batch {what.batch}"] if what.batch else []
    parts += [f"{what.pixels} px"] if what.pixels else []
    error = prediction.error_percent
    lines = [
        f"{', '.join(parts)}, from {prediction.anchor} to {prediction.gpu}",
        f"  on {prediction.anchor:<15} {show_seconds(prediction.anchor_time_s)}   ({prediction.step}; "
        f"{prediction.profile})",
        f"  on {prediction.gpu:<15} {show_seconds(prediction.time_s)}   ({bounds or NO_INTERVAL})",
        *(f"  {line}" for line in warning_lines(prediction.warnings, every_warning)),
        "",
        f"formula: {prediction.formula}"
        + (f"; held-out error {show_percent(error)} %" if isfinite(error) else ""),
    ]
    return fitted_lines("\n".join(lines))


def anchor_json(prediction: "AnchorPrediction") -> str:
    """Return a prediction from a profile as a JSON object: seconds; nan becomes null."""
    plain = asdict(prediction) | {"interval_level": LEVEL}
    plain["law"] = plain.pop("formula")  # programs that read this know it by its older name
    return finite_json(plain)
