"""The child process in which sympy rewrites expressions: JSON lines in, JSON lines out, no pickle.

Input: one object {"expressions": [JSON form, ...], "positive": [names], "calls": most function calls for
each, "parent": process id}. Output: one line [index, JSON form] per candidate.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator
from threading import Thread
from types import FrameType
from typing import Any, TextIO

from trainlaw.formulas.algebra.expression import (
    Apply,
    Constant,
    Expression,
    Variable,
    complexity,
    rebuilt,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.json_form import from_json, to_json
from trainlaw.formulas.algebra.sympy_bridge import from_sympy, to_sympy
from trainlaw.formulas.algebra.tidying import tidy

ROUNDS = 2
_WATCH_SECONDS = 1.0
# Whole numbers and halves up to this size are structure (x^2, 2 * x); all others are fitted numbers.
LARGEST_PLAIN = 16


class _OutOfCallsError(BaseException):
    """The calls are used up; no `except Exception` inside sympy may catch it."""


class _CountedCalls:
    """A budget of function calls for computations that may never end."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise _OutOfCallsError

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return function(*arguments), or None when it fails or the calls are used up."""
        sys.setprofile(self)
        try:
            return function(*arguments)
        except (_OutOfCallsError, Exception):
            return None
        finally:
            sys.setprofile(None)


def rewrites() -> tuple[Callable[[Any], Any], ...]:
    """Return the functions of sympy that are tried, from cheap to expensive."""
    sympy = importlib.import_module("sympy")
    return (
        lambda form: form,
        sympy.powsimp,
        sympy.factor_terms,
        sympy.together,
        sympy.expand,
        lambda form: sympy.factor_terms(sympy.expand(form)),
        lambda form: sympy.logcombine(sympy.expand_log(form)),
        sympy.cancel,
        sympy.factor,
        sympy.simplify,
    )


def candidates(expression: Expression, positive: Collection[str], most_calls: int) -> Iterator[Expression]:
    """Yield rewritten expressions that are no more complex, given that the variables in `positive` are.

    most_calls : function calls after which it ends. Values are not checked. The same arguments give the same
    candidates on any machine.
    """
    masked, values = _without_numbers(expression)
    calls = _CountedCalls(most_calls)
    best, limit = masked, complexity(expression)
    for _ in range(ROUNDS):
        start = best
        for rewrite in rewrites():
            found = calls.run(_rewritten, start, rewrite, {*positive, *values})
            if found is None:
                continue
            numbered = tidy(substitute(found, values))
            if complexity(numbered) <= limit:
                yield numbered
            if complexity(found) < complexity(best):
                best = found
        if best is start:
            return


def _rewritten(
    expression: Expression, rewrite: Callable[[Any], Any], positive: Collection[str]
) -> Expression:
    """Return the tidy form of the expression rewritten by `rewrite`."""
    # Otherwise the number of calls would depend on what was rewritten before.
    importlib.import_module("sympy.core.cache").clear_cache()
    return tidy(from_sympy(rewrite(to_sympy(expression, positive))))


def _without_numbers(expression: Expression) -> tuple[Expression, dict[str, Constant]]:
    """Return the expression with fitted numbers replaced by names, and the number of each name.

    sympy then works on exact symbols: floating-point coefficients and exponents make its polynomials slow and
    inexact. Small whole numbers and halves stay, as they carry structure.
    """
    prefix = "#" * (1 + max((len(name) for name in variables(expression)), default=0))
    values: dict[str, Constant] = {}

    def masked(node: Constant) -> Expression:
        size = abs(node.value)
        if size <= LARGEST_PLAIN and (2 * size).is_integer():
            return node
        name = f"{prefix}{size!r}"
        values[name] = Constant(size)
        return Variable(name) if node.value > 0 else Apply("neg", (Variable(name),))

    return rebuilt(expression, constant=masked), values


def _end_with(parent: int) -> None:
    """End this process soon after its parent, which reads its results."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def main(source: TextIO, sink: TextIO) -> None:
    """Read a request from `source` and write the candidates of each expression to `sink`."""
    request = json.load(source)
    Thread(target=_end_with, args=(request["parent"],), daemon=True).start()
    for index, item in enumerate(request["expressions"]):
        for candidate in candidates(from_json(item), request["positive"], request["calls"]):
            print(json.dumps([index, to_json(candidate)]), file=sink, flush=True)


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
