"""Images of any size: the sheet Image sizes has a rule for each CNN, the sheet Image size computes by it.

The rule is that of `trainlaw.datasets.cnns.any_size`, so the counts equal those of `trainlaw predict`.
"""

from collections.abc import Iterator
from functools import cache
from itertools import chain

import numpy as np
from trainlaw.app.models.lookup_tables import cnn_rows
from trainlaw.app.sheets.plan import BookPlan, column_range
from trainlaw.app.workbook.model import FIRST, Model, fact, is_listed, new_sheet
from trainlaw.datasets.cnns.any_size import LARGEST, SUMS, AnySize, any_size
from trainlaw.datasets.cnns.counts import LAYER_LIMITS, THIN
from trainlaw.datasets.cnns.zoo import MAX_CLASSES, MAX_INPUT_PX
from xlsxwriter.utility import xl_col_to_name

RULES = "Image sizes"
# More than the sides and shapes of any CNN of the zoo, which a test checks.
SIDES, SHAPES = 16, 200
# After the name of a CNN: its rule for fewer classes than `THIN`.
_FEW = ", few classes"
_TOP = 6  # first row of both sheets' tables, counted from 0
_OF_SIDE = ("parent", "factor", "more", "stride", "1 + rest", "per class", "1 + equal to")
_OF_SHAPE = ("elements 1", "side 1", "elements 2", "side 2", "convolutions", "without MACs", "largest")
_LIVE = ("side", "read from", "room", "height", "area", "fits")
_LIVE_SHAPES = ("shape", "elements", "convolutions", "without MACs", "largest")
_SHAPES_AT, _COUNTS_AT = len(_LIVE) + 1, len(_LIVE) + len(_LIVE_SHAPES) + 2


def _rules() -> dict[str, AnySize]:
    """Return the rule of each CNN by its name, that for few classes by its name and `_FEW`."""
    return _rules_of(tuple(sorted({str(row["cnn"]) for row in cnn_rows().values()})))


@cache
def _rules_of(cnns: tuple[str, ...]) -> dict[str, AnySize]:
    """Return the rules of CNNs by name."""
    found: dict[str, AnySize] = {}
    for name in cnns:
        usual, own = any_size(name), any_size(name, THIN - 1)
        if usual is None or own is None:
            continue
        found[name] = usual
        if own is not usual:
            found[f"{name}{_FEW}"] = own
    return found


def _name(column: str) -> str:
    return f"tl_size_{column.replace('1 + ', '').replace(' ', '_')}"


def write_rules(book: BookPlan, model: Model) -> None:
    """Write the sheet with the sides and shapes of each CNN, if the formula needs no other counts."""
    if not is_any_size(model):
        return
    widths = [28, *[12] * 9, *[16] * len(SUMS), 3, *[14] * len(_OF_SHAPE)]
    sheet = new_sheet(book, RULES, widths=widths)
    heads = ["cnn", *_OF_SIDE, "first shape", "shapes", *SUMS]
    left = len(heads) + 1
    sheet.heads(_TOP - 1, [*heads, "", *_OF_SHAPE])
    rows = list(chain.from_iterable(rule.shapes for rule in _rules().values()))
    for row, shape in enumerate(rows, start=_TOP):
        (places, amounts), code = zip(*shape.elements, strict=True), 0
        code = sum(2**number for number, name in enumerate(LARGEST) if name in shape.largest)
        pairs = [amounts[0], places[0], *((amounts[1], places[1]) if len(places) > 1 else (0, 0))]
        for column, value in enumerate((*pairs, shape.convolutions, shape.light, code), start=left):
            if value:
                sheet.number(row, column, float(value))
    row, first = _TOP, 1
    for name, rule in _rules().items():
        for place, side in enumerate(rule.sides):
            of_cnn = [0, 0] if place else [first, len(rule.shapes)]
            sheet.text(row, 0, name)
            rest, equal = 0 if side.rest is None else 1 + side.rest, 1 + rule.equal.get(place, -1)
            read = [side.parent, side.factor, side.more, side.stride]
            numbers = [*read, rest, float(side.per_class), equal, *of_cnn]
            for column, value in enumerate((*numbers, *rule.sums[place]), start=1):
                if value:
                    sheet.number(row, column, float(value))
            row += 1
        first += len(rule.shapes)
    for column, title in enumerate(heads):
        sheet.define_range(_name(title), column, _TOP, row - 1)
    for column, title in enumerate(_OF_SHAPE, start=left):
        sheet.define_range(_name(title), column, _TOP, _TOP + len(rows) - 1)


def is_any_size(model: Model) -> bool:
    """Return whether the rules give every count of a CNN that the formula needs."""
    return not model.term_cells and set(model.cnn_columns) <= set(counted())


@cache
def counted() -> tuple[str, ...]:
    """Return the names of the counts that a rule gives."""
    name, pixels, classes = FIRST.cnn
    return tuple(_rules()[name].counts(pixels, classes))


