"""A formula as an SQL query for DuckDB, PostgreSQL and SQLite.

Where the formula is not valid the result is NULL: the arguments of functions are checked before the call, as
these databases raise an error where a number is outside a domain. Only an overflow of + - * still raises in
PostgreSQL.
"""

from collections.abc import Mapping, Sequence
from math import isfinite

from trainlaw.formulas.algebra.expression import Apply, Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import Language, hides_infinity, known_constants, plain_number
from trainlaw.formulas.printers.naming import as_formula, header, identifiers
from trainlaw.formulas.printers.steps import named_steps

# Comparing with it is the one test for infinity and nan that all three databases have.
LARGEST = "1.7976931348623157e308"
STAGE = "trainlaw_"


def _number(value: float) -> str:
    """Return a literal with an exponent, which DuckDB takes for a floating-point number, or NULL."""
    if not isfinite(value):
        return "CAST(NULL AS DOUBLE PRECISION)"
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def string_literal(text: str) -> str:
    """Return an SQL string literal.

    >>> string_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("\x00", "").replace("'", "''") + "'"


SQL = Language(
    forms={
        "div": "({a:atom} / NULLIF({b}, 0))",
        "abs": "ABS({a})",
        "sqrt": "CASE WHEN {a} >= 0 THEN SQRT({a}) END",
        "cbrt": "(SIGN({a}) * POWER(ABS({a}), 1e0 / 3))",
        "square": "POWER({a}, 2)",
        "cube": "POWER({a}, 3)",
        # PostgreSQL raises an error where the result would vanish, too.
        "exp": "CASE WHEN {a} < -745 THEN 0e0 WHEN {a} < 709.78 THEN EXP({a}) END",
        "log": "CASE WHEN {a} > 0 THEN LN({a}) END",
        "pow": (
            "CASE WHEN {a} > 0 OR {a} = 0 AND {b} >= 0 OR {a} < 0 AND {b} = FLOOR({b})"
            " THEN POWER({a}, {b}) END"
        ),
        "min": "CASE WHEN {a} <= {b} THEN {a} WHEN {b} < {a} THEN {b} END",
        "max": "CASE WHEN {a} >= {b} THEN {a} WHEN {b} > {a} THEN {b} END",
        "sin": "SIN({a})",
        "cos": "COS({a})",
        "tanh": "TANH({a})",
        "step": "(5e-1 * (SIGN({a}) + 1))",
    },
    number=plain_number(_number),
    text_literal=string_literal,
    reserved=frozenset(
        "all analyse analyze and any array as asc between both by case cast check collate column"
        " constraint create cross current default desc distinct do else end except exists false fetch"
        " filter for foreign from full glob grant group having if ilike in index inner inputs intersect"
        " into is join key lateral leading left like limit natural not null offset on only or order"
        " outer over partition primary references result right row rows select set some table then time"
        " timestamp to trailing true union unique user using value values view when where window with"
        " abs sqrt power exp ln sin cos tanh sign floor nullif date".split()
    ),
)


def quoted(name: str) -> str:
    """Return a name as an SQL identifier.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace("\x00", "").replace('"', '""') + '"'


def print_sql(formula: Formula | Expression, table: str = "runs") -> str:
    """Return a query that selects all columns of `table` and the target, NULL where the formula is not valid.

    The table has a column per feature, in its unit, and per label column of grouped constants.
    """
    formula = as_formula(formula)
    steps = named_steps(known_constants(SQL.known(formula.expression)), _needs_a_step)
    features = [spec.name for spec in formula.used_features]
    step_names = [step for step, _ in steps.assignments]
    names = identifiers(
        [*features, *(constant.name for constant in formula.grouped), *step_names], SQL.reserved
    )
    stages, checks = [_inputs(formula, names, table)], [names[feature] for feature in features]
    for step, part in steps.assignments:
        stages.append(_stage(f"*, {SQL.write(part, names)} AS {names[step]}", len(stages), checks))
        checks = [names[step]]
    stages.append(_stage(f"{SQL.write(steps.result, names)} AS value", len(stages), checks))
    parts = ",\n".join(f"{STAGE}{number} AS ({stage})" for number, stage in enumerate(stages))
    query = f"WITH {parts}\n{_stage('value', len(stages), ['value'])}"
    comments = "".join(f"-- {line}\n" for line in header(formula))
    target = quoted(formula.target.name)
    return f"{comments}SELECT {quoted(table)}.*, (\n{query}\n) AS {target}\nFROM {quoted(table)};\n"


def _stage(selected: str, number: int, checks: Sequence[str]) -> str:
    """Return a query on the stage before `number`, on its rows whose columns `checks` are finite."""
    condition = " AND ".join(f"ABS({name}) <= {LARGEST}" for name in checks)
    return f"SELECT {selected} FROM {STAGE}{number - 1}" + (f" WHERE {condition}" if checks else "")


def _needs_a_step(node: Apply, place: int) -> bool:
    """Return whether an argument is repeated by the form of its operator, or has to be finite to be used."""
    checked = SQL.repeats(node, place) > 1 or hides_infinity(node.operator)[place]
    return isinstance(node.arguments[place], Apply) and checked


def _inputs(formula: Formula, names: Mapping[str, str], table: str) -> str:
    columns = [
        f"CAST({quoted(table)}.{quoted(spec.name)} AS DOUBLE PRECISION) AS {names[spec.name]}"
        for spec in formula.used_features
    ]
    for constant in formula.grouped:
        choices = "".join(
            f" WHEN {SQL.text_literal(str(group))} THEN {_number(value)}"
            for group, value in constant.values.items()
        )
        label = f"{quoted(table)}.{quoted(constant.key)}"
        choice = (
            f"CASE {label}{choices} ELSE {_number(constant.default)} END"
            if choices
            else _number(constant.default)
        )
        columns.append(f"{choice} AS {names[constant.name]}")
    return f"SELECT {', '.join(columns) or '0 AS no_input'}"
