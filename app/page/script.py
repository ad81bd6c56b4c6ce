"""The script of the page: tables to choose from, the formula as JavaScript, and its held-out errors."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import isfinite
from typing import Any, NamedTuple

from trainlaw.app.answers.facts import OF_MEMORY, Fact, gpu_facts, precision_facts
from trainlaw.app.answers.printed import javascript_rows, printed_lines, spoken
from trainlaw.app.answers.table import Line, lines_of, within_reach
from trainlaw.app.models.builtin import offered_formulas
from trainlaw.app.models.lookup_tables import interval_rows, precision_rows
from trainlaw.app.models.multi_gpu import added_time, formula_of_choices
from trainlaw.app.models.scopes import feature_expression, handling
from trainlaw.app.models.settings import SETTING_COLUMNS, host_rows, used_base_columns
from trainlaw.app.models.term_descriptions import DescribedTerm, described_terms
from trainlaw.app.models.terms import Part
from trainlaw.app.page.constants import page_tables
from trainlaw.app.text.html import template_text
from trainlaw.datasets import FEATURES, built_in_gpus
from trainlaw.datasets.features.run_features import SINGLE_GPU_TIME
from trainlaw.datasets.files.limits import limits
from trainlaw.datasets.hardware.collectives import ALGORITHMS, FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.datasets.hardware.links import links
from trainlaw.datasets.hardware.possible import MOST_GPUS_PER_NODE, REASONS
from trainlaw.datasets.measurements.memory_fit import ROUGH_MEMORY
from trainlaw.datasets.measurements.runs import LAYOUTS, PRECISION_OF_PASSES, STACKS
from trainlaw.datasets.spreadsheets.words import meanings
from trainlaw.datasets.tables.joins import LAUNCHES_LEFT
from trainlaw.formulas import Constant, Expression, FeatureSpec, Formula, InputError, variables
from trainlaw.formulas.files.toml_tables import toml_table
from trainlaw.formulas.printers.programming import JAVASCRIPT
from trainlaw.formulas.scopes import FORWARD
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.error_table import BY_CNN, BY_GPU, MACRO
from trainlaw.validate.formula_errors import errors_by_name, held_out_kind, overall_error, summary_interval
from trainlaw.validate.result import OURS
from trainlaw.validate.run_classes import AMD, MAIN_VENDOR, run_class

_TABLE = toml_table(__file__, "script.toml")
# Quantities that the script computes for the table of answers, besides those that `factsOf` gives.
_TIMES = frozenset(_TABLE["times"])


class Field(NamedTuple):
    """A field of the form, as `fields.toml` has it."""

    label: str
    kind: str
    first: str
    argument: str = ""
    usual: str = ""


FIELDS: Mapping[str, Field] = {name: Field(*row) for name, row in toml_table(__file__, "fields.toml").items()}


def _optional() -> dict[str, Sequence[str]]:
    """Return the fields that only formulas with a term for them show, and the base columns that they set."""
    settings = {name: field.argument.removesuffix("_s") for name, field in FIELDS.items()}
    return {
        name: SETTING_COLUMNS.get(settings[name], (name,))
        for name, field in FIELDS.items()
        if field.kind == "tick" or settings[name] in SETTING_COLUMNS
    }


def offered() -> dict[str, list[str]]:
    """Return what the lists of the form offer besides their first value."""
    scopes = {name: link.scope for name, link in links().items() if name != "none"}
    return {
        "precision": list(precision_rows()),
        "layout": list(LAYOUTS),
        "compilation": list(LAUNCHES_LEFT),
        "stack": list(STACKS),
        "link": [name for name, scope in scopes.items() if scope == "node"],
        "network": [name for name, scope in scopes.items() if scope == "network"],
        "algorithm": list(ALGORITHMS[1:]),
    }


def _vocabulary() -> dict[str, dict[str, str]]:
    """Return the words of headings, by what is read of their column, of precisions and of units of time.

    A column that changes what a time means and is no field has the word "asked".
    """
    read = {field.argument: name for name, field in FIELDS.items() if field.argument}
    read |= {name: name for name in ("gpu", "cnn", "network", "time", "input_size_px", "n_classes")}
    read |= {"batch_per_gpu": "batch", **dict.fromkeys(_TABLE["asked"], "asked")}
    known = {name.replace("_", ""): name for name in read} | {**meanings("heading")}
    return {
        "headings": {word: read[name] for word, name in known.items() if name in read},
        "precisions": {**meanings("value.precision")},
        # "min" is a minute or a minimum.
        "seconds": {word: unit for word, unit in meanings("second").items() if float(unit) <= 1},
    }


@cache
def _made_by(function: str) -> frozenset[str]:
    """Return the names of the quantities that a function of `law.js` makes."""
    body = template_text("page/law.js").partition(f"const {function} =")[2].partition("\n};\n")[0]
    return frozenset(re.findall(r"^ {4}(\w+)[:,]", body, re.MULTILINE))


def script_of(formula: Formula) -> str:
    """Return the script of a formula's page, inert inside a script element.

    Raises InputError where a feature does not follow from the choices on the page.
    """
    laws = {"": formula, **offered_formulas(formula)}
    words = f"const VOCABULARY = {literal(_vocabulary())};"
    return "\n".join(['"use strict";', *_declared(laws), words, *_files("script")])


def module_of(formula: Formula) -> str:
    """Return the script of a formula's page as a module that predicts from names; raises as `script_of`."""
    laws = {"": formula_of_choices(formula, "module")}
    return "\n".join([*_declared(laws, with_terms=False), *_files("module")])


