"""The sheet Errors: factors of intervals, and held-out errors of the formula and of baselines."""

from collections.abc import Mapping

from trainlaw.app.answers.error_rows import has_architecture_errors
from trainlaw.app.models.stated_error import evolution_sentence
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.text.tables import Table
from trainlaw.app.workbook.model import Model, is_listed, new_sheet, option, write_named
from trainlaw.formulas import Formula
from trainlaw.validate.baselines import title_of
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.error_table import BY_CNN, BY_GPU, METRIC_TITLES
from trainlaw.validate.formula_errors import (
    carried_errors,
    error_lines,
    errors_by_name,
    estimators,
    held_out_kind,
    overall_error,
)
from trainlaw.validate.formula_intervals import intervals_of
from trainlaw.validate.result import OURS
from trainlaw.validate.run_classes import (
    AMD,
    MAIN_VENDOR,
    OTHER_CLASS,
    PLAIN_STACKS,
    STACK_PRECISIONS,
    STACK_WORDS,
    UNKNOWN_STACK,
)

_LEVELS: Mapping[str, str] = {"generation": "generation", "architecture": BY_CNN}


def write_errors(book: BookPlan, formula: Formula, model: Model) -> None:
    """Write the sheet.

    formula : the one whose errors are listed. model : whose times the interval is for.
    """
    protocol = str(formula.errors.get("protocol", "this formula carries no held-out errors"))
    sheet = new_sheet(book, "Errors", held_out=held_out_kind(formula), protocol=protocol)
    start, names = _intervals(sheet, model.formula), estimators(formula)
    titles = list(map(title_of, names))
    overall = [
        [title, *(overall_error(formula, name, metric) for name in names)]
        for metric, title in METRIC_TITLES.items()
    ]
    row = sheet.table(start, Table.of(["overall, %", *titles], overall, "percent")) + 1
    sheet.text(row, 0, evolution_sentence(carried_errors(formula)), "note")
    row += 2
    for level, title in ((BY_CNN, "architecture"), (BY_GPU, "GPU group")):
        lines = error_lines(formula, level)
        rows = [[line.name, line.rows, *line.errors.values(), ", ".join(line.members)] for line in lines]
        header = [title, "runs", *(f"{name}, %" for name in titles), "its members"]
        row = sheet.table(row, Table.of(header, rows, "percent")) + 1
    for kind, level in _LEVELS.items():
        errors = [[name, error] for name, (error, _) in errors_by_name(model.formula, level).items()]
        if errors:
            table = Table.of([kind, f"error of {OURS}, %"], errors, "percent")
            row = write_named(sheet, row, table, [f"held_out_{kind}", f"error_of_{kind}"])
    for kind in ("generation", "vendor"):
        if seen := model.formula.provenance.get(f"{kind}s"):
            table = Table.of([f"{kind} of training runs"], [[name] for name in seen], "percent")
            row = write_named(sheet, row, table, [kind])


def held_out_error(formula: Formula, kind: str, name: str) -> str:
    """Return the cell formula of the error on held-out runs, in percent, 0 where there were none.

    kind : "generation" or "architecture". name : cell formula of its name.
    """
    if not errors_by_name(formula, _LEVELS[kind]):
        return "0"
    return f"IFERROR({option(f'held_out_{kind}', f'error_of_{kind}', name)},0)"


def _intervals(sheet: SheetWriter, formula: Formula) -> int:
    """Write the factors of the interval by class of runs, and their names; return the next free row."""
    heads = [f"interval factor, {100 * LEVEL:g} %", "known generation", "new generation"]
    end = sheet.table(3, Table.of(heads, intervals_of(formula).lines(), "factor"))
    kind = held_out_kind(formula)
    note = f"A run on a new {kind} is expected between prediction / factor and prediction x factor."
    sheet.text(2, 0, note, "note")
    sheet.define_range("tl_interval_class", 0, 4, end - 1)
    sheet.book.names["tl_interval_factors"] = f"{sheet.name}!$B$5:$C${end}"
    return end + 1


def interval_class(vendor: str, precision: str, stack: str) -> str:
    """Return the cell formula of the class of a run; see `run_class`.

    vendor, precision, stack : cell formulas; an empty stack is the default one.
    """
    kind = precision
    if stack:
        words = ",".join(f'IF({stack}="{name}","{word}","")' for name, word in STACK_WORDS.items())
        of_stack = f'IF({stack}="unknown","{UNKNOWN_STACK}",CONCATENATE({precision},{words}))'
        bits = ",".join(f'{precision}="{name}"' for name in STACK_PRECISIONS)
        plain = ",".join(f'{stack}="{name}"' for name in PLAIN_STACKS)
        kind = f'IF(OR({bits}),{of_stack},IF(OR({plain}),{precision},"{OTHER_CLASS}"))'
    of_others = f'IF({vendor}="{AMD}","{AMD}","{OTHER_CLASS}")'
    return f'IF({vendor}="{MAIN_VENDOR}",{kind},{of_others})'


def class_factor(kind: str, known: str) -> str:
    """Return the cell formula of the factor of a class, 0 where it has no interval.

    kind : cell formula of the class. known : of 1 for a generation with training runs, else 0.
    """
    row = f"IFERROR(MATCH({kind},tl_interval_class,0),ROWS(tl_interval_class))"
    return f"N(INDEX(tl_interval_factors,{row},2-{known}))"


def interval_factor(formula: Formula, of_class: str, is_processor: str, of_host: str) -> str:
    """Return the cell formula of an interval's factor, 0 where there is none.

    of_class, of_host : cell formulas of the factors of its class and the host. is_processor : of a condition.
    """
    factors = [of_class, of_host]
    if has_architecture_errors(formula):
        factors.append("tl_architecture_factor")
    # An error, hence 0, where the class has no interval.
    squares = "+".join(f"LN({factor})^2" for factor in factors)
    return f"IFERROR(IF({is_processor},0,EXP(SQRT({squares}))),0)"


def is_known_generation(formula: Formula, generation: str) -> str:
    """Return the cell formula of 1 for a generation with training runs, else 0; 1 where it is not said."""
    seen = formula.provenance.get("generations")
    if not seen:
        return "1" if seen is None else "0"
    return f"IF({is_listed(generation, 'options_generation')},1,0)"
