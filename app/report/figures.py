"""Figures and tables of a study for a paper: SVG and, where cairosvg is installed, PDF; CSV and LaTeX."""

import importlib
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainlaw.app.models.front import front_csv, front_table
from trainlaw.app.report.errors import reported_errors
from trainlaw.app.report.front import front_plot, support_plot, support_table
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.text import svg
from trainlaw.app.text.html import template_text
from trainlaw.app.text.tables import Table
from trainlaw.formulas.files.text_files import write_text_atomically
from trainlaw.validate.formula_errors import carried_errors

_VARIABLE = re.compile(r"(--[\w-]+): ([^;]+);")
_HUE = re.compile(r'style="--hue:(\d+)"')


def write_figures(outcome: StudyOutcome, folder: Path) -> str:
    """Write figures and tables of a finished study into `folder`; return what was written, in one line."""
    folder.mkdir(parents=True, exist_ok=True)
    errors = reported_errors(outcome, carried_errors(outcome.formula)) or {}
    drawings, tables = _drawings(outcome, errors), _tables(outcome, errors)
    style = paper_style()
    converter = importlib.util.find_spec("cairosvg") and importlib.import_module("cairosvg")
    for name, drawing in drawings.items():
        text = svg.standalone(_HUE.sub(r'style="stroke:hsl(\1,72%,42%)"', drawing), style)
        write_text_atomically(folder / f"{name}.svg", text)
        if converter:
            converter.svg2pdf(bytestring=text.encode(), write_to=str(folder / f"{name}.pdf"))
    for name, (as_csv, table) in tables.items():
        write_text_atomically(folder / f"{name}.csv", as_csv.csv())
        write_text_atomically(folder / f"{name}.tex", table.latex())
    pdf = "and .pdf" if converter else "alone, since cairosvg, which makes .pdf, is not installed"
    return f"{folder}: {', '.join(drawings)} as .svg {pdf}; {', '.join(tables)} as .csv and .tex"


def paper_style() -> str:
    """Return the style of the report's drawings, without variables, which few programs know."""
    text = template_text("report.css")
    values = dict(_VARIABLE.findall(text[: text.index("}")]))
    rules = text[text.index(".label") : text.index("@page")]
    return re.sub(r"var\((--[\w-]+)\)", lambda found: values.get(found[1], "0"), rules)


def _drawings(outcome: StudyOutcome, errors: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    if outcome.few is not None:
        found["front"] = front_plot(outcome.few.rows)
        found |= {"support": support_plot(outcome.few.support)} if outcome.few.support else {}
    named = {"predicted": "scatter", "gpu-errors": "gpu_dots", "architecture-errors": "cnn_dots"}
    return found | {name: errors[key] for name, key in named.items() if key in errors}


def _tables(outcome: StudyOutcome, errors: Mapping[str, Any]) -> Mapping[str, tuple[Table, Table]]:
    """Tables by name: with all digits for CSV, and as readers see them for LaTeX."""
    found: dict[str, tuple[Table, Table]] = {}
    if outcome.few is not None:
        found["front"] = front_csv(outcome.few.rows), front_table(outcome.few.rows)
        found["support"] = (support_table(outcome.few.support),) * 2
    named = {"gpu-errors": "by_gpu", "architecture-errors": "by_cnn"}
    return found | {name: (errors[key],) * 2 for name, key in named.items() if key in errors}