def _files(kind: str) -> Iterable[str]:
    return (template_text(f"{name}.js") for name in _TABLE["files"][kind])


def _declared(laws: Mapping[str, Formula], *, with_terms: bool = True) -> list[str]:
    """Return the declarations of the tables, and of the formulas by name; "" is the one that is usual.

    with_terms : whether the terms of each formula are functions, too.
    """
    formula = laws[""]
    specs = specs_of(laws.values())
    expressions = {spec.name: feature_expression(spec.name) for spec in specs}
    all_reduce = _all_reduce(formula)
    needed = {name for form in (*expressions.values(), all_reduce) for name in variables(form)}
    needed -= {SINGLE_GPU_TIME}
    lines = {name: _lines(law) for name, law in laws.items()}
    indicators = {algorithm_indicator(feature) for feature in FEATURE_OF_ALGORITHM.values()}
    base = needed - (_made_by("columnsOf") - {"usual_launch_s"}) - {*_TABLE["of_links"]} - indicators
    base -= precision_rows()["fp32"].keys()
    tables = page_tables(formula, base, {name for each in lines.values() for name in spoken(each)})
    known = {name for key in ("GPUS", "CNNS") for row in tables[key].values() for name in row}
    missing = sorted(base - known)
    if missing:
        raise InputError(
            f"the page cannot compute {missing[0]!r}, which the formula needs; export to .py instead"
        )
    features = ",".join(_feature(spec, expressions[spec.name]) for spec in specs)
    answers = {
        name: javascript_rows(printed_lines(each, JAVASCRIPT, _place), literal)
        for name, each in lines.items()
    }
    printed = {name: _law(law, formula, answers[name], with_terms) for name, law in laws.items()}
    shorter = ",".join(f"{literal(name)}:{law}" for name, law in printed.items() if name)
    return [
        *JAVASCRIPT.used_helpers("".join([features, *answers.values(), *printed.values()])),
        *(f"const {name} = {_packed(table)};" for name, table in tables.items()),
        f"const FORMULA = {{...{literal(_facts(formula))},...{printed['']},features:[{features}],"
        f"allReduce:{_function(all_reduce)},others:{{{shorter}}}}};\nconst ANSWERS = FORMULA.answers;",
    ]


def _packed(table: Mapping[str, Any]) -> str:
    """Return a table as script; rows by name that all have the same columns are lists below one head."""
    rows = list(table.values())
    if not rows or not all(isinstance(row, Mapping) and row.keys() == rows[0].keys() for row in rows):
        return literal(table)
    return (
        f"unpacked({literal([*rows[0]])},{literal({name: [*row.values()] for name, row in table.items()})})"
    )


def _all_reduce(formula: Formula) -> Expression:
    """Return the time that several GPUs add, over base columns and the time on one."""
    return Constant(0.0) if handling(formula).covers_multi_gpu else added_time()


def specs_of(formulas: Iterable[Formula]) -> tuple[FeatureSpec, ...]:
    """Return the features of the formulas that a page offers, each once."""
    return tuple({spec.name: spec for formula in formulas for spec in formula.used_features}.values())


def _lines(formula: Formula) -> tuple[Line, ...]:
    """Return the rows of the table of answers that the page can compute."""
    lines = lines_of(formula, {"has_settings": 0.0})
    host = host_rows(formula)
    lines = tuple(replace(line, value=host.get(line.answer.name, line.value)) for line in lines)
    features = {spec.name for spec in formula.used_features}
    facts = {*_gpu_facts(formula), *precision_facts(formula, "fp32"), *_made_by("factsOf")}
    return within_reach(lines, {*features, *FEATURES, *OF_MEMORY, *facts, *_TIMES})


def _gpu_facts(formula: Formula) -> Iterable[str]:
    """Return the names of the numbers that are said of a GPU."""
    facts = gpu_facts(formula, built_in_gpus().gpus[0])
    return (name for name, value in facts.items() if isinstance(value, float))


