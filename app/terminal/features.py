"""The feature tables as text."""

from trainlaw.app.text.fitted_tables import fitted_table
from trainlaw.datasets import FEATURES, LAYER_FEATURES, STUDY_FEATURES


def features_text(search: str = "", of_layers: bool = False, brief: bool = False) -> str:
    """Return the features (of runs, or of layers) whose name, meaning or definition contains a text.

    `brief` leaves the definitions out.
    """
    wanted = search.lower()
    rows = []
    for feature in (LAYER_FEATURES if of_layers else FEATURES).values():
        spec = feature.spec
        if not any(wanted in text.lower() for text in (spec.name, spec.meaning, feature.definition)):
            continue
        star = "*" if spec.name in STUDY_FEATURES and not of_layers else ""
        rows.append([star, spec.name, spec.symbol, str(spec.unit), spec.meaning])
        if not (brief or feature.is_raw):
            rows.append(["", "", "", "", f"= {feature.definition}"])
    header = ["", "name", "symbol", "unit", "meaning, definition"]
    return fitted_table(header, rows) if rows else f"no feature contains {search!r}"
