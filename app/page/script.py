"""The script of the page: tables to choose from, and the formula as JavaScript."""

import json
from collections.abc import Mapping
from math import isnan
from typing import Any

from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, SCALING_FORMULA
from trainlaw.app.models.errors import (
    BY_CNN,
    LEVEL,
    OURS,
    error_lines,
    held_out_kind,
)
from trainlaw.app.models.lookup_tables import cnn_label, cnn_rows, gpu_rows, interval_rows, precision_rows
from trainlaw.app.models.memory import LEAST_NEED, NEEDED, USUAL_NEED
from trainlaw.app.models.multi_gpu import (
    ASSUMPTION,
    SCALED,
    SINGLE_GPU_INTERVAL,
    added_time,
    covers_algorithm,
)
from trainlaw.app.models.scopes import feature_expression, handling
from trainlaw.app.models.settings import HOST_LAUNCH, host_margin
from trainlaw.app.models.terms import parts_of
from trainlaw.app.text.html import template_text
from trainlaw.datasets import built_in_gpus, link_table
from trainlaw.datasets.cnns.memory import MARGIN
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.datasets.hardware.collectives import ALGORITHMS, FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.datasets.measurements.memory_fit import HELD_PER_SOLD
from trainlaw.datasets.tables.joins import HOST_LAUNCH_S
from trainlaw.formulas import Constant, Expression, Formula, InputError, variables
from trainlaw.formulas.printers import print_javascript
from trainlaw.validate.applicability import KEY

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
    "precision": "fp32",
    "layout": "nchw",
    "host-launch": f"{1e6 * HOST_LAUNCH_S:g}",
    "batch": "64",
    "gpus": "1",
    "nodes": "1",
    "largest": "0",
    "link": "own",
    "network": "ethernet-10g",
    "algorithm": "ring",
    "peak": "1",
    "bandwidth": "1",
}


def script_of(formula: Formula) -> str:
    """Return the script of a formula's page, inert inside a script element.

    Raises InputError where a feature cannot be computed from what the page offers to choose.
    """
    expressions = {spec.name: feature_expression(spec.name) for spec in formula.used_features}
    all_reduce = Constant(0.0) if handling(formula).covers_multi_gpu else added_time()
    needed = {name for form in (*expressions.values(), all_reduce) for name in variables(form)}
    needed -= {SINGLE_GPU_TIME}
    tables = _tables(needed - _CHOSEN - _OF_LINKS)
    known = {name for key in ("GPUS", "CNNS") for row in tables[key].values() for name in row}
    missing = sorted(needed - _CHOSEN - _OF_LINKS - known)
    if missing:
        raise InputError(
            f"the page cannot compute {missing[0]!r}, which the formula needs; export to .py instead"
        )
    lines = [f"const {name} = {literal(table)};" for name, table in tables.items()]
    lines.append(f"const FORMULA = {_formula_object(formula, expressions, all_reduce)};")
    return "\n".join([*lines, template_text("page.js")])


