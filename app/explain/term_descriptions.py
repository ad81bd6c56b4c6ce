"""Descriptions of the terms of a formula: what each stands for, and what scales it."""

import re
from collections import Counter
from dataclasses import dataclass

from trainlaw.app.models.scopes import feature_expression, handling
from trainlaw.app.models.terms import parts_of
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas import SECOND, Expression, FeatureSpec, Formula, Variable, variables
from trainlaw.formulas.algebra.tidying import factors

# What a time is spent on follows from its rates: base columns of GPU and links.
_RATES = (
    ("compute", re.compile(r"peak_\w*flop_per_s")),
    ("fp32-lane", re.compile(r"comparable_fp32_flop_per_s")),
    ("memory", re.compile(r"bandwidth_byte_per_s")),
    ("all-reduce", re.compile(r"(link|network)_\w+|peer_access")),
    ("single-GPU", re.compile(SINGLE_GPU_TIME)),
)
_COUNTS = re.compile(r"n_(layers|conv|depthwise|dense|\w+)")
_PLAIN = re.compile(r"_?(compute|memory|matrix|simt|cached|kernel)?_s$")


# What the time of a feature goes into, for readers who do not know the feature; equal titles are one share.
_PRODUCTS, _GROUPED, _DEPTHWISE = "matrix products", "grouped convolutions", "depthwise convolutions"
_UNFOLDING = "unfolding of images for convolutions"
_BUCKETS, _TENSORS = "all-reduce of the gradients", "all-reduce of single tensors"
_SERVERS, _REPLICAS = "traffic with parameter servers", "copies and launches of DataParallel"
_MANY = "further work on one GPU"  # instead of more titles than a line holds
_MOST_TITLES = 2
_TITLES = {
    "conv3x3_matrix_s": _PRODUCTS,
    "other_matrix_s": _PRODUCTS,
    "conv1x1_matrix_s": _PRODUCTS,
    "im2col_matrix_s": _UNFOLDING,
    "im2col_simt_s": _UNFOLDING,
    "conv_input_simt_s": "reading of the inputs of convolutions",
    "conv_output_matrix_s": "results of convolutions",
    "conv_output_simt_s": "results of convolutions",
    "conv_weight_matrix_s": "work for each weight",
    "conv_weight_simt_s": "work for each weight",
    "grouped_conv_simt_s": _GROUPED,
    "grouped_channels_last_simt_s": _GROUPED,
    "depthwise_simt_s": _DEPTHWISE,
    "depthwise_output_cached_s": _DEPTHWISE,
    "conv_output_cached_s": "memory traffic of the outputs of convolutions",
    "elementwise_cached_s": "memory traffic of normalisation, activation and pooling",
    "batchnorm_cached_s": "memory traffic of normalisation",
    "concat_cached_s": "memory traffic of concatenations",
    "pool_cached_s": "memory traffic of pooling",
    "cast_cached_s": "changes of precision",
    "parameter_memory_s": "update of the parameters",
    "conv_kernel_s": "start of the kernels of convolutions",
    "host_s": "waiting for the host, which launches kernels",
    "iteration_overhead_s": "fixed cost of an iteration",
    "least_time_s": "least time that the hardware allows",
    "input_copy_s": "copy of the images to the GPU",
    "bucket_wait_s": "waiting for the slowest GPU",
    **dict.fromkeys(
        ["bucket_transfer_s", "bucket_node_s", "bucket_network_s", "bucket_staged_s", "bucket_latency_s"],
        _BUCKETS,
    ),
    **dict.fromkeys(["tensor_node_s", "tensor_network_s", "tensor_staged_s", "tensor_launch_s"], _TENSORS),
    **dict.fromkeys(["server_node_s", "server_network_s"], _SERVERS),
    **dict.fromkeys(["replica_transfer_s", "replica_host_s"], _REPLICAS),
}


