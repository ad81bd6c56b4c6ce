"""Plans of a training as text, CSV, JSON and plot (SVG)."""

import re
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

import pandas as pd
from trainlaw.app.answers.answer import NOTE, WARNING
from trainlaw.app.predictions.training_plans import TrainingPlans
from trainlaw.app.terminal.output import TABLES
from trainlaw.app.terminal.predictions import warning_lines
from trainlaw.app.text import svg
from trainlaw.app.text.numbers import show_hours, show_hours_range, show_number
from trainlaw.app.text.tables import Table, finite_json, fitted_lines
from trainlaw.validate.conformal import LEVEL

_MOST_UNMEASURED = 2  # rows of GPUs that nobody measured, in a table of the best plans
_MOST_LETTERS = 20  # of whose a price is, in a table
# Columns of CSV and JSON by their name in the frame; the cost has its currency.
_COLUMNS: Mapping[str, str] = TABLES["plan_columns"]


def plans_text(formula_said: str, plans: TrainingPlans, most: int, every_warning: bool = False) -> str:
    """Return the best plans as tables: measured GPUs, others, where scaling stops paying.

    formula_said : the first line. most : plans on measured GPUs that are shown. every_warning : of the first
    plan, not the gravest alone.
    """
    # The best batch and precision of each GPU and number of GPUs.
    sizes = plans.frame.drop_duplicates(["gpu", "n_gpus", "network", "price_of"])
    measured, others = sizes[sizes["is_measured"]], sizes[~sizes["is_measured"]]
    lines = [formula_said, *_title(plans), _setup(plans)]
    if len(measured):
        lines.append(_table(plans, measured.head(most)))
    if len(others):
        lines.append("never measured (no training run is on a GPU of their generation):")
        lines.append(_table(plans, others.head(_MOST_UNMEASURED if len(measured) else most)))
    lines += [*_scaling_lines(plans), *_notes(plans)]
    lines += warning_lines(plans.said_of_best(WARNING), every_warning, " (first plan): ")
    return fitted_lines("\n".join(lines))


def _title(plans: TrainingPlans) -> list[str]:
    limits = [f"{plans.options.within_h:g} h"] if plans.options.within_h < inf else []
    if plans.options.budget < inf:
        limits.append(f"{plans.options.budget:g} {_currency(plans)}")
    counted = "plan" if len(plans.considered) == 1 else "plans"
    said = f"{len(plans.frame):,} {counted}"
    if limits:
        sure = "surely " * plans.options.surely
        said = (
            f"{len(plans.frame):,} of {len(plans.considered):,} {counted} {sure}within {' and '.join(limits)}"
        )
    lines = [f"{plans.cnn.cnn}, {plans.training.title}; {said}; ranked by {plans.ranked_by}"]
    if plans.prices is None:
        return [*lines, "no prices: ranked without cost; --prices FILE adds it (docs/plan.md)"]
    return [*lines, f"prices: {plans.prices.origin}; GPUs without a price are left out"]


def _setup(plans: TrainingPlans) -> str:
    """Return what the first plan assumes, without titles so that it is one line, and what the others do."""
    several = plans.frame["gpu"].nunique() > 1 and plans.frame["n_nodes"].max() > 1
    others = "; other GPUs: their usual servers" if several else ""
    setup = plans.said_of_best(NOTE)[0]
    whose = plans.frame["price_of"].iloc[0]
    priced = f"; price of {whose}" if whose else ""
    return "first plan: " + re.sub(r"\b(setup: |link |fabric |layout )", "", setup) + others + priced


def _currency(plans: TrainingPlans) -> str:
    return plans.prices.currency if plans.prices else ""