def literal(value: Any) -> str:
    """Return JSON that is inert inside a script element.

    >>> literal("</script>")
    '"\\\\u003c/script>"'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    # No tag or comment can begin without <; the other two end a line in JavaScript before 2019.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _tables(names: set[str]) -> dict[str, dict[str, dict[str, Any]]]:
    precisions = precision_rows()
    peaks = {str(row["peak_column"]) for row in precisions.values()}
    gpus = _columns(gpu_rows(), names | peaks | {"memory_bytes", "default_precision", "vendor", "generation"})
    for gpu in built_in_gpus().gpus:
        if gpu.gpu in gpus:
            gpus[gpu.gpu]["own_link"] = gpu.gpu_link or gpu.host_link or "pcie3-x16"
    return {
        "GPUS": gpus,
        "CNNS": _columns(cnn_rows(), names | {*NEEDED, "cnn_base"}),
        "PRECISIONS": {name: dict(row) for name, row in precisions.items()},
        "LINKS": _links(),
        "ALGORITHMS": {
            name: {"indicator": algorithm_indicator(FEATURE_OF_ALGORITHM[name])} for name in ALGORITHMS[1:]
        },
    }


def _columns(table: Mapping[str, Mapping[str, Any]], names: set[str]) -> dict[str, dict[str, Any]]:
    """Return the named columns of a look-up table; unknown numbers are null."""
    return {
        label: {name: _null_for_nan(value) for name, value in row.items() if name in names}
        for label, row in table.items()
    }


def _null_for_nan(value: Any) -> Any:
    return None if isinstance(value, float) and isnan(value) else value


def _links() -> dict[str, dict[str, Any]]:
    rows = link_table().to_dict("records")
    return {
        row["link"]: {
            "scope": row["scope"],
            "byte_per_s": row["effective_byte_per_s"],
            "s_per_byte": 1.0 / row["effective_byte_per_s"],
            "latency_s": row["latency_s"],
        }
        for row in rows
        if row["link"] != "none"
    }


def _formula_object(formula: Formula, expressions: Mapping[str, Expression], all_reduce: Expression) -> str:
    """Return the formula as a JavaScript object: printed functions, and JSON for everything else."""
    features = []
    for spec in formula.used_features:
        low, high = formula.ranges.get(spec.name, (None, None))
        unit = "" if spec.unit.is_dimensionless else str(spec.unit)
        fixed = literal({"name": spec.name, "unit": unit, "low": low, "high": high})
        features.append(f"{{...{fixed},compute:{_function(expressions[spec.name])}}}")
    terms = [_function(part.counted) for part in parts_of(formula, formula.expression)]
    used = {name for form in (*expressions.values(), all_reduce) for name in variables(form)}
    facts = {
        "intervals": interval_rows(formula),
        "generations": formula.provenance.get("generations"),
        "vendors": formula.provenance.get("vendors", []),
        "heldOut": held_out_kind(formula),
        "level": 100 * LEVEL,
        "joint": formula.errors.get(KEY),
        "held": HELD_PER_SOLD,
        "margin": MARGIN,
        "precisions": formula.provenance.get("precisions"),  # None: not said, so the page warns of none
        "first": _FIRST,
        "grouped": [
            {"name": item.name, "values": dict(item.values), "default": item.default}
            for item in formula.grouped
        ],
        "optional": list(_OPTIONAL.values()),
        "known": [field for name, field in _OPTIONAL.items() if name in used],
        "assumptions": {} if handling(formula).covers_multi_gpu else _assumptions(),
        "errorOfCnn": {
            line.name: line.errors[OURS] for line in error_lines(formula, BY_CNN) if OURS in line.errors
        },
    }
    margin = host_margin(formula, formula.expression)
    functions = (
        f"features:[{','.join(features)}],terms:[{','.join(terms)}],"
        f"predict:{_function(formula.expression)},allReduce:{_function(all_reduce)},"
        f"hostMargin:{'null' if margin is None else _function(margin)},"
        f"memory:{{least:{_function(LEAST_NEED)},usual:{_function(USUAL_NEED)}}}"
    )
    return f"{{...{literal(facts)},{functions}}}"


def _assumptions() -> dict[str, str]:
    """Return by collective algorithm what is assumed of several GPUs, as `trainlaw predict` warns."""
    scaling = BUILT_IN_FORMULAS[SCALING_FORMULA]()
    return {
        name: f"{SCALED if covers_algorithm(scaling, name) else ASSUMPTION}; {SINGLE_GPU_INTERVAL}"
        for name in ALGORITHMS[1:]
    }


def _function(expression: Expression) -> str:
    """Return a printed function in a separate scope, since each brings its helper functions."""
    return f"(() => {{\n{print_javascript(expression, 'compute')}return compute;\n}})()"
