"""A formula as text: terms with their shares, symbols with units, errors next to those of the baselines."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from trainlaw.app.explain.forms import equivalent_forms, rounded_formula
from trainlaw.app.explain.sensitivity import MORE, elasticities, proved_raw_trends, proved_trends
from trainlaw.app.explain.shares import term_times
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.custom_inputs import describe_custom
from trainlaw.app.models.multi_gpu import with_time_on_one_gpu
from trainlaw.app.models.scopes import Inputs, handling
from trainlaw.app.models.stated_error import evolution_sentence, headline
from trainlaw.app.models.term_descriptions import described_terms
from trainlaw.app.text.numbers import show_number, show_percent, show_seconds
from trainlaw.app.text.steps import OnStep, unseen
from trainlaw.app.text.tables import Table, fitted_lines, wrapped_list
from trainlaw.datasets import RunTable
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.formulas import SCOPES, Apply, Expression, Formula, load_formula, to_text
from trainlaw.formulas.algebra.expression import additive_terms, sides_of
from trainlaw.formulas.scopes import MULTI_GPU
from trainlaw.validate.baselines import title_of
from trainlaw.validate.error_table import BY_CNN, MEANS, METRIC_TITLES, STORED_LEVELS
from trainlaw.validate.formula_errors import (
    carried_errors,
    error_lines,
    estimators,
    held_out_kind,
    overall_error,
)
from trainlaw.validate.result import OURS
from trainlaw.validate.support import support_of, weakly_supported

_LARGEST_TERMS = 5  # in a short description
_LEAST_SHARE = 0.5  # of inclusion that is listed
_LONG_TERM = 90  # characters from which a maximum is written on several lines
_SHOWN_GPUS = 8  # of the configuration for which a scaling formula is shown


def describe(
    formula: Formula,
    origin: str,
    run: Callable[..., RunTable],
    everything: bool = True,
    on_step: OnStep = unseen,
) -> str:
    """Return a formula of any scope as text; `run` makes the configuration from further settings.

    everything : also forms, words, sensitivities, proofs, symbols and errors. on_step : called when a step
    of these begins. A formula that needs the time on one GPU gets the one that the built-in formula predicts.
    """
    if handling(formula).inputs is Inputs.FEATURES:
        return describe_custom(formula, origin)
    needs_time = formula.scope == MULTI_GPU
    shown = run(setup=Setup(n_gpus=_SHOWN_GPUS)) if needs_time else run()
    if needs_time:
        shown = with_time_on_one_gpu(shown, load_formula(BUILT_IN))
    text = formula_text(formula, origin, shown, on_step) if everything else short_text(formula, origin, shown)
    note = f"shown for {_SHOWN_GPUS} GPUs of one node with a ring; the time on one is by the built-in formula"
    return fitted_lines(f"{text}\n\n{note}") if needs_time else text


def short_text(formula: Formula, origin: str, run: RunTable) -> str:
    """Return the formula, its largest terms for `run`, and its stated error: one screen."""
    parts = [origin, "", equation_text(formula), "", shares_text(formula, run, _LARGEST_TERMS)]
    if error_lines(formula, BY_CNN):
        evolution = evolution_sentence(carried_errors(formula))
        parts += ["", headline(formula), *([evolution] if evolution else [])]
        parts += [*class_errors(formula), *support_lines(formula)]
    parts += ["", "`trainlaw show --all` explains every term and symbol"]
    return fitted_lines("\n".join(parts))


def class_errors(formula: Formula, levels: Sequence[str] = STORED_LEVELS) -> list[str]:
    """Return a line per level with the error of each precision, generation or layout that was held out."""
    texts = []
    for level in levels:
        lines = error_lines(formula, level)
        each = (
            f"{line.name} {show_percent(line.errors.get(OURS, math.nan))} ({len(line.members)})"
            for line in lines
        )
        if lines:
            texts.append(f"by {level}, %: {', '.join(each)}")
    if error_lines(formula, levels[0]):
        texts.append("(in parentheses: GPU groups that were held out)")
    return texts


def support_lines(formula: Formula) -> list[str]:
    """Return a line that names the times which only one or two sources of measurements support."""
    weak = [f"{name} ({', '.join(sources)})" for name, sources in weakly_supported(formula).items()]
    return [f"supported by fewer than three sources of runs: {'; '.join(weak)}"] if weak else []


def formula_text(formula: Formula, origin: str, run: RunTable, on_step: OnStep = unseen) -> str:
    """Return the formula term by term; `run` is the configuration for which shares are computed.

    on_step : called when a step begins; the forms take most of the time.
    """
    on_step("rounding the constants", 0.0)
    rounding = rounded_formula(formula)
    shown = rounding.formula
    # Rounded constants are short already; unrounded ones are cut for display only.
    digits = 3 if rounding.rounded_percent is None else None
    on_step("looking for equivalent forms", 0.1)
    parts = [origin, "", equation_text(shown, digits), ""]
    parts += [f"  {rounding.sentence}", ""]
    parts += ["equivalent forms, the shortest first (complexity counts names and operators):"]
    for form in equivalent_forms(shown):
        parts += [f"  {form.title}, complexity {form.complexity}:", f"    {to_text(form.expression, 3)}"]
    on_step("proofs and errors", 0.9)
    words = [f"  {term.name}: {term.sentence}" for term in described_terms(shown)]
    parts += ["", shares_text(shown, run), "", "what each term means:", *words, ""]
    parts += [elasticities_text(shown, run), ""]
    positive, trends = proved_trends(shown)
    proofs = ["  the time is never negative"] if positive else []
    proofs += _claims(proved_raw_trends(shown)) + _claims(trends)
    parts += ["proved everywhere in the training ranges:", *proofs, ""] if proofs else []
    parts += [*inclusion_text(shown), symbols_text(shown)]
    if error_lines(formula, BY_CNN):
        parts += ["", errors_text(formula)]
    return fitted_lines("\n".join(parts))


def equation_text(formula: Formula, digits: int | None = 3) -> str:
    """Return the formula as one equation, a term per line, with the unit of the result."""
    unit = formula.target.unit
    part = SCOPES[formula.scope].part
    summed = f"sum over every {part} of:\n      " if part else ""
    expression = formula.ungrouped
    body = "\n".join(_sum_lines(expression, digits, "    "))
    return f"  {formula.target.name} [{unit}] =\n      {summed}{body.lstrip()}"


def _sum_lines(expression: Expression, digits: int | None, indent: str) -> list[str]:
    """Return a sum with a term per line, and each side of a maximum that is a sum on separate lines."""
    lines: list[str] = []
    for number, term in enumerate(additive_terms(expression)):
        sign = f"{indent}+ " if number else f"{indent}  "
        if isinstance(term, Apply) and term.operator == "max" and len(to_text(term, digits)) > _LONG_TERM:
            blocks = [_sum_lines(side, digits, f"{indent}    ") for side in sides_of(term)]
            for block in blocks[:-1]:
                block[-1] += ","
            lines += [f"{sign}max(", *chain.from_iterable(blocks), f"{indent}  )"]
        else:
            lines.append(sign + to_text(term, digits))
    return lines


def shares_text(formula: Formula, run: RunTable, most: int | None = None) -> str:
    """Return a table of the terms and the time that each takes in one configuration, largest first.

    most : number of terms that are listed, None for all.
    """
    (terms,) = term_times(formula, run)
    total = sum(one.seconds for one in terms)
    lines = [
        [f"{100 * one.share:.1f} %", show_seconds(one.seconds), one.term.name, one.text] for one in terms
    ]
    first = run.frame.iloc[0]
    precision = "" if first["precision"] == "fp32" else f", {first['precision']}"
    setup = f"{first['cnn']}, batch {first['batch_per_gpu']}{precision}, on {first['gpu']}"
    title = f"for {setup}: {show_seconds(total)}"
    more = f"\n  {len(lines) - most} smaller terms" if most and len(lines) > most else ""
    return f"{title}\n{Table.of(['share', 'time', 'meaning', 'term'], lines[:most]).text(indent='  ')}{more}"


def elasticities_text(formula: Formula, run: RunTable) -> str:
    """Return a table of what ten per cent more of each quantity changes, largest first."""
    rows = [
        [row.name, f"{100 * row.time:+.2f} %", f"{100 * row.throughput:+.2f} %", row.meaning]
        for row in elasticities(formula, run)
    ]
    title = f"effect of {100 * MORE:g} % more of one quantity, all others unchanged:"
    return f"{title}\n{Table.of(['quantity', 'time', 'images/s', 'meaning'], rows).text(indent='  ')}"


def inclusion_text(formula: Formula) -> list[str]:
    """Return which amounts and factors the data support, with an empty last line; no lines if unknown."""
    shares = [share for share in support_of(formula) if share.share >= _LEAST_SHARE]
    if not shares:
        return []
    lines = [f"{share.name} {100 * share.share:.0f} %" for share in shares]
    return ["what the data support, share of choices on resampled GPU groups:", wrapped_list(lines), ""]


def _claims(trends: Mapping[str, str]) -> list[str]:
    claims = ("never falls", "never rises")
    named = {claim: [name for name, proved in trends.items() if proved == claim] for claim in claims}
    return [f"  the time {claim} with {', '.join(names)}" for claim, names in named.items() if names]


def symbols_text(formula: Formula) -> str:
    """Return a table of the features that occur: name, unit, training range, meaning."""
    rows = []
    for spec in formula.used_features:
        low, high = formula.ranges.get(spec.name, (float("nan"), float("nan")))
        rows.append([spec.name, str(spec.unit), show_number(low), show_number(high), spec.meaning])
    return Table.of(["symbol", "unit", "training from", "to", "meaning"], rows).text(indent="  ")


def errors_text(formula: Formula, ours: str = OURS) -> str:
    """Return the held-out errors of all estimators, overall and per architecture; `ours` : our title."""
    names = estimators(formula)
    titles = [ours if name == OURS else title_of(name) for name in names]
    where = f"on held-out {held_out_kind(formula)}s"
    return "\n".join(
        [
            overall_errors_text(formula, ours),
            "",
            f"mean error per architecture {where}, %",
            _per_cnn_text(formula, names[:_IN_A_ROW], titles[:_IN_A_ROW]),
            "",
            headline(formula),
            *support_lines(formula),
        ]
    )


def overall_errors_text(formula: Formula, ours: str = OURS) -> str:
    """Return the held-out errors of all estimators over all runs; `ours` : our title."""
    rows = [
        [ours if name == OURS else title_of(name)]
        + [show_percent(overall_error(formula, name, metric)) for metric in _SHOWN]
        for name in estimators(formula)
    ]
    title = f"error on held-out {held_out_kind(formula)}s, %; {formula.errors.get('protocol', '')}"
    return f"{title}\n{Table.of(['', *(METRIC_TITLES[metric] for metric in _SHOWN)], rows).text(indent='  ')}"


def worst_text(formula: Formula) -> str:
    """Return in one line the architectures with the largest held-out errors."""
    lines = [line for line in error_lines(formula, BY_CNN) if line.errors.get(OURS, 0.0) > 0]
    worst = sorted(lines, key=lambda line: -line.errors[OURS])[:_WORST_CNNS]
    return "worst architectures, %: " + ", ".join(
        f"{line.name} {show_percent(line.errors[OURS])}" for line in worst
    )


def _per_cnn_text(formula: Formula, names: Sequence[str], titles: Sequence[str]) -> str:
    """A table of the architectures with the most runs, best first, and how many others there are."""
    lines = error_lines(formula, BY_CNN)
    most_runs = sorted(lines, key=lambda line: -line.rows)[:_MOST_CNNS]
    # Those of `error_lines` are in order of the error.
    shown = [line for line in lines if line in most_runs]
    rows = [
        [line.name, line.rows, *(show_percent(line.errors.get(name, math.nan)) for name in names)]
        for line in shown
    ]
    table = Table.of(["architecture", "runs", *titles], rows).text(indent="  ")
    others = len(lines) - len(shown)
    return f"{table}\n  {others} more architectures with fewer runs: errors.csv" if others else table


_MOST_CNNS = 20  # architectures that are listed in a terminal
_WORST_CNNS = 3
_IN_A_ROW = 6  # estimators that fit next to each other in a terminal; errors.csv has all
_SHOWN = (*MEANS, "median_ape_percent", "within_25_percent")
