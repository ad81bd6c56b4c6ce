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

from trainlaw.app.models.builtin import BUILT_IN, BUILT_IN_FORMULAS, FRONT
from trainlaw.app.models.front import FRONT as FRONT_ENTRY
from trainlaw.app.models.front import LAW, FrontRow, front_table, law_row, worth_text
from trainlaw.app.models.term_descriptions import described_terms
from trainlaw.app.terminal.formula import equation_text
from trainlaw.formulas import Formula, load_formula
from trainlaw.validate.baselines import CONTROLS, PRUNED_LAW, RANDOM_SEARCH, STEPWISE, title_of
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.error_table import MACRO
from trainlaw.validate.formula_errors import (
    ErrorLine,
    error_lines,
    estimators,
    overall_error,
)
from trainlaw.validate.formula_intervals import intervals_of
from trainlaw.validate.result import OURS
from trainlaw.validate.support import support_of

_NULL = "null_compute"
_SHOWN_CONSTANTS = 6  # of the formula on the first screen
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


def front_rows() -> tuple[FrontRow, ...]:
    """Return the built-in front: the evolved formulas, and the law last."""
    evolved = (FrontRow(int(name), BUILT_IN_FORMULAS[name]()) for name in FRONT)
    return (*evolved, law_row(_law()))


def _evolved() -> str:
    """What the formula of six constants is worth, in one line."""
    row = next(row for row in front_rows() if row.constants == _SHOWN_CONSTANTS)
    controls = [
        f"{title} {row.control_percent(name):.0f} %"
        for name, title in ((RANDOM_SEARCH, "random search"), (STEPWISE, "stepwise selection"))
        if math.isfinite(row.control_percent(name))
    ]
    null = f"FLOPs over peak rate {overall_error(_law(), _NULL, MACRO):.0f} %"
    return (
        f"- **Evolved, {row.constants} constants**: the formula below errs by "
        f"**{row.held_out_percent:.1f} %** on GPUs that the search never saw; {', '.join([*controls, null])}."
    )


def _front() -> str:
    """The built-in front: errors by number of constants, next to those of the controls."""
    table = front_table(front_rows())
    return markdown_table(table.header, table.shown)


def _worth() -> str:
    """What evolution is worth at each number of constants."""
    rows = [row for row in front_rows() if row.gains and row.constants in map(int, FRONT)]
    return "\n".join(f"- {row.constants} constants: {worth_text(row)}." for row in rows)


def _kinds() -> str:
    """What evolution is worth for each kind of time: its formulas of few constants next to the law."""
    rows = []
    for name in ("built-in", "forward", "layer", "convolution", "multi", "anchor"):
        law = BUILT_IN_FORMULAS[name]()
        for row in law.errors.get(FRONT_ENTRY, ()):
            if row["method"] != LAW:
                gains = (_gain(row, control) for control in (RANDOM_SEARCH, STEPWISE, PRUNED_LAW))
                error = f"{row['held_out_percent']:.1f} %"
                rows.append(
                    [f"`{name}`", row["constants"], error, *gains, f"{overall_error(law, OURS):.1f} %"]
                )
    controls = ("random search", "stepwise selection", "the law, pruned")
    better = [f"points below {control}" for control in controls]
    return markdown_table(["formula", "constants", "held-out error", *better, "the law"], rows)


def _gain(row: Mapping[str, Any], control: str) -> str:
    gain, low, high = (row[f"{control}_gain{end}_points"] for end in ("", "_low", "_high"))
    return "-" if gain is None else f"{gain:.1f} ({low:.1f} to {high:.1f})"


def _support() -> str:
    """Which amounts and factors the data support."""
    shares = [[f"`{share.name}`", f"{100 * share.share:.0f} %"] for share in support_of(_law())]
    return markdown_table(["amount or factor", "share"], shares)


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


_FACES = ("trainlaw", "trainlaw.formulas", "trainlaw.datasets", "trainlaw.evolve", "trainlaw.validate")
MADE: Mapping[str, Callable[[], str]] = {
    "accuracy": _accuracy,
    "commands": _commands,
    "calibration": _calibration,
    "evolved": _evolved,
    "headline": _headline,
    "means": _means,
    "equation": _equation,
    "front": _front,
    "kinds": _kinds,
    "six-equation": lambda: _equation(str(_SHOWN_CONSTANTS)),
    "support": _support,
    "worth": _worth,
    "intervals": _intervals,
    "python": _python,
    "run-columns": _run_columns,
    "terms": _terms,
    "worst": _worst,
}
