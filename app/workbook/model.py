"""The formula of a workbook, over specifications of GPU and CNN and the user's choices."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from trainlaw.app.answers.error_rows import widened
from trainlaw.app.answers.facts import OF_MEMORY, cnn_facts
from trainlaw.app.answers.figure_rows import definition_of, needed_memory
from trainlaw.app.models.builtin import SCALING_FORMULA, formula_named
from trainlaw.app.models.lookup_tables import OF_PRECISION as MEMORY_OF_PRECISION
from trainlaw.app.models.lookup_tables import precision_rows
from trainlaw.app.models.multi_gpu import added_time
from trainlaw.app.models.scopes import feature_expression, handling
from trainlaw.app.models.settings import host_factor
from trainlaw.app.models.terms import (
    NamedConstant,
    Part,
    part_values,
    parts_of,
    values_of,
    with_named_constants,
)
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.text.tables import Table
from trainlaw.datasets import RunTable, configuration
from trainlaw.datasets.cnns.catalog import COUNT_COLUMNS
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS
from trainlaw.datasets.features.run_features import SINGLE_GPU_TIME
from trainlaw.datasets.hardware.gpus import NO_LINK, NUMBER_COLUMNS
from trainlaw.datasets.measurements.memory_fit import NOT_KNOWN, ROUGH_MEMORY
from trainlaw.datasets.measurements.runs import COMPILATIONS, PRECISION_OF_PASSES
from trainlaw.formulas import (
    Constant,
    Expression,
    Formula,
    InputError,
    substitute,
    to_text,
    variables,
)
from trainlaw.formulas.files.toml_tables import toml_table
from trainlaw.formulas.printers.excel import ExcelCells, excel_expression
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.formula_intervals import intervals_of

#: Heads, units and titles of the sheets.
TABLES = toml_table(__file__, "sheets.toml")
PREFIX = "tl_"  # V100, L2 and FP32 are cell addresses, so a name without a prefix could be one
DEFAULT_PRECISION = "PyTorch's default"
AS_MEASURED = f"{PRECISION_OF_PASSES}, as measured"
ENTRIES, FAULTS = "all entries can be used", "an entry cannot be used: see the red note next to it"
OWN_LINK, USUAL_FABRIC = "the GPU's own link", "that of usual servers"
IMPLIED = "as the other choices imply"
NO, YES = NO_YES = ("no", "yes")
# What fills the places of words in formulas of the tables.
_WORDS = {
    "unknown": NOT_KNOWN,
    "entries": ENTRIES,
    "faults": FAULTS,
    "own_link": OWN_LINK,
    "no_link": NO_LINK,
    "usual_fabric": USUAL_FABRIC,
    "implied": IMPLIED,
    "yes": YES,
    "no": NO,
    "eager": COMPILATIONS[0],
    "rough": ROUGH_MEMORY,
}


class _First(NamedTuple):
    """The choice that the workbook shows when it is opened; cnn : name, side in pixels, classes."""

    cnn: tuple[str, int, int] = ("resnet50", 224, 1000)
    gpu: str = "V100-SXM2-16GB"
    batch: int = 64
    precision: str = "fp32"  # PyTorch's default on that GPU
    images: float = 1_281_167.0
    epochs: float = 90.0
    algorithm: str = "ring"


FIRST = _First()
# Base columns that follow from the precision: columns of its table on sheet Notes.
OF_PRECISION = ("bytes_per_element", "is_tensor_precision", "has_fp32_dense", *MEMORY_OF_PRECISION)
# Base columns that follow from the link within a node, by default the usual one of the GPU.
OF_LINK = ("link_byte_per_s", "link_s_per_byte", "link_latency_s")
OF_NETWORK = ("network_byte_per_s", "network_s_per_byte", "network_latency_s")
PEAK = "peak_flop_per_s"
PEER = "peer_access"
#: Base column of launch times, of which compilers leave a share.
LAUNCH = "usual_launch_s"
LAYOUTS = ("nchw", "channels last")


@dataclass(frozen=True)
class Model:
    """A formula as the workbook computes it.

    expression : over features and `constants`, which replace its numbers. parts : its terms, those inside
    maxima one by one. features : each over base columns. values : of all these names for the first choice,
    in their units.
    """

    formula: Formula
    expression: Expression
    constants: tuple[NamedConstant, ...]
    parts: tuple[Part, ...]
    features: Mapping[str, Expression]

    @property
    def is_forward(self) -> bool:
        """Whether the formula is of forward passes, which are on one GPU."""
        return self.formula.scope == FORWARD

    @property
    def first_precision(self) -> str:
        """The precision of the first choice."""
        return PRECISION_OF_PASSES if self.is_forward else FIRST.precision

    @property
    def default_precision(self) -> str:
        """The entry that leaves the precision to the workbook."""
        return AS_MEASURED if self.is_forward else DEFAULT_PRECISION

    @cached_property
    def first_choice(self) -> RunTable:
        """The configuration that the workbook shows when it is opened."""
        return first_choice(is_forward=self.is_forward)

    @cached_property
    def scaling(self) -> Formula | None:
        """The built-in formula for several GPUs; None where the formula itself covers them."""
        return None if handling(self.formula).covers_multi_gpu else formula_named(SCALING_FORMULA)

    @cached_property
    def added(self) -> Expression:
        """The time that several GPUs add to that on one, over base columns and `SINGLE_GPU_TIME`."""
        return Constant(0.0) if self.scaling is None else added_time()

    @cached_property
    def base_columns(self) -> tuple[str, ...]:
        """The base columns behind features, several GPUs and memory, sorted."""
        parts = (*self.features.values(), self.added, *needed_memory(self.formula))
        return tuple(sorted({name for part in parts for name in variables(part)} - {SINGLE_GPU_TIME}))

    @cached_property
    def cells(self) -> dict[str, str]:
        """The defined names of base columns, features and numbers."""
        return cell_names(sorted({*self.base_columns, *self.features, *self.numbers}))

    @cached_property
    def feature_base_columns(self) -> tuple[str, ...]:
        """The base columns behind the features alone, sorted."""
        return tuple(sorted({name for part in self.features.values() for name in variables(part)}))

    def needs(self, kind: str, name: str) -> bool:
        """Return whether one of the formula's base columns needs a choice or setting; kind : of the table."""
        columns = TABLES["needed_by"][kind].get(name, self.base_columns)
        return not {*columns}.isdisjoint(self.base_columns)

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The values of the constants."""
        return {constant.name: constant.value for constant in self.constants}

    @cached_property
    def values(self) -> dict[str, float]:
        """The values of all names for the first choice."""
        run = self.first_choice
        counted = [name for name in self.base_columns if name not in OF_MEMORY]
        base = dict(zip(counted, run.matrix(counted)[0].tolist(), strict=True)) | memory_columns(run)
        columns = {name: np.array([value]) for name, value in base.items()}
        features = {name: float(values_of(form, columns)[0]) for name, form in self.features.items()}
        return base | features | self.numbers

    @cached_property
    def known(self) -> dict[str, np.ndarray]:
        """The values as columns of one row."""
        return {name: np.array([value]) for name, value in self.values.items()}

    @cached_property
    def term_seconds(self) -> list[float]:
        """The terms as they count for the first choice, in seconds: 0 where another side is larger."""
        seconds: list[float] = part_values(self.formula, self.known)[:, 0].tolist()
        return seconds

    @property
    def seconds(self) -> float:
        """The time of an iteration for the first choice, in seconds."""
        return float(sum(self.term_seconds))

    @cached_property
    def interval_factor(self) -> float:
        """The factor of its interval, 0 without one."""
        run = self.first_choice
        gpu, cnn = run.facts.gpus.find(FIRST.gpu), run.facts.cnns[0]
        factor = intervals_of(self.formula).factor(self.first_precision, gpu.generation)
        host = values_of(host_factor(self.formula, self.expression), self.known)
        return float(np.nan_to_num(widened(self.formula, factor, cnn.cnn_base, float(host[0]))))

    def readable(self, term: Expression) -> str:
        """Return a term with its numbers, to three digits."""
        values = {constant.name: Constant(constant.value) for constant in self.constants}
        return to_text(substitute(term, values), 3)


def steps_of(cells: ExcelCells, whole: Expression) -> list[tuple[str, Expression]]:
    """Return the formulas of helper cells and of the result, each with the expression that it stands for."""
    texts = [*(text for _, text in cells.helpers), cells.formula]
    return list(zip(texts, [*cells.expressions, whole], strict=True))


def first_choice(*, is_forward: bool = False) -> RunTable:
    """Return the configuration that the workbook shows when it is opened: an iteration, or a forward pass."""
    name, size, classes = FIRST.cnn
    return configuration(
        cnn=name,
        gpu=FIRST.gpu,
        batch_per_gpu=FIRST.batch,
        input_size_px=size,
        n_classes=classes,
        timed_parts=FORWARD if is_forward else "forward+backward+optimizer",
        precision=PRECISION_OF_PASSES if is_forward else FIRST.precision,
    )


def memory_columns(run: RunTable) -> dict[str, float]:
    """Return the `OF_MEMORY` of a table's first run."""
    precision = precision_rows()[str(run.frame["precision"].iloc[0])]
    facts = {**cnn_facts(run.facts.cnns[0]), **precision}
    return {name: float(facts[name]) for name in OF_MEMORY}


