"""Output of `show` and `list` commands as JSON in SI units; null for unknown values."""

from collections.abc import Collection, Iterable
from dataclasses import asdict

import pandas as pd
from trainlaw.app.inputs.resolve import reader_notes
from trainlaw.app.models.scopes import handling
from trainlaw.app.terminal.catalog import found_features
from trainlaw.app.terminal.output import TABLES
from trainlaw.app.text.tables import finite_json
from trainlaw.datasets import DATASETS, FEATURES, CnnCounts, Gpu, load
from trainlaw.datasets.hardware.gpus import FACT_COLUMNS, GPU_COLUMNS
from trainlaw.datasets.hardware.links import Link
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import Formula, to_text
from trainlaw.formulas.errors import check_name

_GPU_LIST = TABLES["gpus_json"]["names"]
_LINK_FIGURES = ("nominal_byte_per_s", "effective_byte_per_s", "latency_s")


def gpus_json(gpus: Iterable[Gpu]) -> str:
    """Return the main specifications of GPUs."""
    return finite_json([{name: getattr(gpu, name) for name in _GPU_LIST} for gpu in gpus])


def gpu_json(gpu: Gpu) -> str:
    """Return all specifications of a GPU, each with its unit and source."""
    units = {column.name: column.unit for column in GPU_COLUMNS}
    specifications = {
        name: {"value": getattr(gpu, name), "unit": units[name], "source": gpu.source_of(name)}
        for name in FACT_COLUMNS
    }
    names = {"gpu": gpu.gpu, "aliases": gpu.aliases, "remark": gpu.remark}
    return finite_json({**names, "specifications": specifications})


def links_json(links: Iterable[Link]) -> str:
    """Return links with the source of each figure."""
    return finite_json(
        [
            {**asdict(link), "sources": {name: link.source_of(name) for name in _LINK_FIGURES}}
            for link in links
        ]
    )


def features_json(search: str = "", of_layers: bool = False, searched: Collection[str] = ()) -> str:
    """Return the features whose name, meaning or definition contains a text; searched : those of a study."""
    return finite_json(
        [
            {
                **feature.spec.to_json(),
                "definition": None if feature.is_base else feature.definition,
                "in_study": feature.spec.name in searched,
            }
            for feature in found_features(search, of_layers)
        ]
    )


def cnn_json(facts: CnnCounts) -> str:
    """Return the counts of a CNN per image and forward pass, with their units, and what warnings need."""
    names = ("cnn", "cnn_base", "cnn_family", "input_size_px", "n_classes")
    counts = {
        name: {"value": value, "unit": str(FEATURES[name].spec.unit)} for name, value in facts.counts.items()
    }
    memory = asdict(facts.memory)
    said = {"notes": reader_notes(facts), "memory_is_rough": False}
    return finite_json(
        {**{name: getattr(facts, name) for name in names}, "counts": counts, "memory": memory, **said}
    )


def datasets_json() -> str:
    """Return the built-in tables with their licences and caveats."""
    return finite_json([_dataset(name, load(name)) for name in DATASETS])


def dataset_json(name: str) -> str:
    """Return one built-in table with its identity and sources; raises UnknownNameError."""
    check_name("data set", name, DATASETS)
    table = load(name)
    frame = table.frame
    sources = list[dict[str, object]]()
    if "source" in frame:
        sources = records_of(frame.value_counts(["source", "licence"]).rename("rows").reset_index())
    return finite_json({**_dataset(name, table), "sha256": table.sha256, "sources": sources})


def _dataset(name: str, table: MeasuredTable) -> dict[str, object]:
    stated = {
        key: value
        for key, value in vars(DATASETS[name]).items()
        if key not in ("file", "pooled", "precision_stated")
    }
    return {**stated, "rows": len(table)}


def formula_json(formula: Formula, origin: str, **further: object) -> str:
    """Return a formula as its file holds it, with its origin, its terms as text and what it can predict.

    further : entries after these.
    """
    said = {"origin": origin, "terms": [to_text(term, 3) for term in formula.terms()]}
    return finite_json(
        {**said, "predicts_runs": handling(formula).is_predictable, **formula.to_json(), **further}
    )


def records_of(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Return the rows of a frame; a cell without a value is None."""
    objects = frame.astype(object)
    rows = objects.where(objects.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]
