"""A mutation that knows what a subtree should be worth: the target, carried down the tree to it.

The functions above a node are inverted one by one, so that the node's wanted values are known on every row.
What comes closest to them, of a library of small expressions times a factor plus an offset, replaces the
subtree. Source: random desired operators, Pawlak, Wieloch and Krawiec, 2015; rows are weighted here by the
slope of the formula at the node, so that what hardly matters does not count.
"""

import math

import numpy as np
from trainlaw.evolve.machine.arrays import CONSTANT, VARIABLE, WEIGHTED
from trainlaw.evolve.machine.evaluation import call_operator, compiled
from trainlaw.evolve.machine.kernel_calls import Packed, flat_from
from trainlaw.evolve.machine.kernels import OPERATOR_CODES, is_binary
from trainlaw.evolve.machine.moves import (
    GrammarTables,
    Tree,
    append,
    below,
    draw_place,
    end_of,
    put,
    uniform,
)

# Numbers this close to the simplest are that; the least weighted variance of an expression of mean square 1.
NEAR, LEAST_SQUARE = 1e-6, 1e-6
# Probability that the tree is to be the target itself, not with the offset and slope around it.
SHARE_OF_PLAIN = 0.5
# Probability that a second expression is added, for what the first leaves.
SECOND_TERM = 0.5
# One of the closest few is taken; always the closest would make all children alike.
CLOSEST = 4
# A node's values are wanted on at least this share of the rows.
LEAST_KNOWN = 0.9
# Operators that `invert` knows, with the places of their arguments.
INVERTED = (
    ("add", 0), ("add", 1), ("sub", 0), ("sub", 1), ("mul", 0), ("mul", 1), ("div", 0), ("div", 1),
    ("square", 0), ("sqrt", 0), ("exp", 0), ("log", 0), ("sin", 0), ("cos", 0),
)  # fmt: skip
_ADD, _SUB, _MUL, _DIV, _SQUARE, _SQRT, _EXP, _LOG, _SIN, _COS = (
    OPERATOR_CODES[name] for name in dict(INVERTED)
)


class Aims(Packed):
    """What the mutation compares with.

    columns : of the features, (n_features * n_rows,). target : (n_rows,). kinds, values : nodes of the
    expressions, one after another from `start` (n_expressions + 1,) on. sizes : (n_expressions,), their root
    mean squares. constant : kind of a fitted number. address : of the kernel of operators. rows
    : n_rows.
    """


@compiled
def node_values(tree: Tree, part: Tree, tables: GrammarTables, aims: Aims) -> np.ndarray:
    """Return the values of every node of a tree, (n_nodes, n_rows)."""
    rows, depth = aims.rows, 0
    values = np.empty((tree.length[0], rows))
    for node in range(tree.length[0] - 1, -1, -1):
        token = tables.token[tree.kinds[node]]
        code, first, constant = token & 255, (token >> 8) * rows, tree.values[node]
        if code == CONSTANT or code == VARIABLE or code == WEIGHTED:
            for row in range(rows):
                factor = 1.0 if code == VARIABLE else constant
                values[node, row] = factor if code == CONSTANT else factor * aims.columns[first + row]
        else:
            x = flat_from(values, part.places[depth - 1], 0)
            depth -= 1 + int(is_binary(code))
            y = flat_from(values, part.places[depth], 0)
            call_operator(aims.address, code, x, y, flat_from(values, node, 0), 1.0, 1.0, rows)
        part.places[depth] = node
        depth += 1
    return values


