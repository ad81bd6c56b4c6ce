"""The script of the page: tables to choose from, the formula as JavaScript, and what the errors were."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from trainlaw.app.answers.facts import OF_MEMORY, gpu_facts
from trainlaw.app.answers.printed import javascript_rows, printed_lines, spoken
from trainlaw.app.answers.table import Line, lines_of, within_reach
from trainlaw.app.explain.term_descriptions import words_of_parts
from trainlaw.app.models.builtin import shorter_formulas
from trainlaw.app.models.lookup_tables import cnn_label, interval_rows, precision_rows
from trainlaw.app.models.multi_gpu import added_time
from trainlaw.app.models.scopes import feature_expression, handling
from trainlaw.app.models.settings import HOST_LAUNCH, STATED_LAUNCH, host_margin
from trainlaw.app.models.terms import parts_of
from trainlaw.app.page.tables import page_tables
from trainlaw.app.text.html import template_text
from trainlaw.datasets import FEATURES, built_in_gpus
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.datasets.files.columns import shipped_schema
from trainlaw.datasets.hardware.collectives import FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.datasets.hardware.possible import MOST_GPUS_PER_NODE
from trainlaw.datasets.measurements.memory_fit import ROUGH_MEMORY
from trainlaw.datasets.measurements.runs import STACKS
from trainlaw.formulas import Constant, Expression, FeatureSpec, Formula, InputError, variables
from trainlaw.formulas.printers import print_javascript
from trainlaw.formulas.printers.programming import JAVASCRIPT
from trainlaw.validate.held_out_errors import (
    BY_CNN,
    BY_GPU,
    LEVEL,
    MACRO,
    MAIN_VENDOR,
    OURS,
    OWN_CLASS,
    held_out_kind,
    overall_error,
    own_errors,
    run_class,
    summary_interval,
)

#: Files of the folder of templates, in the order in which the script needs them.
SCRIPT_FILES = (
    "answers", "page/numbers", "page/own_runs", "page/law", "page/choice", "page/lists", "page/answer",
    "page/terms", "page/ranking", "page/comparison", "page/custom_cnn", "page/start",
)  # fmt: skip
# What the user chooses; no table of GPUs or CNNs has it.
_CHOSEN = frozenset(
    {"batch_per_gpu", "has_optimizer", "has_input_copy", "bytes_per_element", "is_tensor_precision"}
    | {"is_tuned", "is_channels_last", "is_bucketed", STATED_LAUNCH, "is_stack_channels_last"}
    | {"is_stack_fused"}
    | {"peak_flop_per_s", "n_gpus", "n_nodes", "gpus_per_node", "exchange_rounds"}
    | {algorithm_indicator(feature) for feature in FEATURE_OF_ALGORITHM.values()}
)
_LINK_FACTS = ("byte_per_s", "s_per_byte", "latency_s")
_OF_LINKS = frozenset(f"{place}_{fact}" for place in ("link", "network") for fact in _LINK_FACTS)
# Inputs, by the base column that they set, which are shown only for formulas with a term for it.
_OPTIONAL: Mapping[str, str] = {
    "has_optimizer": "has_optimizer",
    "has_input_copy": "has_input_copy",
    "is_tuned": "is_tuned",
    "is_bucketed": "is_bucketed",
    "is_channels_last": "layout",
    "is_stack_fused": "stack",
    STATED_LAUNCH: "host-launch",
}
# Quantities and texts of the table of answers that `factsOf` of the script gives.
_GIVEN = (
    "single_gpu_time_s", "added_s", "is_undefined", "gpu", "generation", "vendor", "precision", "is_tf32",
    "is_untrained_precision", "is_other_precision", "by_default", "layout", "has_layout", "has_host_launch",
    "n_cnn_notes", "cnn_notes", "rough", "input_size_px", "is_16_bit_float", "is_bf16",
    "measured", "has_measured", "n_nodes", "machine", "algorithm", "ways", "is_scaled",
    "class_factor", "has_interval", "epochs", "iterations", "training", "price_per_hour", "has_price",
    "currency", "price_origin", "error_of_precision", "error_of_architecture", "stack", "has_stack",
    "is_stack_unknown",
)  # fmt: skip
# What the page shows first; strings, as form fields and the link's fragment hold them.
_FIRST = {
    "gpu": "V100-SXM2-16GB",
    "cnn": cnn_label("resnet50", 224, 1000),
    "precision": "",
    "layout": "nchw",
    "stack": "",
    "host-launch": "",
    "batch": "64",
    "gpus": "1",
    "nodes": "",
    "largest": "0",
    "link": "own",
    "network": "usual",
    "algorithm": "ring",
    "peak": "1",
    "bandwidth": "1",
    "images": "1281167",
    "epochs": "90",
    "price": "",
    "has_optimizer": "true",
    "has_input_copy": "false",
    "is_tuned": "false",
    "is_bucketed": "true",
}
_MOST_GPUS = 65_536


def script_of(formula: Formula) -> str:
    """Return the script of a formula's page, inert inside a script element.

    Raises InputError where a feature cannot be computed from what the page offers to choose.
    """
    shorter = shorter_formulas(formula)
    specs = specs_of((formula, *shorter.values()))
    expressions = {spec.name: feature_expression(spec.name) for spec in specs}
    all_reduce = Constant(0.0) if handling(formula).covers_multi_gpu else added_time()
    needed = {name for form in (*expressions.values(), all_reduce) for name in variables(form)}
    needed -= {SINGLE_GPU_TIME}
    lines = _lines(formula)
    base = needed - _CHOSEN - _OF_LINKS
    tables = page_tables(formula, base, spoken(lines))
    known = {name for key in ("GPUS", "CNNS") for row in tables[key].values() for name in row}
    missing = sorted(base - known)
    if missing:
        raise InputError(
            f"the page cannot compute {missing[0]!r}, which the formula needs; export to .py instead"
        )
    constants = [f"const {name} = {literal(table)};" for name, table in tables.items()]
    features = ",".join(_feature(formula, spec, expressions[spec.name]) for spec in specs)
    laws = ",".join(f"{literal(name)}:{_law(each)}" for name, each in shorter.items())
    facts = literal(_facts(formula, {*needed}))
    constants.append(
        f"const FORMULA = {{...{facts},...{_law(formula)},features:[{features}],"
        f"allReduce:{_function(all_reduce)},shorter:{{{laws}}}}};"
    )
    files = (template_text(f"{name}.js") for name in SCRIPT_FILES)
    return "\n".join(['"use strict";', *constants, *_answers(lines), *files])


def specs_of(formulas: Iterable[Formula]) -> tuple[FeatureSpec, ...]:
    """Return the features of the formulas that a page offers, each once."""
    return tuple({spec.name: spec for formula in formulas for spec in formula.used_features}.values())


def _lines(formula: Formula) -> tuple[Line, ...]:
    """Return the rows of the table of answers that the page can compute, over grouped constants."""
    lines = lines_of(formula, {"has_compilation": 0.0, "has_settings": 0.0})
    margin = host_margin(formula, formula.expression)
    lines = tuple(
        replace(line, value=margin) if line.answer.name == "host_margin" else line for line in lines
    )
    features = {spec.name for spec in formula.used_features} | {item.name for item in formula.grouped}
    return within_reach(lines, {*features, *FEATURES, *OF_MEMORY, *_gpu_facts(formula), *_GIVEN})


def _gpu_facts(formula: Formula) -> Iterable[str]:
    """Return the names of the numbers that are said of a GPU."""
    facts = gpu_facts(formula, built_in_gpus().gpus[0])
    return (name for name, value in facts.items() if isinstance(value, float))


def _answers(lines: Iterable[Line]) -> list[str]:
    """Return the rows of the table of answers as script, with the helpers that they call."""
    rows = printed_lines(lines, JAVASCRIPT, lambda name: f"v[{literal(name)}]")
    text = javascript_rows(rows, literal)
    return [*JAVASCRIPT.used_helpers(text), text]


def literal(value: Any) -> str:
    """Return JSON that is inert inside a script element.

    >>> literal("</script>")
    '"\\\\u003c/script>"'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    # No tag or comment can begin without <; the other two end a line in JavaScript before 2019.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def names_kinds(formula: Formula) -> bool:
    """Return whether a formula says which kinds of GPU its training runs are on."""
    return formula.provenance.get("generations") is not None