def of_size(name: str, listed: str) -> str:
    """Return the cell formula of a count: of the size that is entered, or else `listed`."""
    return f"IF(tl_is_sized=1,{_name(f'of_{name}')},{listed})"


def chosen_cnn(column: str) -> str:
    """Return the cell formula of a fact of the chosen CNN that is the same at every size."""
    return fact("cnn", f'"{column}"')


def pixels_used() -> str:
    """Return the cell formula of the height of an image: the entered one, or else the chosen CNN's."""
    return f'IF(tl_pixels="",{chosen_cnn("input_size_px")},tl_pixels)'


def classes_used() -> str:
    """Return the cell formula of the number of classes: the entered one, or else the chosen CNN's."""
    return f'IF(tl_classes="",{chosen_cnn("n_classes")},tl_classes)'


def write_size(book: BookPlan, model: Model) -> None:
    """Write the sheet with the counts of the chosen CNN at the size that is entered, if it needs some."""
    if is_any_size(model):
        _Size(book, model).write()


class _Size:
    """The sheet Image size, under construction; its values are those of the first choice."""

    def __init__(self, book: BookPlan, model: Model) -> None:
        name = model.sheet_name("Image size")
        widths = [*[12] * len(_LIVE), 3, *[14] * len(_LIVE_SHAPES), 3, 30, 20]
        self.sheet = new_sheet(book, "Image size", name=name, widths=widths)
        cnn, self.pixels, self.classes = FIRST.cnn
        self.rule, self.columns = _rules()[cnn], sorted(set(model.cnn_columns))
        self.areas = self.rule.areas(self.pixels, self.classes)

    def write(self) -> None:
        """Write the place of the rule, a line per side, a line per shape, and the counts."""
        sheet = self.sheet
        for left, heads in ((0, _LIVE), (_SHAPES_AT, _LIVE_SHAPES), (_COUNTS_AT, ("count", "value"))):
            for offset, title in enumerate(heads):
                sheet.text(_TOP - 1, left + offset, title, "head_right" if offset else "head")
        self._place()
        for slot in range(SIDES):
            self._side(slot)
        for slot in range(SHAPES):
            self._shape(slot)
        for line, name in enumerate(self.columns):
            self._count(line, name)
        for column in range(_SHAPES_AT, _SHAPES_AT + len(_LIVE_SHAPES)):
            sheet.plan.shared[column] = (_TOP, _TOP + SHAPES - 1)

    def _place(self) -> None:
        """Write where the rule of the chosen CNN is, and whether it gives what is asked for."""
        name = chosen_cnn("cnn")
        cnns, first = _name("cnn"), _name("first")
        start = list(_rules()).index(FIRST.cnn[0])
        before = sum(len(rule.sides) for rule in list(_rules().values())[:start])
        shapes = sum(len(rule.shapes) for rule in list(_rules().values())[:start])
        usual = f"MATCH({name},{cnns},0)"
        found = f'IF({_name("classes_used")}<{THIN},IFERROR(MATCH({name}&"{_FEW}",{cnns},0),{usual}),{usual})'
        pixels, fits = _name("pixels"), f"SUM({self._live('fits')})={_name('sides')}"
        whole = " * ".join(
            f"IF(ISNUMBER({cell}),({cell}=INT({cell}))*({cell}>=1)*({cell}<={most}),0)"
            for cell, most in ((pixels, MAX_INPUT_PX), (_name("classes_used"), MAX_CLASSES))
        )
        listed = is_listed("tl_cnn_used", "cnns")
        lines = (
            ("pixels", "height and width, pixels", pixels_used(), self.pixels),
            ("classes_used", "classes", classes_used(), self.classes),
            ("first", f"first line on sheet {RULES}", found, before + 1),
            ("sides", "lines", f"COUNTIF({cnns},INDEX({cnns},{first}))", len(self.rule.sides)),
            ("first_of_shapes", "first shape", f"INDEX({_name('first shape')},{first})", shapes + 1),
            ("shapes_used", "shapes", f"INDEX({_name('shapes')},{first})", len(self.rule.shapes)),
        )
        for column, (key, title, text, value) in enumerate(lines):
            self.sheet.text(2, 2 * column if column < 3 else _SHAPES_AT + 2 * (column - 3), title, "note")
            at = (3, 2 * column if column < 3 else _SHAPES_AT + 2 * (column - 3))
            self.sheet.formula(*at, f"IFERROR({text},0)", float(value))
            self.sheet.define(_name(key), *at)
        self.sheet.text(2, _COUNTS_AT, "1: counted here, 0: listed on sheet CNNs or not known", "note")
        self.sheet.formula(
            3, _COUNTS_AT, f"IF({listed},0,IFERROR(IF(AND({whole}=1,{first}>0,{fits}),1,0),0))", 0.0
        )
        self.sheet.define("tl_is_sized", 3, _COUNTS_AT)

    def _live(self, title: str) -> str:
        """Return the address of a column of sides or of shapes, whole."""
        heads, left, count = (_LIVE, 0, SIDES) if title in _LIVE else (_LIVE_SHAPES, _SHAPES_AT, SHAPES)
        return column_range(left + heads.index(title), _TOP, _TOP + count - 1)

    def _side(self, slot: int) -> None:
        row, sides = _TOP + slot, self.rule.sides
        cell = {title: f"${xl_col_to_name(column)}{row + 1}" for column, title in enumerate(_LIVE)}

        def given(title: str) -> str:
            return f"INDEX({_name(title)},{_name('first')}+{cell['side']})"

        above = f"D${_TOP + 1}:D{row}"
        parent = _name("pixels") if slot == 0 else f"INDEX({above},{given('parent')}+1)"
        whole = f"INT({cell['room']}/{given('stride')})+1"
        cut = (
            f"IF(AND({given('rest')}>0,MOD({cell['room']},{given('stride')})<>0,"
            f"({whole})*{given('stride')}<{cell['read from']}+{given('rest')}-1),1,0)"
        )
        equal = (
            "TRUE"
            if slot == 0
            else (f"IF(N({given('equal to')})=0,TRUE,INDEX({above},{given('equal to')})={cell['height']})")
        )
        texts = (
            parent,
            f"{given('factor')}*{cell['read from']}+{given('more')}",
            f"IF({cell['room']}<0,0,{whole}+{cut})",
            f"{cell['height']}^2*IF({given('per class')}=1,{_name('classes_used')},1)",
            f"IF(AND({cell['height']}>=1,{equal}),1,0)",
        )
        self.sheet.number(row, 0, float(slot))
        values = next(self._values(slot), None) if slot < len(sides) else [0.0] * len(texts)
        live = f"AND({_name('first')}>0,{cell['side']}<{_name('sides')})"
        for column, (text, value) in enumerate(zip(texts, values or [], strict=True), start=1):
            self.sheet.formula(row, column, f"IF({live},IFERROR({text},0),0)", float(value))

    def _values(self, slot: int) -> Iterator[list[float]]:
        heights: list[int] = []
        for side in self.rule.sides[: slot + 1]:
            read = heights[side.parent] if heights else self.pixels
            heights.append(side.of(read))
        room = float(side.factor * read + side.more)
        yield [float(read), room, float(heights[-1]), float(self.areas[slot]), 1.0]

    def _shape(self, slot: int) -> None:
        row, shapes = _TOP + slot, self.rule.shapes
        letter = xl_col_to_name(_SHAPES_AT)
        live = f"AND({_name('first')}>0,${letter}{row + 1}<{_name('shapes_used')})"
        areas = self._live("area")

        def given(title: str) -> str:
            return f"INDEX({_name(title)},{_name('first_of_shapes')}+${letter}{row + 1})"

        elements = "+".join(f"{given(f'elements {n}')}*INDEX({areas},{given(f'side {n}')}+1)" for n in (1, 2))
        texts = (elements, *(f"N({given(title)})" for title in _OF_SHAPE[4:]))
        values = [0.0] * len(texts)
        if slot < len(shapes):
            shape = shapes[slot]
            size = sum(amount * self.areas[place] for place, amount in shape.elements)
            code = sum(2**number for number, name in enumerate(LARGEST) if name in shape.largest)
            values = [float(size), float(shape.convolutions), float(shape.light), float(code)]
        self.sheet.formula(row, _SHAPES_AT, f"ROWS(${letter}${_TOP + 1}:${letter}{row + 1})-1", float(slot))
        for column, (text, value) in enumerate(zip(texts, values, strict=True), start=_SHAPES_AT + 1):
            self.sheet.formula(row, column, f"IF({live},IFERROR({text},0),0)", value)

    def _count(self, line: int, name: str) -> None:
        row = _TOP + line
        elements, largest = self._live("elements"), self._live("largest")
        if name in SUMS:
            column, first, last = _name(name), _name("first"), f"{_name('first')}+{_name('sides')}-1"
            areas = self._live("area")
            own = f"{areas.split(':')[0]}:INDEX({areas},{_name('sides')})"
            text = f"SUMPRODUCT(INDEX({column},{first}):INDEX({column},{last}),{own})"
        elif name in LARGEST:
            is_own = f"MOD({largest},2)=1" if name == LARGEST[0] else f"{largest}>=2"
            text = f"SUMPRODUCT(MAX(({is_own})*{elements}))"
        else:
            kind, _, size = name.partition("_elements_")
            low, high = LAYER_LIMITS[size]
            many = self._live("convolutions" if kind == "conv" else "without MACs")
            below = f"*({elements}<{high:.0f})" if np.isfinite(high) else ""
            text = f"SUMPRODUCT(({elements}>={low:.0f}){below}*{elements}*{many})"
        value = self.rule.counts(self.pixels, self.classes)[name]
        self.sheet.text(row, _COUNTS_AT, name)
        self.sheet.formula(row, _COUNTS_AT + 1, f"IFERROR({text},0)", value)
        self.sheet.define(_name(f"of_{name}"), row, _COUNTS_AT + 1)