@compiled
def invert(
    code: int, number: int, wanted: np.ndarray, slope: np.ndarray, first: np.ndarray, second: np.ndarray
) -> bool:
    """Carry wanted values and slopes of a result over to one argument; return whether that can be done.

    number : of the argument. wanted, slope : (n_rows,), changed; signs of slopes do not matter. first, second
    : (n_rows,), values of the arguments.
    """
    for row in range(wanted.size):
        t, a, b = wanted[row], first[row], second[row]
        found, step = math.nan, 1.0
        if code == _ADD:
            found = t - (a if number else b)
        elif code == _SUB:
            found = a - t if number else t + b
        elif code == _MUL:
            step = a if number else b
            found = t / step
        elif code == _DIV:
            found, step = (a / t, t * t / a) if number else (t * b, 1.0 / b)
        elif code == _SQUARE:
            found, step = math.copysign(math.sqrt(t), a), 2.0 * math.sqrt(t)
        elif code == _SQRT:
            found, step = t * t if t > 0.0 else math.nan, 0.5 / t
        elif code == _EXP:
            found, step = math.log(t), t
        elif code == _LOG:
            found, step = math.exp(t), math.exp(-t)
        elif code == _SIN:
            found, step = a + (t - math.sin(a)) / math.cos(a), math.cos(a)
        elif code == _COS:
            found, step = a + (math.cos(a) - t) / math.sin(a), math.sin(a)
        else:
            return False
        wanted[row] = found
        slope[row] *= step
    return True


@compiled
def best_of(values: np.ndarray, left: np.ndarray, weight: np.ndarray, rank: int) -> int:
    """Return which of the `values` (n_rows, n_expressions) explains most of `left`, of weighted mean 0.

    left, weight : (n_rows,), the weights of sum 1. rank : how many better ones are passed over.
    """
    count = values.shape[1]
    means, squares, shares = np.zeros((3, count), np.float32)
    for row in range(left.size):
        of_row, product = np.float32(weight[row]), np.float32(weight[row] * left[row])
        for k in range(count):
            value = values[row, k]
            weighted = of_row * value
            means[k] += weighted
            squares[k] += weighted * value
            shares[k] += product * value
    for k in range(count):
        square = squares[k] - means[k] * means[k]
        shares[k] = shares[k] * shares[k] / square if square > LEAST_SQUARE else 0.0
    best = np.argmax(shares)
    for _ in range(min(rank, count - 1)):
        shares[best] = -1.0
        best = np.argmax(shares)
    return int(best)


@compiled
def regress(
    values: np.ndarray, wanted: np.ndarray, weight: np.ndarray, ranks: np.ndarray, terms: np.ndarray,
    numbers: np.ndarray,
) -> None:  # fmt: skip
    """Set `numbers` to an offset and the factors of one or two expressions that come closest to `wanted`.

    values : (n_rows, n_expressions). wanted, weight : (n_rows,). ranks : of the expressions, (1,) or (2,).
    terms : which they are, to be filled. numbers : (3,), zeros. A second expression is not needed, and its
    factor 0, where the first is exact.
    """
    left, first, term = np.zeros((3, wanted.size))
    mean_wanted = exact = 0.0
    for row in range(wanted.size):
        mean_wanted += weight[row] * wanted[row]
        exact += NEAR**2 * weight[row] * wanted[row] ** 2
    for row in range(wanted.size):
        left[row] = wanted[row] - mean_wanted
    numbers[0] = mean_wanted
    size, center = 1.0, 0.0
    for k in range(ranks.size):
        terms[k] = best_of(values, left, weight, ranks[k])
        mean = shared = square = product = remaining = 0.0
        for row in range(wanted.size):
            mean += weight[row] * values[row, terms[k]]
            shared += weight[row] * first[row] * values[row, terms[k]] / size
        for row in range(wanted.size):
            term[row] = values[row, terms[k]] - mean - shared * first[row]
            square += weight[row] * term[row] ** 2
            product += weight[row] * term[row] * left[row]
        if not square > LEAST_SQUARE:
            break
        numbers[1 + k] = product / square
        numbers[0] -= numbers[1 + k] * (mean - shared * center)
        numbers[1] -= k * numbers[2] * shared
        for row in range(wanted.size):
            left[row] -= numbers[1 + k] * term[row]
            first[row] = term[row]
            remaining += weight[row] * left[row] ** 2
        size, center = square, mean
        if remaining < exact:
            break


