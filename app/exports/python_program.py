"""A formula as a Python program that takes names: `named.py.jinja` filled from a `NamedModel`."""

import inspect
import textwrap
from collections.abc import Mapping
from typing import Any

from trainlaw.app.answers.printed import printed_lines, spoken
from trainlaw.app.exports.headers import header_lines
from trainlaw.app.exports.program_model import (
    OF_ARGUMENTS,
    OF_SERVER,
    PEAK,
    NamedModel,
    definition,
    named_model,
    number,
)
from trainlaw.app.models.lookup_tables import name_tables
from trainlaw.app.text.html import environment
from trainlaw.app.text.numbers import show_number
from trainlaw.datasets import FEATURES
from trainlaw.datasets.files.limits import limits
from trainlaw.datasets.hardware.possible import MOST_GPUS_PER_NODE, REASONS, link_family
from trainlaw.datasets.measurements.runs import LAYOUTS, PRECISION_OF_PASSES
from trainlaw.datasets.naming import LONGEST_NAME, NameIndex, NameMeaning, is_near
from trainlaw.formulas import Formula
from trainlaw.formulas.algebra.text import number_text
from trainlaw.formulas.printers.naming import identifiers, inert
from trainlaw.formulas.printers.programming import PYTHON
from trainlaw.formulas.printers.steps import named_steps
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.conformal import LEVEL

_WIDTH = 110  # characters of a line of the program, as in this project
# Of many rows: with some seventy numbers each, few enough for the cache of a processor.
_ROWS_AT_ONCE = 4096
# What a program predicts, as text, and the precision where none is given.
_OF_ITERATIONS = {
    "timed": "training iteration",
    "parts": "forward, backward and optimizer step",
    "usual_precision": "PyTorch's default on the GPU",
}
_OF_PASSES = {
    "timed": "forward pass",
    "parts": "inference at large batches",
    "usual_precision": PRECISION_OF_PASSES,
}
# Names that the template uses where the formula is computed.
_LOCALS = frozenset({"gpu", "cnn", "precision", "peak", "seconds", "features", "v"})


def named_program(formula: Formula) -> str:
    """Return the Python program of a formula of iterations or forward passes; raises as `named_model`."""
    model = named_model(formula)
    names = _local_names(model)
    lines = _assignments(model, names)
    features = sorted({*model.base, *model.computed} & spoken(model.lines))
    answers = printed_lines(model.lines, PYTHON, lambda name: f'v["{name}"]')
    texts = [*(text for _, text, _ in lines), *(text for row in answers for text in (row.value, row.when))]
    values = {
        "comments": [f"# {line}" for line in _header(formula)],
        "helpers": PYTHON.used_helpers("\n".join(texts)),
        "lines": lines,
        "features": {name: names[name] for name in features},
        "answers": answers,
        "published": [row.answer for row in answers if row.answer.is_published],
        "level_percent": f"{100 * LEVEL:g}",
        **(_OF_PASSES if formula.scope == FORWARD else _OF_ITERATIONS),
        "model": model,
        "server": [model.gpu_columns.index(name) for name in OF_SERVER if model.links],
        "arguments": OF_ARGUMENTS,
        "reasons": REASONS,
        "links": {
            link.link: (link.scope, link.effective_byte_per_s, link.latency_s, link_family(link.link))
            for link in model.links
        },
        "most_per_node": MOST_GPUS_PER_NODE,
        "layouts": LAYOUTS,
        "names": {kind: _named_tables(kind) for kind in ("GPU", "CNN")},
        "naming": "\n\n".join(
            inspect.getsource(each) for each in (NameMeaning, NameIndex, is_near, show_number)
        ),
        "longest_name": LONGEST_NAME,
        "limits": {
            each.name: (each.least, each.most, each.is_whole, each.expected) for each in limits().values()
        },
        "rows_at_once": _ROWS_AT_ONCE,
    }
    return _rendered(values)


def _block(items: Any, indent: int = 0) -> str:
    """Return a list or dictionary as Python text, an item a line below a line with this indent."""
    if isinstance(items, Mapping):
        ends, texts = "{}", [f"{key!r}: {_literal(each)}" for key, each in items.items()]
    else:
        ends, texts = "[]", [*map(_literal, items)]
    return "\n".join([ends[0], *(f"{' ' * indent}    {text}," for text in texts), " " * indent + ends[1]])


