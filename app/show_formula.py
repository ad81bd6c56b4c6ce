"""A formula as text for a terminal: terms with shares, symbols with units, errors beside the rivals'."""

import numpy as np
from trainlaw.app.error_tables import (
    BY_CNN,
    LEVEL,
    MACRO,
    METRIC_TITLES,
    OURS,
    error_lines,
    estimators,
    interval_of,
    overall_error,
)
from trainlaw.app.plain_tables import text_table
from trainlaw.app.quantities import show_number, show_percent, show_seconds
from trainlaw.app.terms import term_values, terms_of
from trainlaw.datasets import RunTable
from trainlaw.formulas import Formula, to_text
from trainlaw.validate import title_of


def formula_text(formula: Formula, origin: str, run: RunTable) -> str:
    """Return the formula read term by term; `run` is one configuration, for which the shares are computed."""
    parts = [origin, "", equation_text(formula), "", shares_text(formula, run), "", symbols_text(formula)]
    if error_lines(formula, BY_CNN):
        parts += ["", errors_text(formula)]
    return "\n".join(parts)


def equation_text(formula: Formula) -> str:
    """Return the formula as one equation, a term per line, with the unit of the result."""
    lines = [to_text(term, 3) for term in terms_of(formula)]
    unit = formula.target.unit
    return f"  {formula.target.name} [{unit}] =\n      " + "\n    + ".join(lines)


def shares_text(formula: Formula, run: RunTable) -> str:
    """Return a table of the terms and the time that each takes in one configuration, largest first."""
    names = [spec.name for spec in formula.used_features]
    columns = dict(zip(names, run.matrix(names).T, strict=True))
    values = term_values(formula, columns)[:, 0]
    total = float(values.sum())
    texts = [to_text(term, 3) for term in terms_of(formula)]
    rows = [
        [f"{100 * value / total:.1f} %", show_seconds(value), text]
        for value, text in sorted(zip(values, texts, strict=True), key=lambda pair: -pair[0])
        if np.isfinite(value)
    ]
    first = run.frame.iloc[0]
    title = f"for {first['cnn']}, batch {first['batch_per_gpu']}, on {first['gpu']}: {show_seconds(total)}"
    return f"{title}\n{text_table(['share', 'time', 'term'], rows)}"


def symbols_text(formula: Formula) -> str:
    """Return a table of the features that occur: name, unit, training range, meaning."""
    rows = []
    for spec in formula.used_features:
        low, high = formula.ranges.get(spec.name, (float("nan"), float("nan")))
        rows.append([spec.name, str(spec.unit), show_number(low), show_number(high), spec.meaning])
    return text_table(["symbol", "unit", "training from", "to", "meaning"], rows)


def errors_text(formula: Formula) -> str:
    """Return the held-out errors: overall beside the rivals, then per architecture."""
    names = estimators(formula)
    overall = [
        [title_of(name), *(show_percent(overall_error(formula, name, metric)) for metric in _SHOWN)]
        for name in names
    ]
    per_cnn = [
        [line.name, line.rows, *(show_percent(line.errors[name]) for name in names)]
        for line in error_lines(formula, BY_CNN)
    ]
    return "\n".join(
        [
            f"error on GPUs that were held out, %; {formula.errors.get('protocol', '')}",
            text_table(["", *(METRIC_TITLES[metric] for metric in _SHOWN)], overall),
            "",
            "error per architecture on GPUs that were held out, mean %",
            text_table(["architecture", "runs", *map(title_of, names)], per_cnn),
            "",
            headline(formula),
        ]
    )


_SHOWN = (MACRO, "mape_percent", "median_ape_percent", "within_25_percent")


def headline(formula: Formula) -> str:
    """Return one sentence with the stated error and the interval."""
    factor = interval_of(formula)
    interval = (
        f"; {100 * LEVEL:g} % of the runs on a new GPU are expected within a factor {show_number(factor)}"
        if factor
        else ""
    )
    error = show_percent(overall_error(formula, OURS))
    return f"stated error: {error} %, mean over held-out GPU groups{interval}"
