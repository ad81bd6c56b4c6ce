"""The report: one HTML file that needs nothing else, drawn from a study's outcome."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from string import Template

import pandas as pd

from trainlaw.app import plots
from trainlaw.app.outcome import BY_CNN, BY_GPU, OURS, OVERALL, StudyOutcome
from trainlaw.app.quantities import show_number, show_percent
from trainlaw.app.svg import escape
from trainlaw.app.term_shares import term_shares
from trainlaw.formulas import to_text

_COLOURS = 10  # classes c0 to c9 of the style sheet


def report_html(outcome: StudyOutcome) -> str:
    """The whole report as one HTML text.

    outcome : a study with at least one finished fold.
    Returns HTML without any reference to another file; every text of a user or a file is escaped.
    """
    template = resources.files("trainlaw.app").joinpath("templates/report.html").read_text(encoding="utf-8")
    groups = _point_groups(outcome.held_out)
    return Template(template).substitute(
        title=escape(f"CNN training time: {outcome.provenance.get('table', 'study')}"),
        version=escape(outcome.provenance.get("trainlaw_version", "")),
        subtitle=escape(_subtitle(outcome)),
        warning=_warning(outcome.missing),
        figures=_figures(outcome),
        formula=escape(outcome.formula.text()),
        terms=_terms(outcome),
        symbols=_symbols(outcome),
        protocol=escape(_protocol(outcome)),
        scatter=plots.predicted_against_measured(groups),
        scatter_legend=_legend([group.name for group in groups], "c"),
        gpu_dots=_dots(outcome, BY_GPU, "Error per GPU group"),
        cnn_dots=_dots(outcome, BY_CNN, "Error per architecture"),
        dots_legend=_legend(outcome.estimators, "e"),
        front=_front(outcome),
        error_tables=_error_tables(outcome),
        front_rows=_front_rows(outcome),
        fold_rows=_rows((", ".join(fold.held_out), fold.text) for fold in outcome.folds),
        provenance=_rows((key, _plain(value)) for key, value in outcome.provenance.items()),
    )


def _subtitle(outcome: StudyOutcome) -> str:
    labels = outcome.held_out
    return (
        f"{len(labels):,} measured runs, {labels[BY_GPU].nunique()} GPU groups, {labels[BY_CNN].nunique()} "
        f"architectures; seed {outcome.provenance.get('seed')}, trainlaw {outcome.provenance.get('trainlaw_version')}"
    )


def _warning(missing: Sequence[str]) -> str:
    if not missing:
        return ""
    return f'<p class="warning">This study was interrupted. {escape(" ".join(missing))}</p>'


def _figures(outcome: StudyOutcome) -> str:
    overall = outcome.errors[outcome.errors["level"] == OVERALL].set_index("estimator")
    items = []
    for name in outcome.estimators:
        kind, row = ("ours" if name == OURS else "rival"), overall.loc[name]
        items.append(
            f'<li class="{kind}"><b>{show_percent(row["macro_gpu_percent"])} %</b><span>{escape(name)}: '
            f"mean over GPU groups (median of rows {show_percent(row['median_ape_percent'])} %)</span></li>"
        )
    return "\n".join(items)


def _protocol(outcome: StudyOutcome) -> str:
    text = (
        f"{len(outcome.folds)} folds, each with a search of its own; whole GPU groups are held out, each at most "
        "once. The delivered formula comes from one more search on all rows; its error is stated from the folds."
    )
    for name, remedy in outcome.absent_rivals.items():
        text += f" Not compared: {name} ({remedy})."
    return text


def _point_groups(held_out: pd.DataFrame) -> list[plots.PointGroup]:
    groups = [
        plots.PointGroup(str(name), part["measured_s"].tolist(), part[OURS].tolist())
        for name, part in held_out.groupby("generation", sort=True)
    ]
    return sorted(groups, key=lambda group: -len(group.measured))[:_COLOURS]


def _legend(names: Iterable[str], prefix: str) -> str:
    variables = {"c": [f"--c{index}" for index in range(_COLOURS)], "e": ["--ours", "--r1", "--r2", "--r3", "--r4", "--c7"]}
    return "".join(
        f'<span><i style="background:var({variable})"></i>{escape(name)}</span>'
        for name, variable in zip(names, variables[prefix], strict=False)
    )


def _dots(outcome: StudyOutcome, level: str, title: str) -> str:
    table = outcome.error_table(level)
    rows = [
        plots.ErrorRow(str(name), int(row["rows"]), {key: float(row[key]) for key in outcome.estimators})
        for name, row in table.iterrows()
    ]
    return plots.error_dots(rows, outcome.estimators, title)


def _front(outcome: StudyOutcome) -> str:
    return plots.pareto_front([
        plots.FrontPoint(
            member.complexity, member.loss, member.formula.text(),
            to_text(member.formula.expression) == to_text(outcome.formula.expression),
        )
        for member in outcome.front
    ])


def _terms(outcome: StudyOutcome) -> str:
    return "\n".join(
        f'<tr><td class="formula">{escape(text)}</td><td class="n">{100 * share:.1f} %</td></tr>'
        for text, share in term_shares(outcome.formula)
    )


def _symbols(outcome: StudyOutcome) -> str:
    rows = []
    for spec in (outcome.formula.target, *outcome.formula.features):
        low, high = outcome.formula.ranges.get(spec.name, (float("nan"), float("nan")))
        rows.append(
            f'<tr><td class="formula">{escape(spec.name)}</td><td>{escape(spec.unit)}</td>'
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
    names = outcome.estimators
    head = "".join(f'<th class="n">{escape(name)}</th>' for name in names)
    body = "\n".join(
        f'<tr><td>{escape(name)}</td><td class="n">{int(row["rows"])}</td>'
        + "".join(f'<td class="n">{show_percent(row[key])}</td>' for key in names)
        + "</tr>"
        for name, row in outcome.error_table(level).iterrows()
    )
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption><thead><tr><th></th>'
        f'<th class="n">runs</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _front_rows(outcome: StudyOutcome) -> str:
    return "\n".join(
        f'<tr><td class="n">{member.complexity:g}</td><td class="n">{show_number(member.loss)}</td>'
        f'<td class="formula">{escape(member.formula.text())}</td></tr>'
        for member in outcome.front
    )


def _rows(pairs: Iterable[tuple[object, object]]) -> str:
    return "\n".join(
        f'<tr><td>{escape(key)}</td><td class="long">{escape(value)}</td></tr>' for key, value in pairs
    )


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(item) for item in value)
    return str(value)
