"""Simplify expressions: cheap rules in this process, then sympy's rewrites in a child process."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import (
    Apply,
    Constant,
    Expression,
    additive_terms,
    complexity,
    nodes,
    variables,
)
from trainlaw.formulas.algebra.json_form import from_json, to_json
from trainlaw.formulas.algebra.tidying import tidy

Columns = Mapping[str, NDArray[np.float64]]
# Far above the rounding errors of a rewrite, far below the digits of a printed constant.
AGREEMENT = 1e-9
# Counted function calls rather than seconds, so that a busy machine gives the same result; about a second.
CALLS_PER_EXPRESSION = 2_000_000
# Points beyond the training rows, where a wrong rewrite would agree by chance on few of them.
RANDOM_POINTS = 256


def simplify(
    expression: Expression, columns: Columns | None = None, calls: int = CALLS_PER_EXPRESSION
) -> Expression:
    """Return an expression of the same values and at most the same complexity.

    Parameters
    ----------
    expression : Expression
        Any expression.
    columns : mapping of str to ndarray, shape (n_rows,), optional
        Rows on which the values must agree to 1e-9 relative wherever the expression is valid, in addition to
        random points within their ranges; by default random points from 0.1 to 10 of either sign.
    calls : int
        Function calls after which the rewrites end, with what they have found by then. It is work that is
        limited, not time, so the result does not depend on the machine or its load. 0: only cheap rules.

    Returns
    -------
    Expression
        The simplest form found.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import parse_text, to_text
    >>> to_text(simplify(parse_text("(x * y + x * z) / x")))
    'y + z'
    """
    return simplify_all([expression], columns, calls)[0]


def simplify_all(
    expressions: Sequence[Expression], columns: Columns | None = None, calls: int = CALLS_PER_EXPRESSION
) -> list[Expression]:
    """Return `simplify` of each expression, with one child process for all and a limit for each."""
    points = _points(expressions, columns)
    found = [[expression, tidy(expression)] for expression in expressions]
    worth = [index for index, options in enumerate(found) if _may_shrink(options[1])]
    if worth and calls > 0:
        positive = [name for name, values in points.items() if np.all(values > 0)]
        answers = _ask_sympy([found[index][1] for index in worth], positive, calls)
        for position, candidate in answers:
            found[worth[position]].append(candidate)
    return [_best(options, points) for options in found]


def _may_shrink(expression: Expression) -> bool:
    """Return whether sympy could find anything: names that occur twice, numbers that might merge."""
    leaves = [node for node in nodes(expression) if not isinstance(node, Apply)]
    numbers = sum(isinstance(leaf, Constant) for leaf in leaves)
    names = len(leaves) - numbers
    inner = {node.operator for node in nodes(expression) if isinstance(node, Apply)}
    return bool(
        names > len(variables(expression))
        or numbers > len(additive_terms(expression))
        or (inner & {"exp", "log"} and len(leaves) > 1)
    )


def _points(expressions: Sequence[Expression], columns: Columns | None) -> dict[str, NDArray[np.float64]]:
    """Return the rows to compare values on: those of `columns`, then random ones within their ranges."""
    generator = np.random.default_rng(0)
    names = sorted({name for expression in expressions for name in variables(expression)})
    points = {}
    for name in names:
        if columns is None:
            sizes = 10.0 ** generator.uniform(-1, 1, 2 * RANDOM_POINTS)
            sizes[RANDOM_POINTS:] *= generator.choice([-1.0, 1.0], RANDOM_POINTS)
            points[name] = sizes
        else:
            given = np.asarray(columns[name], dtype=np.float64)
            points[name] = np.concatenate([given, _within(given, generator)])
    return points


def _within(values: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Return random numbers from the smallest to the largest finite value, evenly in size where positive."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return np.ones(RANDOM_POINTS)
    low, high = finite.min(), finite.max()
    if low > 0:
        return np.exp(generator.uniform(np.log(low), np.log(high), RANDOM_POINTS))
    return generator.uniform(low, high, RANDOM_POINTS)


def _ask_sympy(
    expressions: Sequence[Expression], positive: Sequence[str], calls: int
) -> list[tuple[int, Expression]]:
    """Return (index, candidate) pairs from the child process."""
    request = {
        "expressions": [to_json(expression) for expression in expressions],
        "positive": list(positive),
        "calls": calls,
        "parent": os.getpid(),
    }
    # A fixed hash seed makes sympy's sets, and so its results, the same in every process.
    settings = {**os.environ, "PYTHONHASHSEED": "0"}
    try:
        output = subprocess.run(
            [sys.executable, "-P", "-m", "trainlaw.formulas.algebra.sympy_worker"],
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=settings,
            check=False,
        ).stdout
    except OSError:
        # Where no second interpreter can be started, the rules of `tidy` have to do.
        output = b""
    complete = output[: output.rfind(b"\n") + 1].splitlines()
    return [(index, from_json(item)) for index, item in map(json.loads, complete)]


def _best(options: Sequence[Expression], points: Columns) -> Expression:
    """Return the least complex option whose values agree with the first; the earliest of equals."""
    original, *others = options
    accepted = [option for option in others if agree(original, option, points)]
    return min([*accepted, original], key=complexity)


def agree(expression: Expression, other: Expression, columns: Columns) -> bool:
    """Return whether `other` is valid and equal, to 1e-9 relative, wherever `expression` is valid.

    columns : float64, shape (n,), per variable name. False where the expression is valid nowhere.
    """
    values, valid = evaluate(expression, columns)
    others, others_valid = evaluate(other, columns)
    with np.errstate(all="ignore"):
        close = np.abs(values - others) <= AGREEMENT * np.maximum(np.abs(values), np.abs(others))
    return bool(np.any(valid) and np.all((close & others_valid)[valid]))
