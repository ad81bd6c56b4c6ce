"""Facts of one GPU or CNN as text."""

import math
from collections.abc import Mapping

from trainlaw.app.plain_tables import text_table
from trainlaw.app.quantities import show_number
from trainlaw.datasets import FEATURES, CnnFacts


def fact_text(facts: Mapping[str, object]) -> str:
    """Return facts one per line, by name; unknown numbers and empty texts are said to be unknown."""
    return text_table(
        ["fact", "value"],
        [[name, f"{value:g}" if name == "year" else _shown(value)] for name, value in facts.items()],
        indent="",
    )


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "unknown" if math.isnan(value) else f"{value:,.10g}"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value) or "unknown"


def counts_text(facts: CnnFacts) -> str:
    """Return the counts of a network with their units and meanings."""
    rows = []
    for name, value in facts.counts.items():
        spec = FEATURES[name].spec
        rows.append(
            [name, show_number(value, 10), "" if spec.unit.is_dimensionless else str(spec.unit), spec.meaning]
        )
    title = f"{facts.cnn} ({facts.cnn_family}), {facts.input_size_px} px, {facts.n_classes} classes"
    return f"{title}\n{text_table(['count', 'value', 'unit', 'meaning'], rows, indent='')}"
