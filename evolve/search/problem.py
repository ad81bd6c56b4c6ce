"""The problem of one search: data in the machine's order, the grammar, and the loss."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.brackets import BracketTypes, check_holes, repeats, subtree_ends
from trainlaw.evolve.grammar import Grammar, make_grammar
from trainlaw.evolve.leaves import Leaf, Node
from trainlaw.evolve.machine.arrays import GROUP_LIMIT, HUBER, SOFT_L1, SQUARES, Programs, Rows, make_rows
from trainlaw.evolve.machine.batch import AFFINE, LEAST_GAIN, NOTHING, RESCALE, FitResult, Machine
from trainlaw.evolve.search.library import quantity
from trainlaw.evolve.search.screening import screen
from trainlaw.evolve.search.trees import encode, held_constants, nodes_of, untidy, with_fitted
from trainlaw.evolve.search.variation import Individual
from trainlaw.evolve.settings import UNTYPED_OPERATORS, SearchSettings
from trainlaw.formulas import Expression, FeatureSpec, InputError, RowSums, Variable, variables
from trainlaw.formulas.errors import unknown_name

# A variable of a template is a hole if its name begins so.
HOLE = "hole"


@dataclass(frozen=True)
class Structure:
    """The structural requirements of one search.

    template : nodes in prefix order, holes as leaves named `hole...`, or empty. nesting : triples (outer,
    inner, most), as in `SearchSettings.nesting_limits`. required : features that every tree keeps.
    brackets : what the holes may hold, where that is limited.
    """

    template: tuple[Node, ...]
    nesting: tuple[tuple[str, str, int], ...]
    required: frozenset[str] = frozenset()
    brackets: tuple[BracketTypes, ...] = ()

    def accepts(self, tree: Sequence[Node]) -> bool:
        """Return whether the tree is the template with its holes filled, and nests no deeper than allowed."""
        if self.required and not self.required <= {node.feature for node in tree}:
            return False
        ends = subtree_ends(tree) if self.template else []
        if self.template and not _follows(tree, self.template, ends):
            return False
        if self.brackets and repeats(tree, self.brackets, ends):
            return False
        return all(_nests_at_most(tree, *limit) for limit in self.nesting)

    def filled(self, grammar: Grammar, random: Random) -> Individual:
        """Return the template with a small random tree in each hole."""
        return self._with(lambda hole: _grown(hole, grammar, random))

    def whole(self, grammar: Grammar) -> Individual:
        """Return the template with all that its brackets offer, at the expected constants."""
        return self._with(lambda hole: grammar.brackets[hole.name].whole())

    def least(self, grammar: Grammar) -> Individual:
        """Return the template with only what its brackets require, at the expected constants."""
        return self._with(lambda hole: grammar.brackets[hole.name].least())

    def _with(self, fill: Callable[[Node], list[Node]]) -> Individual:
        nodes: list[Node] = []
        for node in self.template:
            nodes += fill(node) if _is_hole(node) else [node]
        return Individual(nodes)


def _grown(hole: Node, grammar: Grammar, random: Random) -> list[Node]:
    """Return a random tree for a hole."""
    bracket = grammar.brackets.get(hole.name)
    return bracket.grow(random) if bracket else grammar.grow(hole.ret, random.randint(1, 3), random)


def make_structure(settings: SearchSettings, grammar: Grammar) -> Structure:
    """Return the structure that the settings require.

    Raises InputError for a template outside the grammar, or one without a hole.
    """
    if settings.template is None:
        return Structure((), settings.nesting_limits)
    holes = [name for name in variables(settings.template) if name.startswith(HOLE)]
    if not holes:
        raise InputError("expected a template with a hole, got none: name a variable 'hole'")
    if settings.brackets:
        check_holes(settings.brackets, holes)
    nodes = nodes_of(settings.template, grammar.target, grammar, partial(_hole, grammar))
    if nodes is None:
        raise InputError(
            "expected a template within the search's operators, features and units: add what it needs"
        )
    brackets = tuple(grammar.brackets.values())
    required = frozenset().union(*(bracket.required for bracket in brackets))
    structure = Structure(tuple(nodes), settings.nesting_limits, required, brackets)
    if brackets:
        held = len(held_constants(structure.least(grammar)))
        if held > settings.max_constants:
            raise InputError(
                f"expected max_constants of at least {held}, what the brackets require; "
                f"got {settings.max_constants}"
            )
    return structure


def _hole(grammar: Grammar, name: str, ret: type) -> Leaf | None:
    """Return the leaf of a hole: the negative token marks it, and no machine reads it."""
    if not name.startswith(HOLE):
        return None
    bracket = grammar.brackets.get(name)
    return Leaf(-1, bracket.total if bracket else ret, None, name)


def _is_hole(node: Node) -> bool:
    return node.token < 0


def _follows(tree: Sequence[Node], template: Sequence[Node], ends: Sequence[int]) -> bool:
    """Return whether the tree equals the template outside the holes; ends : of its subtrees."""
    position = 0
    for node in template:
        if position >= len(tree) or tree[position].ret is not node.ret:
            return False
        if _is_hole(node):
            position = ends[position]
        elif tree[position].token != node.token:
            return False
        else:
            position += 1
    return position == len(tree)


def subtree_end(tree: Sequence[Node], begin: int) -> int:
    """Return the index after the subtree that begins at `begin`."""
    open_arguments = 1
    end = begin
    while open_arguments:
        open_arguments += tree[end].arity - 1
        end += 1
    return end


def _nests_at_most(tree: Sequence[Node], outer: str, inner: str, most: int) -> bool:
    for begin, node in enumerate(tree):
        if node.name == outer and node.arity:
            inside = tree[begin + 1 : subtree_end(tree, begin)]
            if sum(other.name == inner and other.arity > 0 for other in inside) > most:
                return False
    return True


# Groups beyond this number share a case with others, so that there are few cases and blocks.
MOST_CASES = GROUP_LIMIT
# Without groups, rows are assigned to this many cases at random.
DEALT_CASES = 10
# Levels of all grouped constants together; each is a constant of a fit, of which the machine holds 64.
MOST_LEVELS = 36
# Numbers of a table that is not copied for the problem, only for the machine.
LARGE_TABLE = 2**22
# Rows that screening looks at: with more, it takes longer and finds the same.
SCREENED_ROWS = 4_000
# Largest share of a time limit that screening takes.
SCREENED_SHARE = 0.25
# Relative error below which the absolute percentage loss is quadratic: a fit needs a smooth minimum.
PERCENTAGE_WIDTH = 0.02
# Per loss: whether of logarithms, and the robust form of the machine.
LOSS_FORMS = {
    "log_ratio": (True, SQUARES),
    "soft_l1_log": (True, SOFT_L1),
    "huber_log": (True, HUBER),
    "relative_squares": (False, SQUARES),
    "absolute_percentage": (False, SOFT_L1),
    "squares": (False, SQUARES),
}


@dataclass(frozen=True)
class Problem:
    """All that a search needs; made by `make_problem`.

    columns : float64 (n_columns, n_rows), the features and then the levels of the labels, rows in the given
    order. sums : which rows add up to each observation, or None. order : (n_observations,), of the
    observations in `rows`. box : per feature its range on the training rows, in its unit. grouped : whether
    cases are groups, rather than rows assigned at random. further_rows : the same observations, ordered by
    other groups, which are held out as well. all_rows : all observations, where `rows` are drawn from them.
    seeds : expressions that screening found, for the first
    generation.
    """

    features: tuple[FeatureSpec, ...]
    target: FeatureSpec
    settings: SearchSettings
    grammar: Grammar
    structure: Structure
    rows: Rows
    columns: NDArray[np.float64]
    sums: RowSums | None
    order: NDArray[np.int64]
    box: Mapping[str, tuple[float, float]]
    machine: Machine
    grouped: bool
    further_rows: tuple[Rows, ...] = ()
    all_rows: Rows | None = None
    seeds: tuple[Expression, ...] = ()

    @property
    def whole(self) -> "Problem":
        """The problem with all observations, in the division that comes first."""
        return self if self.all_rows is None else replace(self, rows=self.all_rows, further_rows=())

    @property
    def drawn_share(self) -> float:
        """Share of all observations to which the search fits."""
        return 1.0 if self.all_rows is None else self.rows.target.size / self.all_rows.target.size

    @property
    def affine(self) -> bool:
        """Whether trees are fitted with a linear wrapper (offset + slope).

        A typed tree is proportional to its weights already; sums over rows and templates take no offset.
        """
        return not self.settings.typed and self.sums is None and self.settings.template is None

    @property
    def case_count(self) -> int:
        """Number of groups of rows that count as cases."""
        return self.rows.group_weight.size

    @property
    def effective_rows(self) -> float:
        """Number of observations of equal weight that say as much as the weighted ones (Kish, 1965)."""
        return 1.0 / float(np.sum(self.rows.weight**2))

    def fit(
        self,
        trees: Sequence[Individual],
        steps: int,
        *,
        start: bool = True,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
    ) -> list[Individual]:
        """Return the trees with fitted constants, losses and cases; `start` sets the overall factor first."""
        return self.start_fit(trees, steps, LEAST_GAIN, start=start, held_out=held_out, skip=skip)()

    def start_fit(
        self,
        trees: Sequence[Individual],
        steps: int,
        least_gain: float,
        *,
        start: bool = True,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
        limits: NDArray[np.float64] | None = None,
    ) -> Callable[[], list[Individual]]:
        """Start a fit, in the background if possible, and return a function that waits for the trees.

        limits : as of `Machine.start_fit`.
        """
        programs = encode(trees, self.affine)
        further = self.further_rows if held_out else ()
        start_mode = (AFFINE if self.affine else RESCALE) if start else NOTHING
        result_of = self.machine.start_fit(
            programs, self.rows, steps=steps, least_gain=least_gain, start_mode=start_mode,
            held_out=held_out, skip=skip, limits=limits,
        )  # fmt: skip

        def fitted() -> list[Individual]:
            result = self._in_every_division(programs, result_of(), further)
            theta, edges = result.theta.tolist(), programs.constant_offsets.tolist()
            found = [
                with_fitted(tree, theta[begin:end], self.affine)
                for tree, begin, end in zip(trees, edges[:-1], edges[1:], strict=True)
            ]
            known = (result.losses.tolist(), result.cases, untidy(programs, result.theta).tolist())
            for tree, loss, cases, to_prune in zip(found, *known, strict=True):
                tree.loss, tree.cases, tree.untidy = loss, cases, to_prune
            # What was not reached in time stays as it is.
            return [old if math.isnan(new.loss) else new for old, new in zip(trees, found, strict=True)]

        return fitted

    def _in_every_division(self, programs: Programs, result: FitResult, further: Sequence[Rows]) -> FitResult:
        """Return the result with the held-out losses of the groups of all divisions side by side.

        Programs without such losses in the first division have none in the others.
        """
        there = programs._replace(theta=result.theta)
        limits = np.where(np.isfinite(result.cases).all(axis=1), math.inf, 0.0)
        cases = [
            self.machine.fit(there, rows, steps=0, held_out=True, limits=limits).cases for rows in further
        ]
        return replace(result, cases=np.hstack([result.cases, *cases]))

    def joint_loss(self, cases: NDArray[np.float64]) -> float:
        """Return the mean over divisions of held-out losses (n_cases,), infinite where one is.

        Within a division the losses are joined by their mean or their worst, as `held_out_measure` says.
        """
        ends = np.cumsum([self.case_count, *(rows.groups for rows in self.further_rows)])
        join = np.mean if self.settings.held_out_measure == "mean" else np.max
        joint = float(np.mean([join(part) for part in np.split(cases, ends[:-1])]))
        return joint if math.isfinite(joint) else math.inf


def make_problem(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    features: tuple[FeatureSpec, ...],
    target: FeatureSpec,
    settings: SearchSettings,
    *,
    groups: ArrayLike | None = None,
    further_groups: Sequence[ArrayLike] = (),
    sample_weight: NDArray[np.float64] | None = None,
    labels: Mapping[str, ArrayLike] | None = None,
    sums: RowSums | None = None,
) -> Problem:
    """Return the problem of `y` (n_observations,) from `X` (n_rows, n_features), in their units.

    groups : labels (n_observations,) or None. further_groups : more such labels, held out as well.
    sample_weight : (n_observations,), not negative, or None for ones. labels : per label of a grouped
    constant its values (n_rows,). sums : which rows add up to each observation; None where each row is one.
    Raises InputError where a relative loss meets a target that is not positive.
    """
    settings = settings.resolved(grouped=groups is not None)
    name = loss_name(settings, target, y)
    levels, level_columns = _levels(settings, labels, X.shape[0])
    # Columns of a small table are faster to read than the caller's rows; of a large one a copy is too much.
    columns = np.vstack([X.T, level_columns]) if levels or X.size < LARGE_TABLE else X.T
    weight = np.ones_like(y) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # Rows of weight zero must not even influence types, ranges or starting values.
    used = np.flatnonzero(weight > 0.0)
    y, weight = y[used], weight[used]
    divisions = _numbered([*([] if groups is None else [groups]), *further_groups], used)
    if sums is not None:
        sums = sums.of(used)
    else:
        columns = columns if used.size == columns.shape[1] else np.ascontiguousarray(columns[:, used])
        columns, y, divisions, weight = _merged(
            columns, y, divisions, weight, always=sample_weight is not None
        )
    case, weight = _cases(None if groups is None else divisions[0], weight, settings)
    cases = [case, *(_few(division) for division in divisions[groups is not None :])]
    rows_of = partial(
        _weighted_rows, columns, y, weight,
        loss=name, settings=settings, sums=sums, levels=_level_counts(levels, X.shape[1]),
    )  # fmt: skip
    drawn = _drawn(cases, settings) if sums is None else None
    rows, *further_rows = (rows_of(numbers, drawn) for numbers in cases)
    of_features = columns[: X.shape[1]]
    grammar = make_grammar(features, target, of_features, y, settings, levels=levels, sums=sums)
    box = {
        spec.name: (float(column.min()), float(column.max()))
        for spec, column in zip(features, of_features, strict=True)
    }
    problem = Problem(
        features, target, settings, grammar, make_structure(settings, grammar), rows, columns, sums,
        np.argsort(case, kind="stable"), box, Machine(settings.threads), groups is not None,
        tuple(further_rows), None if drawn is None else rows_of(case),
    )  # fmt: skip
    return _screened(problem, y) if problem.affine and not problem.grouped else problem


def _screened(problem: Problem, y: NDArray[np.float64]) -> Problem:
    """Return the problem with what screening finds for `y`, its values (n_rows,): seeds and blocks."""
    settings, grammar = problem.settings, problem.grammar
    offered = {leaf.feature for leaf in grammar.leaves(grammar.target)}
    some = slice(None, None, -(-y.size // SCREENED_ROWS))
    atoms = [
        quantity(Variable(spec.name), column[some])
        for spec, column in zip(problem.features, problem.columns, strict=False)
        if spec.name in offered and np.ptp(column[some]) > 0.0
    ]
    operators = settings.operators or UNTYPED_OPERATORS
    screened = screen(
        atoms, y[some], operators, settings.screening_share, settings.random_seed,
        SCREENED_SHARE * (settings.limit_seconds or math.inf),
    )  # fmt: skip
    found = (nodes_of(block, grammar.target, grammar) for block in screened.blocks)
    blocks = tuple(tuple(nodes) for nodes in found if nodes)
    return replace(problem, grammar=replace(grammar, blocks=blocks), seeds=screened.seeds)


def _numbered(divisions: Sequence[ArrayLike], used: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the group of each used observation, (n_divisions, n_used)."""
    found = [np.unique(np.asarray(labels)[used], return_inverse=True)[1] for labels in divisions]
    return np.array(found, dtype=np.int64).reshape(len(divisions), used.size)