def figure_cell(name: str, **places: str) -> str:
    """Return the cell formula of a figure; places : of quantities that have no cell of that name.

    >>> figure_cell("low_s", time_s="A2")
    'A2 / tl_interval_factor'
    """
    figure = definition_of(name)
    return excel_expression(figure, {**cell_names(variables(figure)), **places})


def cell_name(name: str) -> str:
    """Return the defined name of a quantity; only letters, digits and underscores survive.

    >>> cell_name("macs"), cell_name("C[harness]")
    ('tl_macs', 'tl_c_harness_')
    """
    return PREFIX + "".join(
        letter if letter.isascii() and letter.isalnum() else "_" for letter in name.lower()
    )


def cell_names(names: Iterable[str]) -> dict[str, str]:
    """Return the defined name of each quantity."""
    return {name: cell_name(name) for name in names}


def new_sheet(book: BookPlan, name: str, *, widths: Sequence[float] = (), **words: str) -> SheetWriter:
    """Add a sheet as `sheets.toml` has it; return its writer.

    widths : of columns, where they depend on the formula. words : that fill the places of its title and the
    line below.
    """
    row = TABLES["sheets"][name]
    sheet = SheetWriter(book, name, widths or row.get("widths", ()))
    sheet.title(row["title"].format(**words), row.get("note", "").format(**words))
    sheet.plan.frozen = tuple(row.get("frozen", (0, 0)))
    sheet.plan.printed_rows = row["prints"]
    return sheet