def _literal(value: Any) -> str:
    """Return a value as Python text; a number is as short as it can be, nan where it is unknown."""
    if isinstance(value, bool | str):
        return repr(value)
    if isinstance(value, list | tuple):
        texts = ", ".join(map(_literal, value))
        return f"[{texts}]" if isinstance(value, list) else f"({texts}{',' * (len(value) == 1)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_literal(each)}' for key, each in value.items())}}}"
    return number(value)


def _rendered(values: Mapping[str, object]) -> str:
    """Return the template filled with values; a name that is missing raises `jinja2.UndefinedError`."""
    of_programs = environment(is_html=False)
    of_programs.filters |= {
        "text": repr,
        "block": _block,
        "texts": lambda items: ", ".join(map(repr, items)),
        "wrapped": _wrapped,
    }
    return of_programs.get_template("named.py.jinja").render(**values)


def _named_tables(kind: str) -> Mapping[str, object]:
    """Return `name_tables` with lines for exact texts and keys: name, texts and keys, each separated by ;."""
    tables = name_tables(kind)
    keys: dict[str, list[str]] = {}
    for key, *names in tables.keys:
        for name in names:
            keys.setdefault(name, []).append(key)
    rows = ((name, tables.exact.get(name, []), keys.get(name, [])) for name in sorted({*tables.exact, *keys}))
    lines = ["|".join((name, ";".join(texts), ";".join(spelled))) for name, texts, spelled in rows]
    loose = ["|".join((key, ";".join(names))) for key, *names in tables.loose]
    return {**vars(tables), "lines": lines, "loose": loose}


def _local_names(model: NamedModel) -> dict[str, str]:
    """Return the variables of the computation by quantity."""
    steps = [step for step, _ in named_steps(PYTHON.known(model.formula.expression)).assignments]
    return identifiers(
        [*OF_ARGUMENTS, *_places(model), *model.computed, *steps],
        {*PYTHON.reserved, *PYTHON.helpers, *_LOCALS},
    )


def _assignments(model: NamedModel, names: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return name, text and comment of each step from the tables to the time, the last one `seconds`."""
    steps = named_steps(PYTHON.known(model.formula.expression))
    ranges = model.formula.ranges
    found = [(names[name], text, _meaning(name, ranges)) for name, text in _places(model).items()]
    for name in model.computed:
        text = PYTHON.write(PYTHON.known(definition(name)), names)
        found.append((names[name], text, _meaning(name, ranges)))
    found += [(names[step], PYTHON.write(part, names), "") for step, part in steps.assignments]
    target = model.formula.target
    found.append(("seconds", PYTHON.write(steps.result, names), f"{target.unit}: {target.meaning}"))
    return [(name, _wrapped(PYTHON.finite.format(a=text)), inert(note)) for name, text, note in found]


def _places(model: NamedModel) -> dict[str, str]:
    """Return where each base column of the formula that is no argument is looked up."""
    places = {name: f"gpu[{place}]" for place, name in enumerate(model.gpu_columns)}
    places |= {name: f"cnn[{place}]" for place, name in enumerate(model.cnn_columns)}
    places |= {name: f"precision[{place}]" for place, name in enumerate(model.precision_columns)}
    places |= {PEAK: "gpu[peak]", **{name: repr(value) for name, value in model.fixed.items()}}
    return {name: place for name, place in places.items() if name in model.base}


def _meaning(name: str, ranges: Mapping[str, tuple[float, float]]) -> str:
    spec = FEATURES[name].spec
    unit = "" if spec.unit.is_dimensionless else f"{spec.unit}: "
    ends = [number_text(end, 6) for end in ranges.get(name, ())]
    return unit + spec.meaning + (f", in training {' to '.join(ends)}" if ends else "")


def _header(formula: Formula) -> list[str]:
    """Return the lines that every export carries, without those of features, which the program explains."""
    features = tuple(f"{spec.name} [" for spec in formula.used_features)
    return [line for line in header_lines(formula) if not line.startswith(features)]


def _wrapped(text: str) -> str:
    """Return a long text on several lines, which the parentheses around it allow."""
    if len(text) <= _WIDTH:
        return text
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n            ".join(lines)
