"""A formula that takes names: the tables it looks up and the quantities it computes, in their order.

Features are definitions over base columns (`trainlaw.datasets.features.feature`), so the tables hold only
the base columns that the features of one formula are made of.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite

from trainlaw.app.models.calibration import other_gpu_warning, other_precision_warning
from trainlaw.app.models.coverage import unseen_generation, untrained_precision
from trainlaw.app.models.lookup_tables import gpu_rows, interval_rows, precision_rows
from trainlaw.app.models.settings import STATED_LAUNCH, ignored_settings
from trainlaw.app.models.terms import plain_expression
from trainlaw.datasets import FEATURES, Gpu, built_in_gpus, configuration
from trainlaw.datasets.cnns.catalog import COUNT_COLUMNS, CnnCounts, cnn_table, keyed_cnn_counts
from trainlaw.datasets.cnns.names import cnn_name, cnn_names
from trainlaw.datasets.cnns.zoo import timm_table, zoo_entry
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS
from trainlaw.formulas import Formula, InputError, UnknownNameError, variables
from trainlaw.validate.held_out_errors import intervals_of

PEAK = "peak_flop_per_s"
#: Base columns that follow from the precision; the peak rate is a column of the GPU.
OF_PRECISION = ("bytes_per_element", "is_tensor_precision")
#: Base columns that follow from the arguments of a prediction.
#: Base columns of the stack, which follow from layout and container.
STACKS = ("is_stack_channels_last", "is_stack_fused")
OF_ARGUMENTS = ("batch_per_gpu", "is_channels_last", "is_tuned", STATED_LAUNCH, *STACKS)
# Prefixes and suffixes of keys of CNNs that packages do not write.
_PACKAGE = re.compile(r"^.*/|_torch$")


@dataclass(frozen=True)
class NamedGpu:
    """A GPU to look up: `values` of the model's columns, nan where unknown; warnings of any prediction."""

    name: str
    aliases: tuple[str, ...]
    vendor: str
    is_new: bool
    default_precision: str
    warnings: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class NamedCnn:
    """A CNN to look up: counts per image and forward pass by input size in pixels, its usual size first."""

    name: str
    aliases: tuple[str, ...]
    sizes: Mapping[int, tuple[float, ...]]


@dataclass(frozen=True)
class NamedPrecision:
    """A precision to look up: the values of `OF_PRECISION`, and the column of a GPU with its peak rate."""

    name: str
    values: tuple[float, ...]
    peak_column: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class NamedModel:
    """What an exported program looks up and computes.

    formula : without grouped constants. base : base columns of its features. gpu_columns, cnn_columns : those
    of the tables, with all peak rates. fixed : those that are the same for every run on one GPU. computed :
    derived features, each after those that it is made of. intervals : factor by vendor, precision, layout and
    whether the generation is new. ignored : warning by argument that no term of the formula depends on.
    """

    formula: Formula
    base: frozenset[str]
    gpu_columns: tuple[str, ...]
    cnn_columns: tuple[str, ...]
    fixed: Mapping[str, float]
    computed: tuple[str, ...]
    gpus: tuple[NamedGpu, ...]
    cnns: tuple[NamedCnn, ...]
    precisions: tuple[NamedPrecision, ...]
    intervals: Mapping[str, Mapping[str, Mapping[str, list[float | None]]]]
    ignored: Mapping[str, str]


