"""Writes the parts of the documentation that follow from the built-in formula and from the command line.

A page has such a part between `<!-- made: NAME -->` and `<!-- end -->`; `MADE` has a function for each name.
"""

import importlib
import inspect
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from trainlaw.app.models.builtin import BUILT_IN, BUILT_IN_FORMULAS, SHORTER
from trainlaw.app.models.stated_error import evolution_gains, signed_points
from trainlaw.app.models.term_descriptions import described_terms
from trainlaw.app.studies.evolution import Lane, evolution_of, lanes_of
from trainlaw.app.terminal.formula import equation_text
from trainlaw.app.text.numbers import show_percent
from trainlaw.formulas import Formula, constants, load_formula
from trainlaw.validate.baselines import CONTROLS, NO_SEARCH, RANDOM_SEARCH, title_of
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.error_table import MACRO
from trainlaw.validate.formula_errors import (
    ErrorLine,
    carried_errors,
    error_lines,
    estimators,
    overall_error,
    summary_interval,
)
from trainlaw.validate.formula_intervals import intervals_of
from trainlaw.validate.result import OURS

from tools.builtin.recipes import RECIPES

_NULL = "null_compute"
_PART = re.compile(r"(<!-- made: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_NAMES = {"channels_last": "channels last", "unknown": "layout not recorded", "nchw": "NCHW"}


def filled(text: str) -> str:
    """Return the text of a page with its made parts as they are now."""
    return _PART.sub(lambda found: f"{found[1]}{MADE[found[2]]()}\n{found[3]}", text)


def markdown_table(header: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _law() -> Formula:
    return load_formula(BUILT_IN)


def _accuracy(levels: Sequence[str] = ("precision", "generation")) -> str:
    """One row per precision and generation: ours, the null model, the best baseline."""
    law = _law()
    rows = [_row("all runs", _overall(law))]
    for level in levels:
        lines = error_lines(law, level)
        rows += [_row(f"*{level}* {_NAMES.get(line.name, line.name)}", line) for line in lines]
    header = ["", "runs", "GPU groups", "trainlaw", "null model", "best baseline"]
    return markdown_table(header, rows)


def _overall(law: Formula) -> ErrorLine:
    names = estimators(law)
    groups = error_lines(law, "gpu_group")
    return ErrorLine(
        "all",
        sum(line.rows for line in groups),
        {name: overall_error(law, name, MACRO) for name in names},
        tuple(line.name for line in groups),
    )


def _row(name: str, line: ErrorLine) -> list[str]:
    """The lower of our error and that of the best baseline is bold."""
    ours = line.errors[OURS]
    baselines = line.errors.keys() - {OURS, _NULL, *CONTROLS}
    best = min((line.errors[key], key) for key in baselines if math.isfinite(line.errors[key]))
    return [
        name,
        f"{line.rows:,}",
        str(len(line.members)),
        _bold_if(ours < best[0], f"{ours:.1f} %"),
        f"{line.errors[_NULL]:.0f} %",
        f"{_bold_if(ours >= best[0], f'{best[0]:.1f} %')} ({title_of(best[1])})",
    ]


def _baselines(law: Formula) -> list[str]:
    return [key for key in estimators(law) if key not in {OURS, _NULL, *CONTROLS}]


_ARCHITECTURES = "macro_cnn_base_mape_percent"


def _headline() -> str:
    """The held-out error next to those of the best baseline and of the null model."""
    law = _law()

    def stated(column: str) -> tuple[str, str]:
        best = min(overall_error(law, key, column) for key in _baselines(law))
        null = f"FLOPs over peak rate {overall_error(law, _NULL, column):.0f} %"
        return f"{overall_error(law, OURS, column):.1f} %", f"best baseline {best:.1f} %, {null}"

    (ours, rest), (by_cnn, rest_by_cnn) = stated(MACRO), stated(_ARCHITECTURES)
    return (
        f"- **Error on GPUs left out of search and fit: {ours}**, mean over "
        f"{len(error_lines(law, 'gpu_group'))} kinds of GPUs ({rest}); "
        f"mean over architectures {by_cnn} ({rest_by_cnn})."
    )


def _means() -> str:
    """Mean errors over GPU groups, architectures and runs, of the formula and of baselines."""
    law, columns = _law(), (MACRO, _ARCHITECTURES, "mape_percent")
    known = estimators(law)
    shown = [key for key in (OURS, _NULL, "roofline", "nnls_path") if key in known]
    errors = [[overall_error(law, key, name) for key in shown] for name in columns]
    cells = [[_bold_if(error == min(column), f"{error:.1f} %") for error in column] for column in errors]
    rows = [[title_of(key), *row] for key, row in zip(shown, zip(*cells, strict=True), strict=True)]
    return markdown_table(["mean over", "GPU groups", "architectures", "runs"], rows)


def _bold_if(condition: bool, text: str) -> str:
    return f"**{text}**" if condition else text


def _worst() -> str:
    """The classes of runs with the largest errors, for the limitations."""
    lines = [line for level in ("precision", "generation", "layout") for line in error_lines(_law(), level)]
    worst = sorted(lines, key=lambda line: -line.errors[OURS])[:5]
    named = ", ".join(f"{_NAMES.get(line.name, line.name)} ({line.errors[OURS]:.0f} %)" for line in worst)
    return f"- Predictions differ most from measurements for: {named}."


def _intervals() -> str:
    factors = [(name, known) for name, known, _ in intervals_of(_law()).lines() if math.isfinite(known)]
    rows = [
        [name, f"{factor:.2f}", f"{100 / factor:.0f} to {100 * factor:.0f} ms"] for name, factor in factors
    ]
    level = f"{100 * LEVEL:.0f} %"
    return markdown_table(["class of runs", "factor", f"{level} interval of 100 ms"], rows)


def _calibration() -> str:
    """The held-out error by the number of measured runs on the target GPU."""
    levels = [level for level in _law().errors["calibration"] if level["n_groups"]]
    rows = [
        [
            level["level"].partition(": ")[2].removeprefix("and "),
            f"{level['macro_mape_percent']:.1f} %",
            f"{level['low_percent']:.1f} to {level['high_percent']:.1f} %",
        ]
        for level in levels
    ]
    return markdown_table(["known about the target GPU", "mean error", "90 % interval"], rows)


def _evolved() -> str:
    """Constants and errors of both formulas, and of what the search of the short one starts from."""
    law, short = _law(), BUILT_IN_FORMULAS["short"]()
    ours, least, start = (
        f"{overall_error(formula, key, MACRO):.1f} %"
        for formula, key in ((law, OURS), (short, OURS), (short, NO_SEARCH))
    )
    return (
        f"The {len(constants(law.expression))} constants of this formula are fitted ({ours}). The formula "
        f"`short` is evolved: {len(constants(short.expression))} constants, {least}, from a start of {start}."
    )


def _commands() -> str:
    """Every command with the first sentence of its help, in the order of the command line."""
    from trainlaw.app.cli import app  # noqa: PLC0415 (only this part needs the command line)

    rows = [[f"`trainlaw {name}`", text] for name, text in _purposes(app, "")]
    return markdown_table(["command", "purpose"], rows)


def _purposes(group: Any, path: str) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if getattr(command, "commands", None):
            yield from _purposes(command, f"{path}{name} ")
        elif not command.hidden:
            help_text = (command.help or "").strip().split("\n\n")[0].replace("\n", " ")
            yield f"{path}{name}", re.sub(r"(--[a-z-]+)", r"`\1`", help_text.replace("|", "/"))


_SUMMARY = ("```{eval-rst}", ".. autosummary::", "   :toctree: api", "   :nosignatures:", "")


def _python() -> str:
    """Summaries of the exported names of each package, in the order of its layers; each has its own page."""
    return "\n\n".join(map(_package, _FACES))


def _package(face: str) -> str:
    module = importlib.import_module(face)
    lines = [f"## {face}", "", (inspect.getdoc(module) or "").split("\n")[0], "", *_SUMMARY]
    for name in module.__all__:
        item = getattr(module, name)
        # `trainlaw.FormulaRegressor` is described where it is defined.
        if inspect.isfunction(inspect.unwrap(item)) or (inspect.isclass(item) and face != "trainlaw"):
            lines += [f"   {face}.{name}"]
    return "\n".join([*lines, "```"])


def _run_columns() -> str:
    schema = json.loads(resources.files("trainlaw.datasets.data").joinpath("runs.schema.json").read_text())
    rows = [
        [f"`{field['name']}`", field["type"], field.get("unit", ""), field.get("description", "")]
        for field in schema["fields"]
    ]
    return markdown_table(["column", "type", "unit", "meaning"], rows)


def _terms() -> str:
    rows = [[term.name, term.sentence.replace("|", "/")] for term in described_terms(_law())]
    return markdown_table(["term", "meaning"], rows)


def _equation(name: str = "built-in") -> str:
    return f"```text\n{equation_text(BUILT_IN_FORMULAS[name]())}\n```"


def _shorter() -> str:
    """Constants and errors of the formulas of whole iterations, with what evolution adds to each."""
    rows = []
    for name in ("built-in", *SHORTER):
        law = BUILT_IN_FORMULAS[name]()
        errors = (show_percent(overall_error(law, key)) for key in (OURS, *CONTROLS))
        low, high = summary_interval(law, OURS, MACRO)
        held, *controls = (f"{error} %" for error in errors)
        span = f"{show_percent(low)} to {show_percent(high)} %"
        rows.append([name, len(constants(law.expression)), held, span, *controls])
    return markdown_table(
        ["formula", "constants", "held-out error", "90 % interval", *map(title_of, CONTROLS)], rows
    )


def _evolution() -> str:
    """Held-out errors of searches and their controls by kind of study, and what evolution adds."""
    rows = []
    for recipe in (recipe for recipe in RECIPES if recipe.kind == "study"):
        law = BUILT_IN_FORMULAS[recipe.name]()
        row = [
            f"`{recipe.command.partition(' --against')[0]}`",
            f"{show_percent(overall_error(law, OURS, MACRO))} %",
        ]
        for control, numbers in evolution_gains(carried_errors(law)).items():
            gain, low, high = map(signed_points, numbers)
            error = show_percent(overall_error(law, control, MACRO))
            row.append(f"{error} %: {gain} ({low} to {high})")
        rows.append(row)
    return markdown_table(["study", "evolved", *map(title_of, CONTROLS)], rows)


def _found(name: str = "built-in") -> str:
    """The family tree of a built-in formula: since when the best one has each amount, and what was lost."""
    evolution = evolution_of(BUILT_IN_FORMULAS[name]())
    assert evolution is not None
    first, lanes = evolution.steps[0].tried, lanes_of(evolution)
    unchanged = [lane for lane in lanes if lane.spans == ((first, None),) and not lane.changes]
    named = ", ".join(f"`{lane.name}`" for lane in unchanged)
    amounts = "amount" if len(unchanged) == 1 else "amounts"
    rows = [[f"{len(unchanged)} {amounts}: {named}", f"from {first} on", "as they began"]]
    rows += [_lineage(lane) for lane in lanes if lane not in unchanged]
    return markdown_table(["amount", "in the best formula", "its factors, and since when"], rows)


def _lineage(lane: Lane) -> list[str]:
    spans = [f"{begin:,} to {end:,}" if end else f"from {begin:,} on" for begin, end in lane.spans]
    name = f"`{lane.name}`" if lane.is_delivered else f"*`{lane.name}`, lost again*"
    changes = [f"{n:,}: {', '.join(map('`{}`'.format, factors)) or 'none'}" for n, factors in lane.changes]
    return [name, ", ".join(spans), "; ".join(changes) or "as it entered"]


def _curve_rows(name: str = "built-in", counts: Sequence[int] = (1, 2, 5, 10, 50, 100, 400)) -> str:
    """Held-out errors of a built-in formula's searches over the formulas tried, evolved and at random."""
    evolution = evolution_of(BUILT_IN_FORMULAS[name]())
    assert evolution is not None
    rows = []
    for key, title in ((OURS, "evolved"), (RANDOM_SEARCH, "random search")):
        errors = ([error for n, error in evolution.curves[key] if n <= tried][-1] for tried in counts)
        rows.append([title, *(f"{error:.2f} %" for error in errors)])
    return markdown_table(["formulas tried", *(f"{count:,}" for count in counts)], rows)


_FACES = ("trainlaw", "trainlaw.formulas", "trainlaw.datasets", "trainlaw.evolve", "trainlaw.validate")
MADE: Mapping[str, Callable[[], str]] = {
    "accuracy": _accuracy,
    "commands": _commands,
    "calibration": _calibration,
    "evolved": _evolved,
    "headline": _headline,
    "means": _means,
    "equation": _equation,
    "evolution": _evolution,
    "found-curves": _curve_rows,
    "found-curves-short": lambda: _curve_rows("short", (1, 10, 50, 100, 500, 1_000, 4_000)),
    "found-short": lambda: _found("short"),
    "short-equation": lambda: _equation("short"),
    "shorter": _shorter,
    "intervals": _intervals,
    "python": _python,
    "run-columns": _run_columns,
    "terms": _terms,
    "worst": _worst,
}