def _table(plans: TrainingPlans, rows: pd.DataFrame) -> str:
    most, several = int(plans.considered["n_gpus"].max()), len(plans.options.counts) > 1
    records = _records(rows)
    columns: dict[str, list[object]] = {
        "GPUs": [f"{row.n_gpus} x {row.gpu}" for row in records],
        "batch": [f"{row.batch_per_gpu} {row.precision}" for row in records],
    }
    if plans.training.is_inference:
        columns["images/s"] = [f"{row.samples_per_second:,.0f}" for row in records]
    columns["time"] = [show_hours(row.training_h) for row in records]
    if not plans.training.is_inference:
        ends = [show_hours_range(row.training_low_h, row.training_high_h) for row in records]
        columns[f"{100 * LEVEL:g} % interval"] = list(ends)
    if plans.prices:
        columns[f"cost, {_currency(plans)}"] = [_figure(row.cost) for row in records]
        if plans.prices.spot:
            columns["spot"] = [_figure(row.spot_cost) for row in records]
        if rows["price_of"].any():
            columns["at"] = [_owner(plans, row.price_of) for row in records]
    columns["energy, kWh"] = [_figure(row.energy_kwh) for row in records]
    columns["max batch"] = [row.largest_batch for row in records]
    if several:
        ends_at = [(row.pays_to_gpus, "+" * (row.pays_to_gpus == most)) for row in records]
        columns["pays"] = [f"to {count}{more}" for count, more in ends_at]
    return Table.of(columns, zip(*columns.values(), strict=True)).text()


def _owner(plans: TrainingPlans, whose: str) -> str:
    """Return the provider of a shipped instance, or the first word of a source, in a few letters."""
    is_shipped = plans.prices is not None and plans.prices.is_shipped
    name = whose.rpartition(" ")[0] if is_shipped else whose.partition(" ")[0]
    return name.rstrip(":;,")[:_MOST_LETTERS] or "-"


def _records(frame: pd.DataFrame) -> list[Any]:
    """Return the rows as named tuples."""
    return list(frame.itertuples(index=False))


def _figure(value: float) -> str:
    return show_number(value) if isfinite(value) else "-"


def _scaling_lines(plans: TrainingPlans) -> list[str]:
    """Return the numbers of GPUs of the best plan's GPU, batch and precision, and where they stop paying."""
    best = plans.frame.iloc[0]
    every = plans.considered
    same = (every["gpu"] == best["gpu"]) & (every["precision"] == best["precision"])
    same &= (every["price_of"] == best["price_of"]) & (every["batch_per_gpu"] == best["batch_per_gpu"])
    rows = every[same]
    if len(rows) < 2:
        return []
    pays, most = int(best["pays_to_gpus"]), int(plans.considered["n_gpus"].max())
    end = f"up to {pays} GPUs" + (", the most asked for" if pays == most else "")
    said = f"{best['gpu']}, {best['precision']}, batch {best['batch_per_gpu']} per GPU: scaling pays {end}"
    cells = [
        [
            row.n_gpus,
            show_hours(row.training_h),
            *([_figure(row.cost)] if plans.prices else []),
            f"{100 * row.gain:.0f} %" if isfinite(row.gain) else "-",
            "yes" if row.n_gpus <= pays else "no",
        ]
        for row in _records(rows)
    ]
    cost = [f"cost, {_currency(plans)}"] if plans.prices else []
    header = ["GPUs", "time", *cost, "hours saved by doubling", "pays"]
    return [said, Table.of(header, cells).text(indent="  ")]


def _notes(plans: TrainingPlans) -> list[str]:
    options = plans.options
    least = f"{100 * options.least_gain:g} %"
    rule = f"pays: each doubling of the GPUs saves at least {least} of the hours (perfect: 50 %)"
    first = plans.frame.iloc[0]
    ends = [_figure(end) for end in (first.energy_low_kwh, first.energy_high_kwh) if isfinite(end)]
    energy = (
        f"energy: {100 * first.power_share:.0f} % of the power limit; first plan "
        f"{' to '.join(ends) or _figure(first.energy_kwh)} kWh, {first.image_j:.2g} J per image; hosts not "
        "counted"
    )
    return [*([rule] if len(options.counts) > 1 else []), energy]


def _names(plans: TrainingPlans) -> dict[str, str]:
    """Return the columns to write by their name in the frame: those of the cost only with prices."""
    if currency := _currency(plans).lower():
        return {name: f"{title}_{currency}" if "cost" in name else title for name, title in _COLUMNS.items()}
    return {name: title for name, title in _COLUMNS.items() if "cost" not in name and name != "price_of"}


def plans_csv(plans: TrainingPlans) -> str:
    """Return every plan within the limits as a line of CSV, the best first; the names contain the units."""
    names = _names(plans)
    frame = plans.frame.assign(is_measured=plans.frame["is_measured"].astype(int))
    rows = frame[list(names)].astype(object).to_numpy().tolist()
    return Table.of(names.values(), rows).csv()