def write_named(sheet: SheetWriter, row: int, table: Table, names: Iterable[str] = ()) -> int:
    """Write a table whose columns have names for look-ups, by default its titles; return the next row."""
    end = sheet.table(row, table)
    for column, name in enumerate(names or table.header):
        sheet.define_range(cell_name(f"options_{name}"), column, row + 1, end - 1)
    return end + 1


def is_listed(value: str, names: str) -> str:
    """Return the cell formula of whether a value is in a named list of the workbook.

    >>> is_listed("tl_cnn", "cnns")
    'ISNUMBER(MATCH(tl_cnn,tl_cnns,0))'
    """
    return f"ISNUMBER(MATCH({value},tl_{names},0))"


def fact(kind: str, column: str, row: str = "") -> str:
    """Return the cell formula of a fact of a look-up table.

    kind : of the table, such as "gpu". column : cell formula of its name. row : of the row's label; empty for
    the chosen one.

    >>> fact("gpu", '"link"')
    'INDEX(tl_gpu_table,MATCH(tl_gpu,tl_gpus,0),MATCH("link",tl_gpu_columns,0))'
    """
    at, names = f"MATCH({row or PREFIX + kind},tl_{kind}s,0)", f"tl_{kind}_columns"
    return f"INDEX(tl_{kind}_table,{at},MATCH({column},{names},0))"


