"""The report: one HTML file that needs nothing else, drawn from a study's outcome."""

from collections.abc import Iterable, Sequence
from importlib import resources
from string import Template

from trainlaw.app import plots
from trainlaw.app.error_tables import BY_CNN, BY_GPU, MACRO, OURS, ErrorLine, error_lines, estimators, overall_error
from trainlaw.app.outcome import StudyOutcome
from trainlaw.app.formula_text import equation_text, headline
from trainlaw.app.plain_json import plain_text
from trainlaw.app.quantities import show_number, show_percent
from trainlaw.app.svg import escape
from trainlaw.app.terms import plain_expression, terms
from trainlaw.formulas import complexity, to_text

_COLOURS = 10  # classes c0 to c9 of the style sheet


def report_html(outcome: StudyOutcome) -> str:
    """Return the whole report as one HTML text.

    outcome : a study with at least one finished fold.
    It refers to no other file, and every text of a user or a file is escaped.
    """
    template = resources.files("trainlaw.app").joinpath("templates/report.html").read_text(encoding="utf-8")
    names, groups = estimators(outcome.formula), _point_groups(outcome)
    return Template(template).substitute(
        title=escape(f"Time of a CNN training iteration: {outcome.provenance.get('table', 'study')}"),
        version=escape(outcome.provenance.get("trainlaw_version", "")),
        subtitle=escape(_subtitle(outcome)),
        warning=_warning(outcome.missing),
        figures=_figures(outcome),
        formula=escape(equation_text(outcome.formula)),
        terms=_terms(outcome),
        symbols=_symbols(outcome),
        protocol=escape(_protocol(outcome)),
        scatter=plots.predicted_against_measured(groups),
        scatter_legend=_legend([group.name for group in groups], "c"),
        gpu_dots=plots.error_dots(error_lines(outcome.formula, BY_GPU), names, "Error per GPU group"),
        cnn_dots=plots.error_dots(error_lines(outcome.formula, BY_CNN), names, "Error per architecture"),
        dots_legend=_legend(names, "e"),
        front=_front(outcome),
        error_tables=_error_tables(outcome),
        front_rows=_front_rows(outcome),
        fold_rows=_fold_rows(outcome),
        provenance=_rows((key, plain_text(value)) for key, value in outcome.provenance.items()),
    )


def _subtitle(outcome: StudyOutcome) -> str:
    runs = outcome.result.predictions
    return (
        f"{len(runs):,} measured runs, {runs[BY_GPU].nunique()} GPU groups, {runs[BY_CNN].nunique()} architectures; "
        f"seed {outcome.provenance.get('seed')}, trainlaw {outcome.provenance.get('trainlaw_version')}"
    )


def _warning(missing: Sequence[str]) -> str:
    if not missing:
        return ""
    return f'<p class="warning">This study was interrupted. {escape(" ".join(missing))}</p>'


def _figures(outcome: StudyOutcome) -> str:
    items = []
    for name in estimators(outcome.formula):
        macro, median = (overall_error(outcome.formula, name, metric) for metric in (MACRO, "median_ape_percent"))
        kind = "ours" if name == OURS else "rival"
        items.append(
            f'<li class="{kind}"><b>{show_percent(macro)} %</b><span>{escape(name)}: error, mean over GPU groups '
            f"(median of runs {show_percent(median)} %)</span></li>"
        )
    return "\n".join(items)


def _protocol(outcome: StudyOutcome) -> str:
    text = f"Measured on {outcome.formula.errors.get('protocol', '')}. "
    text += "The delivered formula comes from one more search on all rows; its error is stated from the folds. "
    text += f"The {headline(outcome.formula)}."
    for name, remedy in outcome.absent.items():
        text += f" Not compared: {name} ({remedy})."
    return text


def _point_groups(outcome: StudyOutcome) -> list[plots.PointGroup]:
    groups = [
        plots.PointGroup(str(name), part["measured_s"].tolist(), part[OURS].tolist())
        for name, part in outcome.result.predictions.groupby("generation", sort=True)
    ]
    return sorted(groups, key=lambda group: -len(group.measured))[:_COLOURS]


def _legend(names: Iterable[str], prefix: str) -> str:
    variables = {"c": [f"--c{index}" for index in range(_COLOURS)], "e": ["--ours", "--r1", "--r2", "--r3", "--r4", "--c7"]}
    return "".join(
        f'<span><i style="background:var({variable})"></i>{escape(name)}</span>'
        for name, variable in zip(names, variables[prefix], strict=False)
    )


def _front(outcome: StudyOutcome) -> str:
    members = [plots.FrontPoint(item.complexity, item.loss, item.formula.text()) for item in outcome.front]
    chosen = outcome.formula
    return plots.pareto_front(
        members,
        plots.FrontPoint(complexity(chosen.expression), outcome.training_loss, chosen.text()),
    )


def _terms(outcome: StudyOutcome) -> str:
    pairs = zip(terms(plain_expression(outcome.formula)), outcome.shares, strict=True)
    return "\n".join(
        f'<tr><td class="formula">{escape(to_text(term, 3))}</td><td class="n">{100 * share:.1f} %</td></tr>'
        for term, share in sorted(pairs, key=lambda pair: -pair[1])
    )


def _symbols(outcome: StudyOutcome) -> str:
    rows = []
    for spec in outcome.formula.used_features:
        low, high = outcome.formula.ranges[spec.name]
        rows.append(
            f'<tr><td class="symbol">{escape(spec.name)}</td><td>{escape(spec.unit)}</td>'
            f'<td class="long">{escape(spec.meaning)}</td>'
            f'<td class="n">{show_number(low)}</td><td class="n">{show_number(high)}</td></tr>'
        )
    return "\n".join(rows)


def _error_tables(outcome: StudyOutcome) -> str:
    captions = {
        BY_CNN: "Mean absolute error per architecture on held-out GPUs, %.",
        BY_GPU: "Mean absolute error per held-out GPU group, %.",
    }
    return "<p></p>".join(_error_table(outcome, level, caption) for level, caption in captions.items())


def _error_table(outcome: StudyOutcome, level: str, caption: str) -> str:
    names = estimators(outcome.formula)
    head = "".join(f'<th class="n">{escape(name)}</th>' for name in names)
    body = "\n".join(
        f'<tr><td>{escape(_long_label(line))}</td><td class="n">{line.rows}</td>'
        + "".join(f'<td class="n">{show_percent(line.errors[name])}</td>' for name in names)
        + "</tr>"
        for line in error_lines(outcome.formula, level)
    )
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption><thead><tr><th></th>'
        f'<th class="n">runs</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _long_label(line: ErrorLine) -> str:
    return f"{line.name}: {', '.join(line.members)}" if line.members else line.name


def _front_rows(outcome: StudyOutcome) -> str:
    return "\n".join(
        f'<tr><td class="n">{member.complexity:g}</td><td class="n">{show_number(member.loss)}</td>'
        f'<td class="formula">{escape(member.formula.text())}</td></tr>'
        for member in outcome.front
    )


def _fold_rows(outcome: StudyOutcome) -> str:
    found = {split: formula for (split, name), formula in outcome.result.formulas.items() if name == OURS}
    return _rows((", ".join(outcome.held_out[split]), formula.text()) for split, formula in found.items())


def _rows(pairs: Iterable[tuple[object, object]]) -> str:
    return "\n".join(
        f'<tr><td>{escape(key)}</td><td class="long">{escape(value)}</td></tr>' for key, value in pairs
    )
