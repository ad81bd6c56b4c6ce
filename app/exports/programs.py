"""A formula as a program that takes names: Python, JavaScript, C, R and Julia, one template each.

All are filled with the same `NamedModel`; a `Dialect` is what differs.
"""

import json
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from trainlaw.app.answers.answer import NOTE, WARNING
from trainlaw.app.answers.printed import javascript_rows, printed_lines, spoken
from trainlaw.app.exports.headers import header_lines
from trainlaw.app.exports.names import (
    OF_ARGUMENTS,
    OF_CALL,
    OF_SERVER,
    OF_SEVERAL,
    PEAK,
    NamedGpu,
    NamedModel,
    definition,
    named_model,
)
from trainlaw.app.models.settings import HOST_LAUNCH
from trainlaw.app.models.sizes import BASE, DIGITS, packed
from trainlaw.app.text.html import template_text
from trainlaw.datasets import FEATURES
from trainlaw.datasets.cnns.zoo import MAX_CLASSES, MAX_INPUT_PX
from trainlaw.datasets.cnns.zoo import PREFIX as TIMM
from trainlaw.datasets.files.columns import shipped_schema
from trainlaw.datasets.measurements.runs import LAYOUTS, PRECISION_OF_PASSES
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.algebra.text import number_text
from trainlaw.formulas.printers.language import Language
from trainlaw.formulas.printers.naming import identifiers, inert
from trainlaw.formulas.printers.programming import JAVASCRIPT, JULIA, PYTHON, C, R
from trainlaw.formulas.printers.steps import named_steps
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.conformal import LEVEL