def titled_parts(formula: Formula) -> dict[str, list[int]]:
    """Return the places of the parts of a formula (`parts_of`) by what their time goes into."""
    found: dict[str, list[int]] = {}
    for place, words in enumerate(words_of_parts(formula)):
        found.setdefault(words.title, []).append(place)
    return found


def _facts(formula: Formula, used: set[str]) -> dict[str, Any]:
    launch = {column.name: column for column in shipped_schema("runs")}[HOST_LAUNCH]
    return {
        "level": 100 * LEVEL,
        "rough": ROUGH_MEMORY,
        "perNode": MOST_GPUS_PER_NODE,
        "gpuFacts": list(_gpu_facts(formula)),
        "first": _FIRST,
        "most": {"batch": 10_000_000, "gpus": _MOST_GPUS, "nodes": _MOST_GPUS, "images": 10**12},
        "launch": {"least": launch.low, "most": launch.high},
        "grouped": [
            {"name": item.name, "values": dict(item.values), "default": item.default}
            for item in formula.grouped
        ],
        "optional": list(_OPTIONAL.values()),
        "known": [field for name, field in _OPTIONAL.items() if name in used],
        "coversGpus": handling(formula).covers_multi_gpu,
        "namesKinds": names_kinds(formula),
    }


def _errors(formula: Formula) -> dict[str, Any]:
    """Return the held-out errors: overall with its interval, and by GPU group, precision and architecture."""

    def by_name(level: str) -> dict[str, Any]:
        return {name: [*known] for name, known in own_errors(formula, level).items()}

    overall = [overall_error(formula, OURS, MACRO), *summary_interval(formula, OURS, MACRO)]
    groups = formula.errors.get("interval_by_class", {}).get("groups", {})
    return {
        "heldOut": held_out_kind(formula),
        "overall": [value if isfinite(value) else None for value in overall],
        "gpu": by_name(BY_GPU),
        "precision": by_name("precision"),
        "generation": by_name("generation"),
        "cnn": by_name(BY_CNN),
        "groups": groups,
        "kinds": {
            vendor: {
                precision: {stack: run_class(precision, stack, vendor) for stack in STACKS}
                for precision in precision_rows()
            }
            for vendor in (MAIN_VENDOR, OWN_CLASS)
        },
    }


def _law(formula: Formula) -> str:
    """Return what differs from one formula of the page to another: functions, intervals and errors."""
    parts, titles = parts_of(formula, formula.expression), titled_parts(formula)
    terms = (
        f"[{','.join(_function(parts[place].counted) for place in places)}]" for places in titles.values()
    )
    facts = {"intervals": interval_rows(formula), "errors": _errors(formula), "titles": list(titles)}
    return f"{{...{literal(facts)},terms:[{','.join(terms)}],predict:{_function(formula.expression)}}}"


def _feature(formula: Formula, spec: FeatureSpec, expression: Expression) -> str:
    low, high = formula.ranges.get(spec.name, (None, None))
    unit = "" if spec.unit.is_dimensionless else str(spec.unit)
    fixed = literal({"name": spec.name, "unit": unit, "low": low, "high": high})
    return f"{{...{fixed},compute:{_function(expression)}}}"


def _function(expression: Expression) -> str:
    """Return a printed function in a separate scope, since each brings its helper functions."""
    return f"(() => {{\n{print_javascript(expression, 'compute')}return compute;\n}})()"