def _levels(
    settings: SearchSettings, labels: Mapping[str, ArrayLike] | None, count: int
) -> tuple[dict[str, tuple[str, ...]], NDArray[np.float64]]:
    """Return the values of each label of a grouped constant, and their number in each row."""
    levels, numbers = {}, []
    for name in settings.grouped_constants:
        if labels is None or name not in labels:
            raise unknown_name("label of a grouped constant", name, list(labels or ()))
        values = np.asarray(labels[name]).astype(str)
        if values.shape != (count,):
            raise InputError(f"expected {count} values of the label {name!r}, got shape {values.shape}")
        known, number = np.unique(values, return_inverse=True)
        levels[name] = tuple(known.tolist())
        numbers.append(number.astype(np.float64))
    if sum(map(len, levels.values())) > MOST_LEVELS:
        raise InputError(f"expected at most {MOST_LEVELS} values of all labels of grouped constants together")
    return levels, np.array(numbers).reshape(len(numbers), count)


def _level_counts(levels: Mapping[str, tuple[str, ...]], features: int) -> NDArray[np.int64]:
    """Return how many levels each column has: 0 for a feature."""
    return np.array([0] * features + [len(values) for values in levels.values()], np.int64)


def _merged(
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    divisions: NDArray[np.int64],
    weight: NDArray[np.float64],
    *,
    always: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Return equal rows as one with the sum of their weights, so that a weight of two equals a row twice.

    divisions : number of the group of each row, (n_divisions, n_rows); equal rows share all. Rows then have a
    fixed order that depends only on their contents. Without weights (`always`) and without equal rows,
    everything is returned as it is.
    """
    keys = _hashes([*columns, y, *divisions])
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    same = (np.array_equal(column, column[first][owner]) for column in (*columns, y, *divisions))
    if first.size < y.size and not all(same):
        # Different rows share a hash: those that are equal are found by sorting.
        table = np.vstack([columns, y, divisions]) + 0.0
        _, first, owner = np.unique(table, axis=1, return_index=True, return_inverse=True)
    if not always and first.size == y.size:
        return columns, y, divisions, weight
    order = np.argsort(keys[first])
    first, owner = first[order], np.argsort(order)[owner.reshape(-1)]
    summed = np.bincount(owner, weights=weight).astype(np.float64)
    return np.ascontiguousarray(columns[:, first]), y[first], divisions[:, first], summed


def _hashes(columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row (n_rows,): an order by hashes is free of any trend in the data."""
    keys = np.zeros(columns[0].size, np.uint64)
    for column in columns:
        # Adding 0.0 turns -0.0 into 0.0, which is equal but has other bits.
        # Fibonacci hashing (Knuth, "The Art of Computer Programming", volume 3, 6.4).
        keys ^= (column + 0.0).view(np.uint64)
        keys *= np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys


def _cases(
    group: NDArray[np.int64] | None, weight: NDArray[np.float64], settings: SearchSettings
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the case of each observation, numbered from 0 without gaps, and weights that balance groups."""
    if group is None:
        return deal_rows(weight.size, settings.random_seed), weight
    counts = np.bincount(group, weights=weight)
    weight = weight * counts[group] ** -settings.group_weight_power
    return _few(group), weight


def _few(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return groups as cases, numbered from 0 without gaps; of many groups, some share one."""
    return np.unique(group % MOST_CASES, return_inverse=True)[1]


def _drawn(cases: Sequence[NDArray[np.int64]], settings: SearchSettings) -> NDArray[np.int64] | None:
    """Return the observations to which the search fits, ascending; None for all.

    cases : of each division the number of each observation's case, (n_observations,). Of observations with
    the same cases the same share is drawn, at least one.
    """
    count = cases[0].size
    wanted = settings.search_rows or count
    if count <= wanted:
        return None
    stratum = np.zeros(count, np.int64)
    for numbers in cases:
        stratum = np.unique(stratum * (int(numbers.max()) + 1) + numbers, return_inverse=True)[1]
    order = np.random.default_rng(settings.random_seed).permutation(count)
    order = order[np.argsort(stratum[order], kind="stable")]
    sizes = np.bincount(stratum)
    place = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    most = np.maximum(sizes * wanted // count, 1)
    return np.sort(order[place < np.repeat(most, sizes)])


def _weighted_rows(
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    case: NDArray[np.int64],
    drawn: NDArray[np.int64] | None = None,
    *,
    loss: str,
    settings: SearchSettings,
    sums: RowSums | None,
    levels: NDArray[np.int64],
) -> Rows:
    """Return the rows, or those `drawn`, with the loss in the form that the machine computes."""
    logarithmic, robust = LOSS_FORMS[loss]
    scale = np.full_like(y, 1.0 / (float(np.std(y)) or 1.0)) if loss == "squares" else 1.0 / y
    width = PERCENTAGE_WIDTH if loss == "absolute_percentage" else settings.loss_width
    if drawn is not None:
        columns, y, scale = columns[:, drawn], y[drawn], scale[drawn]
        weight, case = weight[drawn], case[drawn]
    return make_rows(
        columns, y, scale, weight, case, logarithmic=logarithmic, robust=robust, width=width, sums=sums,
        levels=levels,
    )  # fmt: skip


def loss_name(settings: SearchSettings, target: FeatureSpec, y: NDArray[np.float64]) -> str:
    """Return the loss, with "automatic" resolved.

    Raises InputError where a relative loss meets a target that is not positive.
    """
    positive = bool(np.all(y > 0.0))
    if settings.loss == "automatic":
        measured = settings.typed and not target.unit.is_dimensionless
        return "soft_l1_log" if measured and positive else "squares"
    if settings.loss != "squares" and not positive:
        raise InputError(
            f"expected a positive target for the loss {settings.loss!r}, got {y.min():g}: use loss='squares'"
        )
    return settings.loss


def deal_rows(count: int, seed: int) -> NDArray[np.int64]:
    """Return a case per row where there are no groups: equal shares at random."""
    cases = max(1, min(DEALT_CASES, count // 5))
    return np.random.default_rng(seed).permutation(np.arange(count) % cases)
