"""The sheet Measured: the measured runs, and how near each is to the choice on sheet Predict."""

from collections.abc import Iterator
from math import log
from typing import NamedTuple

from trainlaw.app.sheets.plan import BookPlan, SheetWriter
from trainlaw.app.text.numbers import show_seconds, show_seconds_range
from trainlaw.app.workbook.model import FIRST, LAYOUTS, new_sheet
from trainlaw.app.workbook.sizes import chosen_cnn, classes_used, pixels_used
from trainlaw.datasets.cnns.zoo import zoo_entry
from trainlaw.datasets.measurements.nearest import Measured, all_measured

_CHOICE, _FIRST = 3, 5  # rows of the choice and of the first run, counted from 0
_USUAL_PIXELS = 224
_HEADS = ("CNN, classes, GPU", "precision", "layout", "pixels", "batch", "distance", "measured")


class _Place(NamedTuple):
    """What decides how near runs are: key of CNN, classes and GPU, then precision, layout, pixels, batch."""

    key: str
    precision: str
    layout: str
    pixels: float
    batch: float


def write_measured(book: BookPlan) -> None:
    """Write the sheet; the name tl_measured is that of what the runs nearest to the choice took."""
    sheet = new_sheet(book, "Measured")
    own = _write_choice(sheet)
    sheet.heads(_FIRST - 1, _HEADS, "head_unit")
    rows = sorted(_runs())
    for row, (place, said) in enumerate(rows, start=_FIRST):
        cells: tuple[str | float, ...] = place
        for column, value in enumerate(cells):
            # The usual layout and size are left empty, which makes the file smaller.
            if value == LAYOUTS[0] or (column == 3 and value == _USUAL_PIXELS):
                continue
            if isinstance(value, str):
                sheet.text(row, column, value, "unit" if column else "text")
            else:
                sheet.number(row, column, value, "general")
        distance = _distance(place, own)
        sheet.formula(row, 5, _distance_cell(row + 1), "" if distance is None else distance, "general")
        sheet.text(row, 6, said, "unit")
    last = _FIRST + len(rows)
    sheet.plan.shared[5] = (_FIRST, last - 1)
    distances, texts = (f"${letter}${_FIRST + 1}:${letter}${last}" for letter in "FG")
    nearest = f'IF(COUNT({distances})=0,"none",INDEX({texts},MATCH(MIN({distances}),{distances},0)))'
    known = [(found, said) for place, said in rows if (found := _distance(place, own)) is not None]
    sheet.formula(_CHOICE, 6, f'IFERROR({nearest},"")', min(known)[1] if known else "none", "result_text")
    sheet.define("tl_measured", _CHOICE, 6)


def _runs() -> Iterator[tuple[_Place, str]]:
    for cnn, gpu, run in all_measured():
        usual = zoo_entry(cnn)
        key = f"{cnn}|{usual.n_classes}|{gpu}"
        pixels = float(run.input_size_px or usual.input_size_px)
        layout = LAYOUTS[run.is_channels_last]
        yield _Place(key, run.precision, layout, pixels, float(run.batch_per_gpu)), measured_text(run)


def _write_choice(sheet: SheetWriter) -> _Place:
    """Write what the runs are compared with; return it for the first choice."""
    name, pixels, classes = FIRST.cnn
    own = _Place(
        f"{name}|{classes}|{FIRST.gpu}", FIRST.precision, LAYOUTS[0], float(pixels), float(FIRST.batch)
    )
    cnn, n_classes, size = chosen_cnn("cnn"), classes_used(), pixels_used()
    layout = "tl_layout" if "tl_layout" in sheet.book.names else f'"{LAYOUTS[0]}"'
    key = f'{cnn}&"|"&{n_classes}&"|"&tl_gpu'
    cells = (key, "tl_precision", layout, size, "tl_batch_per_gpu")
    shown: tuple[str | float, ...] = own
    for column, (text, value) in enumerate(zip(cells, shown, strict=True)):
        sheet.formula(_CHOICE, column, f'IFERROR({text},"")', value, "result_text")
    return own


def _distance(place: _Place, own: _Place) -> float | None:
    """Return how far runs are from the choice; None with another CNN or GPU."""
    if place.key != own.key:
        return None
    other = [float(one != wanted) for one, wanted in zip(place[1:4], own[1:4], strict=True)]
    batch = 100 * abs(log(place.batch / own.batch)) + place.batch / 1e8
    return 1e6 * other[0] + 1e5 * other[1] + 1e4 * other[2] + batch


def _distance_cell(row: int) -> str:
    """Return the cell formula of `_distance`: each kind counts more than all behind it."""
    choice = _CHOICE + 1
    precision = f"1000000*($B{row}<>$B${choice})"
    size = f'10000*(IF($D{row}="",{_USUAL_PIXELS},$D{row})<>$D${choice})'
    layout = f'100000*(($C{row}="{LAYOUTS[1]}")<>($C${choice}="{LAYOUTS[1]}"))'
    batch = f"100*ABS(LN($E{row}/$E${choice}))+$E{row}/100000000"
    return f'IF($A{row}=$A${choice},IFERROR({precision}+{layout}+{size}+{batch},""),"")'


def measured_text(run: Measured) -> str:
    """Return what measured runs took, and at which batch."""
    is_one = run.low_s == run.high_s
    time = show_seconds(run.low_s) if is_one else show_seconds_range(run.low_s, run.high_s)
    return f"batch {run.batch_per_gpu}: {time}"


def first_text() -> str:
    """Return what the runs nearest to the first choice took."""
    name, _, classes = FIRST.cnn
    own = _Place(f"{name}|{classes}|{FIRST.gpu}", FIRST.precision, LAYOUTS[0], 224.0, float(FIRST.batch))
    known = [(found, said) for place, said in _runs() if (found := _distance(place, own)) is not None]
    return min(known)[1] if known else "none"
