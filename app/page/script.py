"""The script of the page: tables to choose from, the formula as JavaScript, and what the errors were."""

import json
from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

from trainlaw.app.explain.term_descriptions import words_of_parts
from trainlaw.app.inputs.resolve import unknown_sentence
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, SCALING_FORMULA
from trainlaw.app.models.calibration import other_gpu_warning
from trainlaw.app.models.lookup_tables import cnn_label, interval_rows
from trainlaw.app.models.memory import LEAST_NEED, USUAL_NEED
from trainlaw.app.models.multi_gpu import added_time, covers_algorithm
from trainlaw.app.models.scopes import feature_expression, handling
from trainlaw.app.models.sentences import (
    JOINTLY,
    NO_INTERVAL,
    NOT_DEFINED,
    host_sentence,
    outside_sentence,
    several_gpus_sentence,
)
from trainlaw.app.models.settings import HOST_LAUNCH, host_margin, ignored_settings
from trainlaw.app.models.terms import parts_of
from trainlaw.app.page.tables import page_tables
from trainlaw.app.text.html import template_text
from trainlaw.datasets.cnns.memory import MARGIN
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.datasets.files.columns import shipped_schema
from trainlaw.datasets.hardware.collectives import ALGORITHMS, FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.datasets.measurements.memory_fit import (
    CANNOT_FIT,
    FITS,
    HELD_PER_SOLD,
    MAY_NOT_FIT,
    NOT_KNOWN,
    ROUGH_MEMORY,
    memory_sentence,
)
from trainlaw.datasets.tables.joins import HOST_LAUNCH_S
from trainlaw.formulas import Constant, Expression, Formula, InputError, variables
from trainlaw.formulas.printers import print_javascript
from trainlaw.validate.applicability import KEY
from trainlaw.validate.held_out_errors import (
    BY_CNN,
    BY_GPU,
    CHANNELS_LAST,
    LEVEL,
    MACRO,
    OURS,
    OWN_CLASS,
    error_lines,
    held_out_kind,
    overall_error,
    summary_interval,
)

#: Files of the folder of templates, in the order in which the script needs them.
SCRIPT_FILES = (
    "numbers", "law", "warnings", "choice", "lists", "answer", "terms", "ranking", "comparison", "custom_cnn",
    "start",
)  # fmt: skip
# What the user chooses; no table of GPUs or CNNs has it.
_CHOSEN = frozenset(
    {"batch_per_gpu", "has_optimizer", "has_input_copy", "bytes_per_element", "is_tensor_precision"}
    | {"is_tuned", "is_channels_last", "is_bucketed", HOST_LAUNCH}
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
    HOST_LAUNCH: "host-launch",
}
# What the page shows first; strings, as form fields and the link's fragment hold them.
_FIRST = {
    "gpu": "V100-SXM2-16GB",
    "cnn": cnn_label("resnet50", 224, 1000),
    "precision": "",
    "layout": "nchw",
    "host-launch": "",
    "batch": "64",
    "gpus": "1",
    "nodes": "1",
    "largest": "0",
    "link": "own",
    "network": "ethernet-10g",
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
    expressions = {spec.name: feature_expression(spec.name) for spec in formula.used_features}
    all_reduce = Constant(0.0) if handling(formula).covers_multi_gpu else added_time()
    needed = {name for form in (*expressions.values(), all_reduce) for name in variables(form)}
    needed -= {SINGLE_GPU_TIME}
    tables = page_tables(formula, needed - _CHOSEN - _OF_LINKS)
    known = {name for key in ("GPUS", "CNNS") for row in tables[key].values() for name in row}
    missing = sorted(needed - _CHOSEN - _OF_LINKS - known)
    if missing:
        raise InputError(
            f"the page cannot compute {missing[0]!r}, which the formula needs; export to .py instead"
        )
    lines = [f"const {name} = {literal(table)};" for name, table in tables.items()]
    facts = {**_facts(formula, {*needed}), "errors": _errors(formula), "said": _sentences(formula)}
    functions = ",".join(
        f"{name}:{text}" for name, text in _functions(formula, expressions, all_reduce).items()
    )
    lines.append(f"const FORMULA = {{...{literal(facts)},{functions}}};")
    files = (template_text(f"page/{name}.js") for name in SCRIPT_FILES)
    return "\n".join(['"use strict";', *lines, *files])


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
        "intervals": interval_rows(formula),
        "level": 100 * LEVEL,
        "joint": formula.errors.get(KEY),
        "held": HELD_PER_SOLD,
        "margin": MARGIN,
        "first": _FIRST,
        "most": {"batch": 10_000_000, "gpus": _MOST_GPUS, "nodes": _MOST_GPUS, "images": 10**12},
        "launch": {"usual": HOST_LAUNCH_S, "least": launch.low, "most": launch.high},
        "grouped": [
            {"name": item.name, "values": dict(item.values), "default": item.default}
            for item in formula.grouped
        ],
        "optional": list(_OPTIONAL.values()),
        "known": [field for name, field in _OPTIONAL.items() if name in used],
        "coversGpus": handling(formula).covers_multi_gpu,
        "namesKinds": names_kinds(formula),
        "titles": list(titled_parts(formula)),
    }