def plans_json(formula_said: str, plans: TrainingPlans) -> str:
    """Return the formula, the rules, and every plan within the limits with the columns of `plans_csv`."""
    names = _names(plans)
    rows = plans.frame[list(names)].rename(columns=names).astype(object).to_dict("records")
    said = {
        "formula": formula_said.removeprefix("formula: "),
        "cnn": plans.cnn.cnn,
        "images": plans.training.images,
        "epochs": plans.training.epochs,
        "ranked_by": plans.ranked_by,
        "prices": plans.prices.origin if plans.prices else None,
        "interval_level": LEVEL,
        "setup": _setup(plans),
        "least_gain": plans.options.least_gain,
        "power_share": plans.options.power_share,
    }
    return finite_json({**said, "plans": rows})


_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 388.0, 30.0, 232.0


def plans_svg(plans: TrainingPlans) -> str:
    """Return the plans as dots, hours to the right and cost (or energy) upwards, with their Pareto front."""
    column, front = plans.second_axis, plans.front()
    shown = plans.frame[plans.frame[column].notna()]
    unit = _currency(plans) if plans.prices else "kWh"
    across, up = _axis(shown["training_h"], _LEFT, _RIGHT), _axis(shown[column], _BOTTOM, _TOP)
    second = "cost" if plans.prices else "energy (estimate)"
    title = f"{plans.cnn.cnn}, {plans.training.title}: hours and {second}"
    parts = [*svg.heading(title), *_grid(across, up)]
    for row in _records(shown):
        kind = "plan" if row.is_measured else "unmeasured"
        parts.append(
            svg.circle(across(row.training_h), up(getattr(row, column)), 1.4, kind, _hint(plans, row))
        )
    ends = [(across(row.training_h), up(getattr(row, column))) for row in _records(front)]
    parts.append(svg.path(ends, "edge"))
    for row, (x, y) in zip(_records(front), ends, strict=True):
        parts.append(svg.circle(x, y, 2.6, "front", _hint(plans, row)))
    parts += _front_labels([f"{row.n_gpus} x {row.gpu}" for row in _records(front)], ends)
    parts.append(svg.text((_LEFT + _RIGHT) / 2, 258, "training time, h", "middle"))
    parts.append(svg.text(_LEFT - 4, 24, unit, "end", "tick"))
    parts.append(svg.text(_LEFT, 272, "grey: GPUs of generations without training runs", "start", "tick"))
    return svg.standalone(svg.drawing(278, parts, title), TABLES["styles"]["plans"])


def _front_labels(names: Sequence[str], places: Sequence[tuple[float, float]]) -> list[str]:
    """Return a label at each place, above or below it; where it would cover another, its tooltip has it."""
    parts, taken = [], list[tuple[float, float, float]]()
    for name, (x, y) in zip(names, places, strict=True):
        left, width = min(x + 4, _RIGHT - 4.4 * len(name)), 4.4 * len(name)
        for line in (y - 4, y + 10):
            if all(
                abs(line - other) > 9 or left > end or left + width < start for other, start, end in taken
            ):
                taken.append((line, left, left + width))
                parts.append(svg.text(left, line, name, "start", "tick"))
                break
    return parts


def _axis(values: pd.Series, start: float, end: float) -> svg.LogAxis:
    return svg.LogAxis(float(values.min()) / 1.1, float(values.max()) * 1.1, start, end)


def _grid(across: svg.LogAxis, up: svg.LogAxis) -> list[str]:
    parts = []
    for tick in across.ticks((1.0, 2.0, 5.0)):
        parts.append(svg.line(across(tick), _TOP, across(tick), _BOTTOM, "grid"))
        parts.append(svg.text(across(tick), _BOTTOM + 11, show_number(tick), "middle", "tick"))
    for tick in up.ticks((1.0, 2.0, 5.0)):
        parts.append(svg.line(_LEFT, up(tick), _RIGHT, up(tick), "grid"))
        parts.append(svg.text(_LEFT - 4, up(tick) + 3, show_number(tick), "end", "tick"))
    return parts


def _hint(plans: TrainingPlans, row: Any) -> str:
    money = f", {_figure(row.cost)} {_currency(plans)}" if plans.prices else ""
    return (
        f"{row.n_gpus} x {row.gpu}, {row.precision}, batch {row.batch_per_gpu}: "
        f"{show_hours(row.training_h)}{money}, {_figure(row.energy_kwh)} kWh"
    )