class _Places(dict[str, str]):
    """What fills the places of a table's formula, some of them by the name of a column or a figure."""

    def __missing__(self, place: str) -> str:
        if place.startswith("@") or place in ("row", "above"):
            return f"{{{place}}}"  # of a template, which has a cell in each row
        kind, name = place.split(" ")
        if kind == "figure":
            return figure_cell(name)
        if kind == "server":
            rented, usual = of_instance(name.removeprefix("server_"), '""'), fact("gpu", f'"{name}"')
            return f'IF({rented}="",{usual},{rented})'
        return fact(kind, f'"{name}"')


def filled(text: str, places: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a formula or note of the tables with its places filled, those of `places` among them.

    >>> filled("1000*({figure low_s})/{n}", {"n": "tl_n_gpus"})
    '1000*(tl_time_s / tl_interval_factor)/tl_n_gpus'
    """
    return text.format_map(_Places(_WORDS | {**places}))


def option(kind: str, column: str, row: str = "") -> str:
    """Return the cell formula of a column of the table of a choice; row : as for `fact`.

    >>> option("algorithm", "scaled")
    'INDEX(tl_options_scaled,MATCH(tl_algorithm,tl_options_algorithm,0))'
    """
    return f"INDEX(tl_options_{column},MATCH({row or PREFIX + kind},tl_options_{kind},0))"


def of_instance(column: str, usual: str) -> str:
    """Return the cell formula of a column of the instance that the text of the GPU names, else `usual`.

    >>> of_instance("gpus", "1")
    'IF(tl_instance_row=0,1,INDEX(tl_options_instance_gpus,MAX(tl_instance_row,1)))'
    """
    return f"IF(tl_instance_row=0,{usual},INDEX(tl_options_instance_{column},MAX(tl_instance_row,1)))"


def workbook_model(formula: Formula) -> Model:
    """Return what the workbook of a formula computes.

    Raises InputError where a feature cannot be computed from GPU, CNN and the inputs on offer.
    """
    expression, constants = with_named_constants(formula)
    features = {spec.name: feature_expression(spec.name) for spec in formula.used_features}
    if formula.scope == FORWARD:
        # The time of a forward pass never includes copying the images.
        no_copy = {"has_input_copy": Constant(0.0)}
        features = {name: substitute(form, no_copy) for name, form in features.items()}
    parts = tuple(parts_of(formula, expression))
    model = Model(formula, expression, constants, parts, features)
    for name in model.base_columns:
        if kind_of(name) == "unknown":
            raise InputError(
                f"the workbook cannot compute {name!r}, which the formula needs; export to .py or .json"
            )
    return model


def kind_of(name: str) -> str:
    """Return what a base column belongs to: "gpu", "cnn", "choice" or "unknown".

    >>> kind_of("core_count"), kind_of("macs"), kind_of("n_gpus"), kind_of("link_s_per_byte")
    ('gpu', 'cnn', 'choice', 'gpu')
    """
    if name in NUMBER_COLUMNS or name in (PEAK, *OF_LINK):
        return "gpu"
    if name in (*COUNT_COLUMNS, *MEMORY_COLUMNS):
        return "cnn"
    chosen = (*TABLES["base_columns"], *OF_PRECISION, *OF_NETWORK)
    return "choice" if name in chosen or name.startswith("is_") else "unknown"