def literal(value: Any) -> str:
    """Return JSON that is inert inside a script element.

    >>> literal("</script>")
    '"\\\\u003c/script>"'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    # No tag or comment can begin without <; the other two end a line in JavaScript before 2019.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def names_kinds(formula: Formula) -> bool:
    """Return whether a formula says which kinds of GPU its training runs are on."""
    return formula.provenance.get("generations") is not None


def titled_terms(formula: Formula) -> dict[str, list[DescribedTerm]]:
    """Return the terms of a formula by the title of their share of the time."""
    found: dict[str, list[DescribedTerm]] = {}
    for term in described_terms(formula):
        found.setdefault(term.title, []).append(term)
    return found


def _facts(formula: Formula) -> dict[str, Any]:
    return {
        "level": 100 * LEVEL,
        "rough": ROUGH_MEMORY,
        "perNode": MOST_GPUS_PER_NODE,
        "lacks": REASONS,
        "gpuFacts": list(_gpu_facts(formula)),
        "first": {name: field.first for name, field in FIELDS.items()},
        "fieldOf": {
            field.argument: name
            for name, field in FIELDS.items()
            if field.argument and not (formula.scope == FORWARD and name in _TABLE["of_training"])
        },
        # The field of the launch time is in µs.
        "limits": {
            name: {**vars(limits()[field.argument]), "expected": limits()[field.argument].expected}
            for name, field in FIELDS.items()
            if field.argument in limits()
        },
        "optional": list(_optional()),
        "launchesLeft": LAUNCHES_LEFT,
        "offered": offered(),
        "ofPasses": PRECISION_OF_PASSES,
        "coversGpus": handling(formula).covers_multi_gpu,
        "namesKinds": names_kinds(formula),
    }


def _errors(formula: Formula) -> dict[str, Any]:
    """Return the held-out errors: overall with its interval, and by GPU group, precision and architecture."""

    def by_name(level: str) -> dict[str, Any]:
        return {name: [*known] for name, known in errors_by_name(formula, level).items()}

    overall = [overall_error(formula, OURS, MACRO), *summary_interval(formula, OURS, MACRO)]
    groups = formula.errors.get("interval_by_class", {}).get("groups", {})
    return {
        "heldOut": held_out_kind(formula),
        "overall": [value if isfinite(value) else None for value in overall],
        "gpu": by_name(BY_GPU),
        "precision": by_name("precision"),
        "generation": by_name("generation"),
        "cnn": by_name(BY_CNN),
        "groups": groups,
        "kinds": {
            vendor: {
                precision: {stack: run_class(precision, stack, vendor) for stack in STACKS}
                for precision in precision_rows()
            }
            for vendor in (MAIN_VENDOR, AMD)
        },
    }


def _law(formula: Formula, first: Formula, answers: str, with_terms: bool) -> str:
    """Return a formula of the page as script: functions, intervals, errors and answers.

    first : the formula of which the tables of GPUs and precisions state the facts. answers : rows of the
    formula as script.
    """
    titles = titled_terms(formula) if with_terms else {}
    terms = [[term.part for term in of_title] for of_title in titles.values()]
    against = [case for parts in terms for part in parts for case in part.against]
    sides = list(dict.fromkeys(side for case in against for side in case[:2]))

    def term(part: Part) -> str:
        larger = [[sides.index(side), sides.index(other), int(least)] for side, other, least in part.against]
        return f"[{_function(part.expression)},{literal(larger)}]"

    is_forward = formula.scope == FORWARD
    used = {*used_base_columns(formula), *variables(_all_reduce(formula))}
    # The time of a forward pass never includes copying the images.
    used -= {"has_input_copy"} if is_forward else set()
    facts = {
        "intervals": interval_rows(formula),
        "ranges": dict(formula.ranges),
        "errors": _errors(formula),
        "titles": list(titles),
        "known": [name for name, columns in _optional().items() if used & {*columns}],
        "isForward": is_forward,
        "ofGeneration": {
            gpu.generation: _differing(gpu_facts(formula, gpu), gpu_facts(first, gpu))
            for gpu in built_in_gpus().gpus
        },
        "ofPrecision": {
            name: _differing(precision_facts(formula, name), precision_facts(first, name))
            for name in precision_rows()
        },
    }
    lists = ("[" + ",".join(map(term, parts)) + "]" for parts in terms)
    shares = f"sides:[{','.join(map(_function, sides))}],terms:[{','.join(lists)}]"
    printed = f"{shares},predict:{_function(formula.expression)},answers:{answers}"
    return f"{{...{literal(facts)},{printed}}}"


def _differing(facts: Mapping[str, Fact], usual: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the facts that differ from the usual ones."""
    return {name: fact for name, fact in facts.items() if fact != usual[name]}


def _feature(spec: FeatureSpec, expression: Expression) -> str:
    unit = "" if spec.unit.is_dimensionless else str(spec.unit)
    # A loop over batches computes again what the batch changes.
    fixed = literal({"name": spec.name, "unit": unit, "varies": "batch_per_gpu" in variables(expression)})
    return f"{{...{fixed},compute:{_function(expression)}}}"


def _function(expression: Expression) -> str:
    """Return a function of an object of quantities; its helper functions are declared once."""
    names = {name: _place(name) for name in variables(expression)}
    return f"(v) => {JAVASCRIPT.finite.format(a=JAVASCRIPT.write(JAVASCRIPT.known(expression), names))}"


def _place(name: str) -> str:
    return f"v.{name}" if name.isidentifier() else f"v[{literal(name)}]"