def _errors(formula: Formula) -> dict[str, Any]:
    """Return the held-out errors: overall with its interval, and by GPU group, precision and architecture."""

    def by_name(level: str) -> dict[str, Any]:
        lines = error_lines(formula, level)
        known = {line.name: (line.errors.get(OURS, nan), line.rows) for line in lines}
        return {name: [error, rows] for name, (error, rows) in known.items() if isfinite(error)}

    overall = [overall_error(formula, OURS, MACRO), *summary_interval(formula, OURS, MACRO)]
    groups = formula.errors.get("interval_by_class", {}).get("groups", {})
    return {
        "heldOut": held_out_kind(formula),
        "overall": [value if isfinite(value) else None for value in overall],
        "gpu": by_name(BY_GPU),
        "precision": by_name("precision"),
        "cnn": by_name(BY_CNN),
        "groups": groups,
        "ownClass": OWN_CLASS,
        "lastWord": CHANNELS_LAST,
    }


def _sentences(formula: Formula) -> dict[str, Any]:
    """Return every warning of `trainlaw predict` as a sentence, with places for numbers."""
    features = [spec for spec in formula.used_features if spec.name in formula.ranges]
    return {
        "outside": {spec.name: outside_sentence(formula, spec, "{value}") for spec in features},
        "jointly": JOINTLY,
        "unknown": unknown_sentence("{name}", "{gpu}"),
        "memory": {fits: memory_sentence(fits, "{needed}", "{held}") for fits in (CANNOT_FIT, MAY_NOT_FIT)},
        "fits": {"yes": FITS, "perhaps": MAY_NOT_FIT, "no": CANNOT_FIT, "unknown": NOT_KNOWN},
        "rough": ROUGH_MEMORY,
        "ignored": ignored_settings(formula),
        "uncalibrated": other_gpu_warning(formula, ""),  # of a GPU whose rates are changed
        "host": host_sentence("{batch}", "{launch}"),
        "hostUnknown": host_sentence("{batch}", ""),
        "several": {} if handling(formula).covers_multi_gpu else _assumptions(),
        "undefined": NOT_DEFINED,
        "noInterval": NO_INTERVAL,
    }


def _assumptions() -> dict[str, str]:
    """Return by collective algorithm what is assumed of several GPUs."""
    scaling = BUILT_IN_FORMULAS[SCALING_FORMULA]()
    return {name: several_gpus_sentence(covers_algorithm(scaling, name)) for name in ALGORITHMS[1:]}


def _functions(
    formula: Formula, expressions: Mapping[str, Expression], all_reduce: Expression
) -> dict[str, str]:
    """Return the functions of the formula as JavaScript by the name under which the script calls them."""
    margin = host_margin(formula, formula.expression)
    parts, titles = parts_of(formula, formula.expression), titled_parts(formula).values()
    terms = (f"[{','.join(_function(parts[place].counted) for place in places)}]" for places in titles)
    return {
        "features": f"[{','.join(_feature(formula, *item) for item in expressions.items())}]",
        "terms": f"[{','.join(terms)}]",
        "predict": _function(formula.expression),
        "allReduce": _function(all_reduce),
        "hostMargin": "null" if margin is None else _function(margin),
        "memory": f"{{least:{_function(LEAST_NEED)},usual:{_function(USUAL_NEED)}}}",
    }


def _feature(formula: Formula, name: str, expression: Expression) -> str:
    spec = next(spec for spec in formula.used_features if spec.name == name)
    low, high = formula.ranges.get(name, (None, None))
    unit = "" if spec.unit.is_dimensionless else str(spec.unit)
    fixed = literal({"name": name, "unit": unit, "low": low, "high": high})
    return f"{{...{fixed},compute:{_function(expression)}}}"


def _function(expression: Expression) -> str:
    """Return a printed function in a separate scope, since each brings its helper functions."""
    return f"(() => {{\n{print_javascript(expression, 'compute')}return compute;\n}})()"
