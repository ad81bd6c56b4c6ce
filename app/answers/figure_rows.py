"""The rows of figures: times, intervals, hours, cost, energy, throughput and memory."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from trainlaw.app.answers.answer import Answer
from trainlaw.app.answers.error_rows import ARCHITECTURE_FACTOR, has_architecture_errors
from trainlaw.app.answers.fixed_rows import rows
from trainlaw.app.models.calibration import calibration_of
from trainlaw.app.models.settings import HOST_SHARE, host_rows
from trainlaw.formulas import Expression, Formula, parse_text, substitute, to_text
from trainlaw.formulas.scopes import FORWARD, LAYER

_HOST_FACTOR = f"(slow_host_s / fast_host_s)^({HOST_SHARE} * (1 - has_host_launch))"
_TITLES_OF_FORWARD = {"iteration time": "forward pass", "training": "all images"}


def figures(formula: Formula) -> Iterable[Answer]:
    """Yield the rows of figures; those of a forward pass name its time, and need less memory."""
    has_errors = has_architecture_errors(formula)
    yield Answer("architecture_factor", definition=ARCHITECTURE_FACTOR if has_errors else "1")
    yield from rows("times")
    host = {} if formula.scope == LAYER else host_rows(formula)
    yield from (Answer(name, definition=to_text(expression)) for name, expression in host.items())
    yield Answer("host_factor", definition=_HOST_FACTOR if host and not calibration_of(formula) else "1")
    is_forward = formula.scope == FORWARD
    others = {row.name: row for row in rows("forward")} if is_forward else {}
    for row in rows("figures"):
        title = _TITLES_OF_FORWARD.get(row.title, row.title) if is_forward else row.title
        yield replace(others.get(row.name, row), title=title)


@cache
def definition_of(name: str) -> Expression:
    """Return the value of a figure, over quantities and earlier figures.

    >>> definition_of("low_s")
    time_s / interval_factor
    """
    return parse_text(next(row.definition for row in (*rows("times"), *rows("figures")) if row.name == name))


def needed_memory(formula: Formula) -> tuple[Expression, Expression]:
    """Return the memory that a formula's iteration or pass takes, in bytes: at least, and with everything.

    They are over base columns, and the memory of a CNN and a precision.
    """
    found = {row.name: row for row in figures(formula)}
    least, usual = (parse_text(found[row.name].definition) for row in rows("forward"))
    return least, usual


@cache
def fits_in_memory() -> Expression:
    """Return whether an iteration fits, the place of a word, over the bytes needed and sold."""
    held = {"memory_held_bytes": definition_of("memory_held_bytes")}
    return substitute(definition_of("fits_in_memory"), held)
