"""The tables of the page as plain JSON: GPUs, CNNs, precisions, links and prices to choose from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainlaw.app.answers.facts import gpu_facts, precision_facts
from trainlaw.app.inputs.prices import EXAMPLE, read_prices
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS, SCALING_FORMULA
from trainlaw.app.models.lookup_tables import (
    cnn_rows,
    gpu_rows,
    name_tables,
    precision_rows,
    usual_labels,
)
from trainlaw.app.models.multi_gpu import covers_algorithm
from trainlaw.app.text.tables import null_for_nan
from trainlaw.datasets import built_in_gpus
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.datasets.hardware.collectives import ALGORITHMS, FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.datasets.hardware.links import links
from trainlaw.datasets.hardware.possible import lacking, link_family, newest_links
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.nearest import FILE, LETTERS
from trainlaw.datasets.naming import NameIndex, naming_rules
from trainlaw.formulas import Formula
from trainlaw.validate.error_table import BY_CNN
from trainlaw.validate.formula_errors import error_lines
from trainlaw.validate.formula_intervals import intervals_of

_Rows = dict[str, dict[str, Any]]
_OF_CNN = frozenset({"cnn", "cnn_base", "input_size_px", "n_classes"})
_OF_GPU = frozenset({"memory_bytes", "default_precision", "vendor", "generation"})


def page_tables(formula: Formula, names: set[str], said: set[str]) -> dict[str, Any]:
    """Return the constants of the script by name.

    names : base columns that the formula is made of. said : quantities and texts of the table of answers.
    """
    cnns = _cnns(formula, names | said | _OF_CNN)
    precisions, scaling = precision_rows(), BUILT_IN_FORMULAS[SCALING_FORMULA]()
    peaks = {str(row["peak_column"]) for row in precisions.values()}
    return {
        "GPUS": _gpus(formula, names | peaks | _OF_GPU),
        "CNNS": cnns,
        "PRECISIONS": {
            name: {**row, "letter": LETTERS[name], **precision_facts(formula, name)}
            for name, row in precisions.items()
        },
        "LINKS": _links(),
        "NAMES": {kind.lower(): _names(kind) for kind in ("GPU", "CNN")},
        "LABELS": {name: label for name, label in usual_labels().items() if label in cnns},
        "MEASURED": _measured(),
        "ALGORITHMS": {
            name: {
                "indicator": algorithm_indicator(FEATURE_OF_ALGORITHM[name]),
                "is_scaled": int(covers_algorithm(scaling, name)),
            }
            for name in ALGORITHMS[1:]
        },
        "PRICES": _prices(),
    }


def _gpus(formula: Formula, names: set[str]) -> _Rows:
    """Return the GPUs with the facts that sentences are about."""
    rows = _columns(gpu_rows(), names)
    for gpu in built_in_gpus().gpus:
        if gpu.gpu in rows:
            facts = gpu_facts(formula, gpu)
            rows[gpu.gpu] |= {
                "newest_links": newest_links(gpu),
                "lacks": lacking(gpu),
                "own_link": gpu.usual_link,
                "group": gpu.gpu_group,
                "per_node": usual_server(gpu.gpu).gpus_per_node,
                "fabric": usual_server(gpu.gpu).fabric,
                "is_new": intervals_of(formula).is_new(gpu.generation),
                **{name: value for name, value in facts.items() if isinstance(value, float)},
            }
    return rows


def _cnns(formula: Formula, names: set[str]) -> _Rows:
    """Return the CNNs, those of architectures with training runs first."""
    rows = _columns(cnn_rows(), names)
    seen = {line.name for line in error_lines(formula, BY_CNN)}
    return dict(sorted(rows.items(), key=lambda item: (item[1]["cnn_base"] not in seen, item[0].lower())))


def _measured() -> dict[str, dict[str, str]]:
    """Return the packed measured runs by CNN and GPU."""
    found: dict[str, dict[str, str]] = {}
    for row in read_data_rows(FILE):
        found.setdefault(row["cnn"], {})[row["gpu"]] = row["runs"]
    return found


def _columns(table: Mapping[str, Mapping[str, Any]], names: set[str]) -> _Rows:
    """Return the named columns of a look-up table; unknown numbers are null."""
    return {
        label: {name: _short(value) for name, value in row.items() if name in names}
        for label, row in table.items()
    }


def _short(value: Any) -> Any:
    """Return null for an unknown number, and a whole one without a point."""
    known = null_for_nan(value)
    return int(known) if isinstance(known, float) and known.is_integer() else known


def _names(kind: str) -> dict[str, Any]:
    """Return the tables of names without the keys that the script makes of names and texts itself."""
    tables, rules = name_tables(kind), NameIndex(kind, naming_rules(kind))
    made: dict[str, set[str]] = {}
    for name, texts in tables.exact.items():
        for text in (name, *texts):
            made.setdefault(rules.key(text), set()).add(name)
    rented = {name: [*map(_short, row)] for name, row in tables.instances.items()}
    keys = [[key, *names] for key, *names in tables.keys if len(names) > 1 or made.get(key) != {*names}]
    return {**vars(tables), "keys": keys, "instances": rented}


def _links() -> _Rows:
    return {
        name: {
            "scope": link.scope,
            "family": link_family(name),
            "byte_per_s": link.effective_byte_per_s,
            "s_per_byte": link.s_per_byte,
            "latency_s": link.latency_s,
        }
        for name, link in links().items()
        if name != "none"
    }


def _prices() -> dict[str, Any]:
    """Return the shipped prices by GPU and number of GPUs of a machine, their currency and origin."""
    prices = read_prices(Path(EXAMPLE))
    by_gpu: dict[str, dict[str, float]] = {}
    for (gpu, count), price in prices.prices.items():
        by_gpu.setdefault(gpu, {})[str(count)] = price
    return {"currency": prices.currency, "origin": prices.origin, "of": by_gpu}
