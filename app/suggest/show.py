"""Suggestions as a table with reasons and as a plan for `trainlaw profile`; a replay as a table."""

import textwrap
from collections.abc import Sequence
from typing import Any

from trainlaw.app.suggest.candidates import Suggestion, Suggestions
from trainlaw.app.suggest.front import StudiedFront
from trainlaw.app.suggest.replay import RANDOM, Replay
from trainlaw.app.text.csv import rows_as_csv
from trainlaw.app.text.numbers import show_number, show_percent, show_seconds
from trainlaw.app.text.tables import fitted_table, terminal_width, text_table
from trainlaw.datasets import RunTable

_PLANNED = ("cnn", "batch_per_gpu", "input_size_px", "n_classes", "precision")
_REASONS = (
    "predicted_s",
    "cost_s",
    "represents_percent",
    "uncertainty_percent",
    "disagreement_percent",
    "new_range",
)
_SHOWN_RANGES = 2


def suggestions_text(found: Suggestions, pool: RunTable, front: StudiedFront, note: str) -> str:
    """Return a table of what to measure and why; note : a line about the pool."""
    rows = [[number, *_cells(member, pool)] for number, member in enumerate(found.members, start=1)]
    header = [
        "", "CNN", "batch", "px", "GPU", "time", "cost", "represents", "uncertain", "disagree", "new range"
    ]  # fmt: skip
    before, after = (show_percent(100 * share) for share in found.covered)
    cost = show_seconds(sum(member.cost_s for member in found.members))
    prose = (
        f"together: distance of the pool to what is measured {_less(found.represented)}, variance of its "
        f"predicted times {_less(found.removed)}, ranges of the features covered {before} -> {after} %, "
        f"{cost} of iterations",
        "represents: share of that distance, after those above; uncertain: by the constants; disagree: "
        "formulas of the front, fitted to resampled runs",
        f"formula: {front.origin}, and {len(front.others)} more of its front; {len(front.measured):,} runs "
        "measured so far",
    )
    wrapped = [textwrap.fill(text, terminal_width(), break_on_hyphens=False) for text in prose]
    return "\n".join([note, fitted_table(header, rows), "", *wrapped])


def _less(share: float) -> str:
    return f"-{show_percent(100 * share)} %"


def _cells(member: Suggestion, pool: RunTable) -> list[object]:
    run = pool.frame.iloc[member.row]
    shares = (member.represents, member.uncertainty, member.disagreement)
    return [
        run["cnn"], int(run["batch_per_gpu"]), int(run["input_size_px"]), run["gpu"],
        show_seconds(member.predicted_s), show_seconds(member.cost_s),
        *(f"{show_percent(100 * share)} %" for share in shares), _new_ranges(member) or "-",
    ]  # fmt: skip


def _new_ranges(member: Suggestion, most: int = _SHOWN_RANGES) -> str:
    texts = [f"{name} x {show_number(factor, 2)}" for name, factor in member.new[:most]]
    more = len(member.new) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")


def plan_csv(found: Suggestions, pool: RunTable) -> str:
    """Return the plan for `trainlaw profile --plan`: its columns, the GPU, and the reasons in percent, s."""
    rows = []
    for member in found.members:
        run = pool.frame.iloc[member.row]
        device = pool.facts.gpus.find(str(run["gpu"]))
        threads = int(device.sm_count) if device.device == "CPU" else ""
        shares = (member.represents, member.uncertainty, member.disagreement)
        rows.append(
            [
                *(run[name] if isinstance(run[name], str) else int(run[name]) for name in _PLANNED),
                threads, int(run["n_gpus"]), run["gpu"], member.predicted_s, member.cost_s,
                *(100 * share for share in shares), _new_ranges(member, len(member.new)),
            ]
        )  # fmt: skip
    return rows_as_csv([*_PLANNED, "threads", "n_gpus", "gpu", *_REASONS], rows)


def replay_text(replay: Replay, source: str) -> str:
    """Return the errors of all strategies compared with random choice; source : of the pool's runs."""
    settings, table = replay.settings, replay.differences()
    start = table.loc[table["size"] == 0, "error_percent"].item()
    parts = [
        _title(replay, source),
        f"error with the {settings.start} runs at first: {start:.2f} %",
    ]
    for size in settings.sizes:
        rows = [
            [row.strategy, f"{row.error_percent:.2f} %", *_against_random(row, settings.seeds)]
            for row in table[table["size"] == size].itertuples()
        ]
        header = [f"{size} chosen", "error", "against random", "95 % interval", "lower in", "cost of the set"]
        parts += ["", text_table(header, rows)]
    parts += ["", "error: MAPE of held-out runs; against random: points of percent, paired, seeds resampled"]
    return "\n".join(parts)


def _against_random(row: Any, seeds: int) -> list[str]:
    """Difference, interval, seeds with a lower error and cost of a row of `Replay.differences`."""
    cost = show_seconds(row.cost_s)
    if row.strategy == RANDOM:
        return ["-", "-", "-", cost]
    interval = f"{row.low:+.2f} to {row.high:+.2f}"
    return [f"{row.difference_percent:+.2f}", interval, f"{row.wins} of {seeds}", cost]


def _title(replay: Replay, source: str) -> str:
    settings = replay.settings
    inside, outside = replay.rows
    kind = "architectures" if settings.held_out == "cnn" else "configurations"
    return (
        f"{source}: {inside:,} runs; {settings.seeds} seeds, a third of the {kind} held out on all GPUs\n"
        f"form, found on {outside:,} runs of other sources: {replay.form.text()}"
    )


def replay_csv(replay: Replay) -> str:
    """Return one line per seed, size and strategy: error in percent, seconds of measuring."""
    rows: Sequence[Sequence[object]] = replay.errors.to_numpy().tolist()
    return rows_as_csv(list(replay.errors.columns), rows)
