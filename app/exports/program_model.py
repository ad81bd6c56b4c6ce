"""The model behind a program that takes names: its tables, and the quantities it computes, in order.

Features are definitions over base columns (`trainlaw.datasets.features.feature`), so the tables hold only
the base columns that the features of one formula are made of.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from trainlaw.app.answers.answer import FIGURE, Answer
from trainlaw.app.answers.facts import Fact, cnn_facts, gpu_facts, precision_facts
from trainlaw.app.answers.table import Line, filled_in, lines_of, within_reach
from trainlaw.app.models.lookup_tables import gpu_rows, interval_rows, precision_rows
from trainlaw.app.models.multi_gpu import added_time
from trainlaw.app.models.scopes import handling
from trainlaw.app.models.settings import STATED_LAUNCH
from trainlaw.datasets import FEATURES, Gpu, built_in_gpus, configuration
from trainlaw.datasets.cnns.catalog import COUNT_COLUMNS, cnn_table, keyed_cnn_counts
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS
from trainlaw.datasets.cnns.names import cnn_names
from trainlaw.datasets.cnns.zoo import timm_table, zoo_entry
from trainlaw.datasets.hardware.collectives import FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.datasets.hardware.links import Link, links
from trainlaw.datasets.hardware.possible import lacking, newest_links
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.runs import PRECISION_OF_PASSES
from trainlaw.formulas import Constant, Expression, Formula, InputError, parse_text, to_text, variables
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.error_table import BY_CNN
from trainlaw.validate.formula_errors import error_on
from trainlaw.validate.formula_intervals import intervals_of

PEAK = "peak_flop_per_s"
#: Base columns that follow from the arguments of a prediction; the stack from layout and container.
OF_ARGUMENTS = (
    "batch_per_gpu",
    "is_channels_last",
    "is_tuned",
    STATED_LAUNCH,
    "is_stack_channels_last",
    "is_stack_fused",
)
#: Stacks that layout and container imply.
IMPLIED_STACKS = ("eager", "channels_last", "fused")
# Further quantities of the table of answers that a program knows when it is asked.
_OF_CALL = (
    "single_gpu_time_s",
    "class_factor",
    "has_layout",
    "has_host_launch",
    "by_default",
    "input_size_px",
    "error_of_architecture",
)
# What a program of iterations knows of several GPUs, and of hours and cost.
_OF_SEVERAL = (
    "machine",
    "n_gpus",
    "n_nodes",
    "gpus_per_node",
    "link_s_per_byte",
    "link_latency_s",
    "network_s_per_byte",
    "network_latency_s",
    "iterations",
    "epochs",
    "price_per_hour",
)
#: Facts of a GPU for several of them: GPUs of its usual servers, places of their links in `LINKS`.
OF_SERVER = ("per_node", "own_link", "own_fabric")
# Counts that are left out of the tables, since they are sums of listed ones.
_SUMS: Mapping[str, Expression] = {
    "macs": parse_text("conv_macs + grouped_conv_macs + depthwise_macs + dense_macs")
}
_CNN_COLUMNS = tuple(name for name in (*COUNT_COLUMNS, *MEMORY_COLUMNS) if name not in _SUMS)
_TEXTS = ("gpu", "vendor", "generation", "precision", "layout")
# A program predicts eager mode and CNNs of the zoo, and refuses where there is no time.
_ALWAYS: Mapping[str, Fact] = {
    "has_compilation": 0.0,
    "n_cnn_notes": 0.0,
    "rough": "",
    "is_undefined": 0.0,
    "has_settings": 0.0,
}
_ON_ONE_GPU: Mapping[str, Fact] = {"n_gpus": 1.0, "added_s": 0.0, "machine": "1 GPU"}
# Several GPUs exchange gradients in buckets by the ring, as `trainlaw predict` has it by default.
_RING: Mapping[str, Fact] = {
    "is_scaled": 1.0,
    "is_bucketed": 1.0,
    **{algorithm_indicator(feature): 0.0 for feature in FEATURE_OF_ALGORITHM.values()},
    algorithm_indicator(FEATURE_OF_ALGORITHM["ring"]): 1.0,
}


@dataclass(frozen=True)
class NamedModel:
    """The tables that an exported program looks up, and the quantities and sentences that it computes.

    formula : without grouped constants. base : base columns of its features. gpu_columns, cnn_columns,
    precision_columns : those of the tables, with all peak rates. fixed : those that are the same for every
    run on one GPU. computed : derived features, each after those that it is made of. lines : rows of the
    table of answers. gpus, cnns : the tables, a text for each row. precisions : by name the place of its peak
    rate among `gpu_columns`, and its values of `precision_columns`. intervals : factor by vendor, precision,
    stack and whether the generation is new. links : between several GPUs, none where a program is for one.
    """

    formula: Formula
    base: frozenset[str]
    gpu_columns: tuple[str, ...]
    cnn_columns: tuple[str, ...]
    precision_columns: tuple[str, ...]
    fixed: Mapping[str, float]
    computed: tuple[str, ...]
    lines: tuple[Line, ...]
    gpus: tuple[str, ...]
    cnns: tuple[str, ...]
    precisions: Mapping[str, tuple[int, list[float]]]
    intervals: Mapping[str, Mapping[str, Mapping[str, list[float | None]]]]
    links: tuple[Link, ...]


def named_model(formula: Formula) -> NamedModel:
    """Return the tables and quantities of a program, with grouped constants at their default.

    Raises InputError where a feature does not follow from GPU, CNN, precision and arguments.
    """
    plain = replace(formula, expression=formula.ungrouped, grouped=())
    base, computed = _in_order(spec.name for spec in plain.used_features)
    offered = gpu_rows()
    between = [link for link in links().values() if link.link != "none"] if _is_for_several(formula) else []
    gpus = {
        gpu: _numbers_in({**offered[gpu.gpu], **gpu_facts(formula, gpu)}) | _server_of(gpu, between)
        for gpu in built_in_gpus().gpus
        if gpu.gpu in offered
    }
    rows = precision_rows()
    precisions = {name: {**rows[name], **precision_facts(formula, name)} for name in rows}
    lines = _lines(formula, [*gpus.values()], [*precisions.values()])
    needed = base | {name for line in lines for name in line.needs} | set(OF_SERVER if between else ())
    peaks = {str(row["peak_column"]) for row in precisions.values()} if PEAK in base else set()
    gpu_columns = tuple(name for name in next(iter(gpus.values())) if name in needed | peaks)
    cnn_columns = tuple(name for name in _CNN_COLUMNS if name in needed)
    precision_columns = tuple(name for name in _numbers_in(precisions["fp32"]) if name in needed)
    fixed = base - {*gpu_columns, *cnn_columns, *precision_columns, *OF_ARGUMENTS, PEAK}
    return NamedModel(
        plain,
        frozenset(base),
        gpu_columns,
        cnn_columns,
        precision_columns,
        _fixed(sorted(fixed)),
        computed,
        lines,
        tuple(_gpu_row(formula, gpu, [row[name] for name in gpu_columns]) for gpu, row in gpus.items()),
        _cnn_rows(formula, cnn_columns),
        {
            name: (
                gpu_columns.index(str(row["peak_column"])) if PEAK in base else 0,
                [float(row[column]) for column in precision_columns],
            )
            for name, row in precisions.items()
        },
        interval_rows(formula, IMPLIED_STACKS),
        tuple(between),
    )


def _is_for_several(formula: Formula) -> bool:
    return formula.scope != FORWARD and not handling(formula).covers_multi_gpu


def _server_of(gpu: Gpu, between: Sequence[Link]) -> dict[str, float]:
    """Return the `OF_SERVER` of a GPU, if there are links."""
    if not between:
        return {}
    server, names = usual_server(gpu.gpu), [link.link for link in between]
    places = (names.index(gpu.usual_link), names.index(server.fabric))
    return dict(zip(OF_SERVER, map(float, (server.gpus_per_node, *places)), strict=True))


def _numbers_in(facts: Mapping[str, Fact]) -> dict[str, float]:
    return {name: value for name, value in facts.items() if isinstance(value, float)}


def _lines(
    formula: Formula, gpus: Sequence[Mapping[str, Fact]], precisions: Sequence[Mapping[str, Fact]]
) -> tuple[Line, ...]:
    """Return the rows of the table that a program says: values, warnings and notes."""
    several = _is_for_several(formula)
    known: dict[str, Fact] = {**_ALWAYS, **(_RING if several else _ON_ONE_GPU)}
    known |= {"by_default": 0.0} if formula.scope == FORWARD else {}
    for table in (gpus, precisions):
        known |= {name: value for name, value in table[0].items() if {row[name] for row in table} == {value}}
    rows = lines_of(formula, known)
    if several:
        numbers = {name: Constant(value) for name, value in _numbers_in(_RING).items()}
        added = filled_in(to_text(added_time()), numbers) or Constant(0.0)
        rows = (Line(Answer("added_s", definition=to_text(added)), added, None), *rows)
    lines = [line for line in rows if line.answer.kind != FIGURE or line.value is not None]
    base, computed = _in_order(spec.name for spec in formula.used_features)
    available = {*base, *computed, *gpus[0], *precisions[0], *_CNN_COLUMNS, *OF_ARGUMENTS, *_OF_CALL, *_TEXTS}
    return within_reach(lines, available | set(_OF_SEVERAL if several else ()))


def _in_order(names: Iterable[str]) -> tuple[set[str], tuple[str, ...]]:
    """Return the base columns behind features, and the derived features, each after its parts."""
    base: set[str] = set()
    computed: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in _SUMS and FEATURES[name].is_base:
            base.add(name)
        elif name not in computed:
            for part in variables(definition(name)):
                visit(part)
            computed[name] = None

    for name in names:
        visit(name)
    return base, tuple(computed)


def definition(name: str) -> Expression:
    """Return the expression of a derived feature, or of a count that the tables leave out."""
    return _SUMS[name] if name in _SUMS else FEATURES[name].expression


def _fixed(names: list[str]) -> dict[str, float]:
    """Return base columns that are the same for every run on one GPU; InputError for one without a value."""
    run = configuration(cnn="resnet50", gpu="T4", batch_per_gpu=1)
    values = dict(zip(names, run.matrix(names)[0].tolist(), strict=True)) if names else {}
    for name, value in values.items():
        if not isfinite(value):
            raise InputError(f"names of GPU and CNN do not determine {name!r}; export with --bare")
    return values


def number(value: float | None) -> str:
    """Return the shortest number that reads back exactly; whole numbers without a point."""
    if value is None or not isfinite(value):
        return "nan"
    texts = (repr(value), f"{value:.0f}", f"{value:g}")
    return min((text for text in texts if float(text) == value), key=len)


def _gpu_row(formula: Formula, gpu: Gpu, values: Iterable[float]) -> str:
    """Return name, vendor, generation, 1 if it is new, usual precision, what it lacks, links, and numbers."""
    newest = (f"{name}:{each}" for name, each in newest_links(gpu).items())
    texts = (
        gpu.gpu,
        gpu.vendor,
        gpu.generation or "unknown",
        str(int(intervals_of(formula).is_new(gpu.generation))),
        PRECISION_OF_PASSES if formula.scope == FORWARD else gpu.default_precision,
        ";".join(lacking(gpu)),
        ";".join(newest),
    )
    return "|".join((*texts, " ".join(map(number, values))))


def _cnn_rows(formula: Formula, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return a row for each group of CNNs with equal counts at equal sizes and one held-out error.

    The error, in percent, is 0 where none is known. Sizes are pixels and classes, the usual ones first.
    """
    listed: dict[str, dict[tuple[int, int], None]] = {}
    for name in cnn_names():
        usual = zoo_entry(name)
        listed[name] = {(usual.input_size_px, usual.n_classes): None}
    for table in (cnn_table(), timm_table()):
        for name, pixels, classes in table[["cnn", "input_size_px", "n_classes"]].itertuples(index=False):
            listed[name][int(pixels), int(classes)] = None

    def counts(name: str, pixels: int, classes: int) -> str:
        found = keyed_cnn_counts(name, pixels, classes)
        numbers = {**found.counts, **cnn_facts(found)}
        values = " ".join(number(float(numbers[column])) for column in columns)
        return f"{pixels},{classes}:{values}"

    groups: dict[tuple[str, ...], list[str]] = {}
    for name, sizes in listed.items():
        error = number(error_on(formula, BY_CNN, zoo_entry(name).base))
        groups.setdefault((error, *(counts(name, *size) for size in sizes)), []).append(name)
    return tuple("|".join((";".join(names), *key)) for key, names in groups.items())