@dataclass(frozen=True)
class TermWords:
    """A term described: a short name, unique in its formula, a sentence that explains it, and a title.

    title : what the time goes into, for any reader; several terms of a formula may have the same.
    """

    name: str
    sentence: str
    title: str = ""


def words_of_parts(formula: Formula) -> tuple[TermWords, ...]:
    """Return name and explanation of each of `parts_of(formula)`.

    The name says what the time is spent on, by the rates in it: compute, memory, all-reduce, launch or fixed
    time.
    """
    terms = [part.expression for part in parts_of(formula)]
    plain = [_name(term, formula) for term in terms]
    totals, seen = Counter(plain), Counter[str]()
    words = []
    for term, name in zip(terms, plain, strict=True):
        seen[name] += 1
        unique = f"{name} {seen[name]}" if totals[name] > 1 else name
        words.append(TermWords(unique, _sentence(term, formula), _title(term, formula) or name))
    return tuple(words)


def _title(term: Expression, formula: Formula) -> str:
    """Return what the times of a term go into; empty where one of them has no title."""
    titles = dict.fromkeys(_TITLES.get(spec.name, "") for spec in _times(term, formula))
    if "" in titles:
        return ""
    return _MANY if len(titles) > _MOST_TITLES else " and ".join(titles)


def _name(term: Expression, formula: Formula) -> str:
    main = _times(term, formula)
    used = main or _used(term, formula)
    raw = {name for spec in used for name in _raw_columns(spec.name, formula)}
    kinds = [kind for kind, rate in _RATES if any(rate.fullmatch(name) for name in raw)]
    if kinds[:2] == ["compute", "fp32-lane"]:
        kinds.remove("fp32-lane")  # the peak rate of fp32 is stated for the same lanes
    quantity = "time" if formula.target.unit == SECOND else formula.target.name
    if not kinds:
        counted = main and any(_COUNTS.fullmatch(name) for name in raw)
        kinds = ["launch" if counted else "fixed"]
    subjects = [text for spec in main if (text := _PLAIN.sub("", spec.name).replace("_", " "))]
    of = f" ({', '.join(subjects)})" if subjects else ""
    return f"{' and '.join(kinds)} {quantity}{of}"


def _raw_columns(feature: str, formula: Formula) -> tuple[str, ...]:
    """The base columns that a feature is computed from; the name itself where it is a custom one."""
    known = feature in handling(formula).features
    return variables(feature_expression(feature, formula.scope)) if known else (feature,)


def _used(term: Expression, formula: Formula) -> list[FeatureSpec]:
    names = variables(term)
    return [spec for spec in formula.used_features if spec.name in names]


def _times(term: Expression, formula: Formula) -> list[FeatureSpec]:
    return [spec for spec in _used(term, formula) if spec.unit == formula.target.unit]


def _sentence(term: Expression, formula: Formula) -> str:
    coefficient, bases = factors(term)
    used, main = _used(term, formula), _times(term, formula)
    scales = [spec for spec in used if spec not in main]
    alone = [base for base in bases if isinstance(base, Variable) and base.name in {s.name for s in main}]
    if not main:
        first = f"{_amount(coefficient, formula)} in every iteration"
    elif len(alone) == len(main):
        times = " and ".join(_meaning(spec) for spec in main)
        first = times if coefficient == 1 else f"{show_number(coefficient)} times {times}"
    else:
        first = "made of " + " and ".join(_meaning(spec) for spec in main)
    if not scales:
        return f"{first}."
    return f"{first}; scaled by {' and '.join(spec.name for spec in scales)}."


def _amount(coefficient: float, formula: Formula) -> str:
    unit = formula.target.unit
    return show_seconds(coefficient) if unit == SECOND else f"{show_number(coefficient)} {unit}"


def _meaning(spec: FeatureSpec) -> str:
    return f"{spec.name} ({spec.meaning})" if spec.meaning else spec.name