@compiled
def aim(
    tree: Tree, part: Tree, affine: np.ndarray, tables: GrammarTables, aims: Aims, library: np.ndarray
) -> None:
    """Replace a random subtree by what is closest to its wanted values.

    affine : (2,), offset and slope around the tree. library : float32 (n_rows, n_expressions), values of root
    mean square 1.
    """
    place = draw_place(tree, tree, 0, tables.ret, tables.target)
    is_plain = uniform(tree) < SHARE_OF_PLAIN
    offset, factor = 0.0 if is_plain else affine[0], 1.0 if is_plain else affine[1]
    wanted, slope = np.empty((2, aims.rows))
    for row in range(aims.rows):
        wanted[row], slope[row] = (aims.target[row] - offset) / factor, factor
    values = node_values(tree, part, tables, aims)
    is_sum = is_product = True
    i = 0
    while i != place:
        code = tables.token[tree.kinds[i]] & 255
        middle = end_of(tree, i + 1, tables)
        number = int(place >= middle)
        second = middle if is_binary(code) else i + 1
        if not invert(code, number, wanted, slope, values[i + 1], values[second]):
            return
        is_sum &= code == _ADD or code == _SUB
        is_product &= code == _MUL or code == _DIV
        i = second if number else i + 1
    if approximate(tree, part, wanted, slope, is_sum, is_product, tables, aims, library):
        put(tree, place, end_of(tree, place, tables), part, 0, part.length[0])


@compiled
def approximate(
    tree: Tree, part: Tree, wanted: np.ndarray, slope: np.ndarray, is_sum: bool, is_product: bool,
    tables: GrammarTables, aims: Aims, library: np.ndarray,
) -> bool:  # fmt: skip
    """Set `part` to one or two expressions times factors plus an offset; return whether there are any.

    wanted, slope : (n_rows,), overwritten. is_sum, is_product : whether all above only adds, or multiplies,
    so that the offset, or one factor, says nothing.
    """
    known, total = 0, 0.0
    for row in range(wanted.size):
        slope[row] *= slope[row]
        if math.isfinite(wanted[row]) and math.isfinite(slope[row]):
            known += 1
            total += slope[row]
        else:
            wanted[row] = slope[row] = 0.0
    if known < LEAST_KNOWN * wanted.size or not total > 0.0:
        return False
    square = 0.0
    for row in range(wanted.size):
        slope[row] /= total
        square += slope[row] * wanted[row] ** 2
    ranks, terms = np.zeros((2, 2 if uniform(tree) < SECOND_TERM else 1), np.int64)
    for k in range(ranks.size):
        ranks[k] = below(tree, CLOSEST) if uniform(tree) < 0.5 else 0
    numbers = np.zeros(3)
    regress(library, wanted, slope, ranks, terms, numbers)
    for k in range(terms.size):
        numbers[1 + k] /= aims.sizes[terms[k]]
    if is_sum or math.fabs(numbers[0]) < NEAR * math.sqrt(square):
        numbers[0] = 0.0
    share = numbers[1] if is_product else 1.0
    for k in range(numbers.size):
        numbers[k] /= share
    return write(part, numbers, terms, tables, aims)


@compiled
def write(part: Tree, numbers: np.ndarray, terms: np.ndarray, tables: GrammarTables, aims: Aims) -> bool:
    """Set `part` to the offset, the first number, plus the terms times the others; leave out zeros."""
    part.length[0] = 0
    pieces = 0
    for number in numbers:
        if not math.isfinite(number):
            return False
        pieces += int(number != 0.0)
    for _ in range(pieces - 1):
        append(part, tables.sum[tables.target], math.nan)
    if numbers[0] != 0.0:
        append(part, aims.constant, numbers[0])
    for k in range(terms.size):
        number = numbers[1 + k]
        if number == 0.0:
            continue
        if math.fabs(number - 1.0) >= NEAR:
            append(part, tables.product[tables.target], math.nan)
            append(part, aims.constant, number)
        for i in range(aims.start[terms[k]], aims.start[terms[k] + 1]):
            append(part, aims.kinds[i], aims.values[i])
    return bool(part.length[0] > 0)