def named_model(formula: Formula) -> NamedModel:
    """Return what a program of a formula of iterations on one GPU needs; grouped constants at their default.

    Raises InputError where a feature does not follow from GPU, CNN, precision and arguments.
    """
    plain = replace(formula, expression=plain_expression(formula), grouped=())
    base, computed = _in_order(spec.name for spec in plain.used_features)
    precisions = {name: str(row["peak_column"]) for name, row in precision_rows().items()}
    needed = base | (set(precisions.values()) if PEAK in base else set())
    gpu_columns = tuple(name for name in NUMBER_COLUMNS if name in needed)
    cnn_columns = tuple(name for name in COUNT_COLUMNS if name in needed)
    others = base - {*gpu_columns, *cnn_columns, *OF_PRECISION, *OF_ARGUMENTS, PEAK}
    offered = gpu_rows()
    return NamedModel(
        plain,
        frozenset(base),
        gpu_columns,
        cnn_columns,
        _fixed(sorted(others)),
        computed,
        tuple(_named_gpu(formula, gpu, gpu_columns) for gpu in built_in_gpus().gpus if gpu.gpu in offered),
        _named_cnns(cnn_columns),
        tuple(_named_precision(formula, name) for name in precisions),
        interval_rows(formula),
        ignored_settings(formula),
    )


def _in_order(names: Iterable[str]) -> tuple[set[str], tuple[str, ...]]:
    """Return the base columns behind features, and the derived features, each after its parts."""
    base: set[str] = set()
    computed: dict[str, None] = {}

    def visit(name: str) -> None:
        feature = FEATURES[name]
        if feature.is_base:
            base.add(name)
        elif name not in computed:
            for part in variables(feature.expression):
                visit(part)
            computed[name] = None

    for name in names:
        visit(name)
    return base, tuple(computed)


def _fixed(names: list[str]) -> dict[str, float]:
    """Return base columns that are the same for every run on one GPU; InputError for one without a value."""
    run = configuration(cnn="resnet50", gpu="T4", batch_per_gpu=1)
    values = dict(zip(names, run.matrix(names)[0].tolist(), strict=True)) if names else {}
    for name, value in values.items():
        if not isfinite(value):
            raise InputError(f"names of GPU and CNN do not determine {name!r}; export with --bare")
    return values


def _named_gpu(formula: Formula, gpu: Gpu, columns: tuple[str, ...]) -> NamedGpu:
    return NamedGpu(
        gpu.gpu,
        tuple(name for name in gpu.aliases if name != gpu.gpu),
        gpu.vendor,
        intervals_of(formula).is_new(gpu.generation),
        gpu.default_precision,
        (*unseen_generation(formula, gpu), *other_gpu_warning(formula, gpu.gpu)),
        tuple(gpu.number(column) for column in columns),
    )


def _named_precision(formula: Formula, name: str) -> NamedPrecision:
    row = precision_rows()[name]
    warnings = (*untrained_precision(formula, name), *other_precision_warning(formula, name))
    values = tuple(float(row[column]) for column in OF_PRECISION)
    return NamedPrecision(name, values, str(row["peak_column"]), warnings)


def _named_cnns(columns: tuple[str, ...]) -> tuple[NamedCnn, ...]:
    """Return every CNN that is known by name, at the sizes whose counts are shipped and its usual classes."""
    known: dict[str, list[int]] = {}
    for table in (cnn_table(), timm_table()):
        for name, pixels, classes in table[["cnn", "input_size_px", "n_classes"]].itertuples(index=False):
            if classes == zoo_entry(name).n_classes:
                known.setdefault(name, []).append(int(pixels))

    def counts(found: CnnCounts) -> tuple[float, ...]:
        return tuple(found.counts[column] for column in columns)

    return tuple(
        NamedCnn(
            name,
            _cnn_aliases(name),
            {
                pixels: counts(keyed_cnn_counts(name, pixels))
                for pixels in dict.fromkeys([zoo_entry(name).input_size_px, *sorted(known.get(name, []))])
            },
        )
        for name in cnn_names()
    )


def _cnn_aliases(key: str) -> tuple[str, ...]:
    """Return the name without its package, where `trainlaw predict` takes it for the same CNN."""
    short = _PACKAGE.sub("", key)
    try:
        return (short,) if short != key and cnn_name(short) == key else ()
    except UnknownNameError:
        return ()  # several CNNs have that name