def render_source(template: str, filters: Mapping[str, Callable[..., str]], values: Mapping[str, Any]) -> str:
    """Return a template of source code filled with values; `filters` write them in the language.

    A name that is missing raises `jinja2.UndefinedError`.
    """
    environment = Environment(
        loader=FunctionLoader(template_text),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(filters)
    return environment.get_template(template).render(**values)


@dataclass(frozen=True)
class PackedCnns:
    """CNNs with the same counts.

    names : separated by ; each with = before it, and without "timm/", where it is also known without its
    package. error : place of the held-out error of their architecture in `errors_of`. sizes : input size in
    pixels and counts, `224:...|160:...`, the usual size first; or the rule that gives the counts at any size.
    """

    names: str
    error: int
    sizes: str


def errors_of(model: NamedModel) -> list[float]:
    """Return the distinct held-out errors of architectures."""
    return list(dict.fromkeys(cnn.error for cnn in model.cnns))


def packed_cnns(model: NamedModel) -> list[PackedCnns]:
    """Return CNNs grouped by equal counts at equal sizes, in the order of the first of each group."""
    groups: dict[tuple[int, str], list[str]] = {}
    errors = errors_of(model)
    for cnn in model.cnns:
        sizes = "|".join(f"{pixels}:{packed(counts)}" for pixels, counts in cnn.sizes.items())
        key = errors.index(cnn.error), model.sized.rules.get(cnn.name, sizes)
        name = f"={cnn.name.removeprefix(TIMM)}" if cnn.aliases else cnn.name
        groups.setdefault(key, []).append(name)
    return [PackedCnns(";".join(names), *key) for key, names in groups.items()]


def gpu_line(gpu: NamedGpu) -> str:
    """Return names, vendor, generation, 1 if it is new, usual precision and numbers of a GPU."""
    names = ";".join((gpu.name, *gpu.aliases))
    texts = (names, gpu.vendor, gpu.generation, str(int(gpu.is_new)), gpu.default_precision)
    return "|".join((*texts, packed(gpu.values)))


PREFIX = "trainlaw"
_WIDTH = 110
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
# Names that a template uses where the formula is computed.
_LOCALS = frozenset({"gpu", "cnn", "precision", "peak", "seconds", "features", "v"})
# Software prints names of GPUs with these words in front, or without.
_VENDOR_WORDS = ("nvidia", "amd", "intel", "geforce", "tesla")
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")


@dataclass(frozen=True)
class Dialect:
    """How a language writes the same program.

    template : file. language : of expressions. place : where the answers have a quantity. unknown : a number
    that is not known. comment : before a comment. first : the place of the first item of a list. flags :
    what a template asks for, such as which kind of module it is.
    """

    template: str
    language: Language
    place: str
    unknown: str
    comment: str = "//"
    first: int = 0
    flags: Mapping[str, object] = field(default_factory=dict)

    def number(self, value: float | None) -> str:
        """Return the shortest number that reads back exactly; whole numbers without a point."""
        if value is None or not isfinite(value):
            return self.unknown
        whole = str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
        short = f"{value:g}"
        return short if float(short) == value and len(short) < len(whole) else whole


_JAVASCRIPT = Dialect("named.js.jinja", JAVASCRIPT, "v.{name}", "NaN", flags={"exports": "module"})
_C = Dialect("named.c.jinja", C, "v->{name}", "NAN", flags={"guarded": False})
#: By the suffix of the file.
DIALECTS: Mapping[str, Dialect] = {
    ".py": Dialect("named.py.jinja", PYTHON, 'v["{name}"]', "nan", comment="#"),
    ".js": _JAVASCRIPT,
    ".mjs": _JAVASCRIPT,
    ".cjs": replace(_JAVASCRIPT, flags={"exports": "common"}),
    ".c": _C,
    ".h": replace(_C, flags={"guarded": True}),
    ".R": Dialect("named.R.jinja", R, "v${name}", "NaN", comment="#", first=1),
    ".jl": Dialect("named.jl.jinja", JULIA, 'v["{name}"]', "NaN", comment="#", first=1),
}


def named_program(formula: Formula, suffix: str, prefix: str = "") -> str:
    """Return the program of a formula of iterations on one GPU, in the language of a suffix of `DIALECTS`.

    prefix : what every name of the C program begins with; empty for `PREFIX`. Raises InputError for a prefix
    that is no identifier, and as `named_model`.
    """
    if prefix and not (suffix in (".c", ".h") and _PREFIX.fullmatch(prefix)):
        raise InputError(f"expected --prefix as a C identifier, for .c and .h, got {prefix[:60]!r}")
    dialect, prefix = DIALECTS[suffix], prefix or PREFIX
    language = _prefixed(C, prefix) if dialect.language is C else dialect.language
    model = named_model(formula)
    names = _local_names(model, language)
    lines = _assignments(model, language, names, dialect.first)
    quantities = _quantities(model)
    answers = printed_lines(model.lines, language, lambda name: dialect.place.format(name=name))
    texts = [*(text for _, text, _ in lines), *(text for row in answers for text in (row.value, row.when))]
    values = {
        "comments": [f"{dialect.comment} {line}" for line in _header(formula)],
        "helpers": language.used_helpers("\n".join(texts)),
        "lines": lines,
        "quantities": quantities,
        "features": {name: names[name] for name in quantities["features"]},
        "answers": answers,
        "answer_rows": javascript_rows(answers, json.dumps) if language is JAVASCRIPT else "",
        "published": [row.answer for row in answers if row.answer.is_published],
        # C has no arrays without elements.
        "n_sentences": {
            kind: max(1, sum(bool(row.answer.sentence) for row in answers if row.answer.kind == kind))
            for kind in (WARNING, NOTE)
        },
        "styles": {style for row in answers for _, style in row.places},
        "prefix": prefix,
        "level_percent": f"{100 * LEVEL:g}",
        **(_OF_PASSES if formula.scope == FORWARD else _OF_ITERATIONS),
        **_tables(model),
        **_arguments(),
        **dialect.flags,
    }
    return render_source(dialect.template, _filters(dialect, language), values)


def _tables(model: NamedModel) -> dict[str, object]:
    """Return what a template says of the tables: the model, and places of rows and columns in them."""
    cnns = packed_cnns(model)
    return {
        "model": model,
        "cnns": cnns,
        "cnn_lines": [f"{cnn.names}|{packed([cnn.error])}|{cnn.sizes}" for cnn in cnns],
        "errors": errors_of(model),
        "most_pixels": MAX_INPUT_PX,
        "most_classes": MAX_CLASSES,
        "gpu_lines": [gpu_line(gpu) for gpu in model.gpus],
        "digits": DIGITS,
        "base": BASE,
        "vendors": list(model.intervals),
        "precisions": list(model.precisions),
        "server": [model.gpu_columns.index(name) for name in OF_SERVER if model.links],
    }


def _quantities(model: NamedModel) -> dict[str, list[str]]:
    """Return the quantities of the table of answers by where a program has them from, each in one place."""
    groups = {
        "gpu": model.gpu_columns, "cnn": model.cnn_columns, "precision": model.precision_columns,
        "arguments": OF_ARGUMENTS, "call": OF_CALL, "several": OF_SEVERAL if model.links else (),
        "features": [name for name in (*model.base, *model.computed) if name in spoken(model.lines)],
        "values": [line.answer.name for line in model.lines if line.value is not None],
    }  # fmt: skip
    known, found = set[str](), dict[str, list[str]]()
    for group, names in groups.items():
        found[group] = [name for name in names if name not in known]
        known |= set(names)
    found["features"].sort()
    return found


def _arguments() -> dict[str, object]:
    """Return what a template says of arguments: their values and limits, as `configuration` takes them."""
    columns = {column.name: column for column in shipped_schema("runs")}
    launch = columns[HOST_LAUNCH]
    return {
        "arguments": OF_ARGUMENTS,
        "layouts": LAYOUTS,
        "vendor_words": _VENDOR_WORDS,
        "most_images": int(columns["batch_per_gpu"].high),
        "least_launch_s": launch.low,
        "most_launch_s": launch.high,
    }


def _filters(dialect: Dialect, language: Language) -> dict[str, Callable[..., str]]:
    return {
        "text": language.text_literal,
        "texts": lambda items: ", ".join(map(language.text_literal, items)),
        "place": lambda name: dialect.place.format(name=name),
        "wrapped": _wrapped,
        "number": dialect.number,
        "numbers": lambda items: ", ".join(map(dialect.number, items)),
        "packed": packed,
    }


def _prefixed(language: Language, prefix: str) -> Language:
    """Return a language whose helpers begin with a prefix, so that they clash with no other function."""
    called = re.compile(rf"\b({'|'.join(language.helpers)})\(")

    def renamed(text: str) -> str:
        return called.sub(rf"{prefix}_\1(", text)

    return replace(
        language,
        forms={operator: renamed(form) for operator, form in language.forms.items()},
        finite=renamed(language.finite),
        helpers={f"{prefix}_{name}": renamed(source) for name, source in language.helpers.items()},
    )


def _local_names(model: NamedModel, language: Language) -> dict[str, str]:
    """Return the variables of the computation by quantity."""
    own = [step for step, _ in named_steps(language.known(model.formula.expression)).assignments]
    return identifiers(
        [*OF_ARGUMENTS, *_places(model), *model.computed, *own],
        {*language.reserved, *language.helpers, *_LOCALS},
    )


def _assignments(
    model: NamedModel, language: Language, names: Mapping[str, str], first: int
) -> list[tuple[str, str, str]]:
    """Return name, text and comment of each step from the tables to the time, the last one `seconds`."""
    steps = named_steps(language.known(model.formula.expression))
    looked_up = _places(model, first)
    ranges = model.formula.ranges
    found = [(names[name], text, _meaning(name, ranges)) for name, text in looked_up.items()]
    for name in model.computed:
        text = language.write(language.known(definition(name)), names)
        found.append((names[name], text, _meaning(name, ranges)))
    found += [(names[step], language.write(part, names), "") for step, part in steps.assignments]
    target = model.formula.target
    found.append(("seconds", language.write(steps.result, names), f"{target.unit}: {target.meaning}"))
    return [(name, _wrapped(language.finite.format(a=text)), inert(note)) for name, text, note in found]


def _places(model: NamedModel, first: int = 0) -> dict[str, str]:
    """Return where each base column of the formula that is no argument is looked up."""
    places = {name: f"gpu[{place}]" for place, name in enumerate(model.gpu_columns, first)}
    places |= {name: f"cnn[{place}]" for place, name in enumerate(model.cnn_columns, first)}
    places |= {name: f"precision[{place}]" for place, name in enumerate(model.precision_columns, first)}
    places |= {PEAK: "gpu[peak]", **{name: repr(value) for name, value in model.fixed.items()}}
    return {name: place for name, place in places.items() if name in model.base}


def _meaning(name: str, ranges: Mapping[str, tuple[float, float]]) -> str:
    spec = FEATURES[name].spec
    unit = "" if spec.unit.is_dimensionless else f"{spec.unit}: "
    ends = [number_text(end, 6) for end in ranges.get(name, ())]
    return unit + spec.meaning + (f", in training {' to '.join(ends)}" if ends else "")


def _header(formula: Formula) -> list[str]:
    """Return the lines that every export carries, without those of features: the program explains these."""
    features = tuple(f"{spec.name} [" for spec in formula.used_features)
    return [line for line in header_lines(formula) if not line.startswith(features)]


def _wrapped(text: str) -> str:
    """Return a long text on several lines, which the parentheses around it allow in every language."""
    if len(text) <= _WIDTH:
        return text
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n            ".join(lines)
