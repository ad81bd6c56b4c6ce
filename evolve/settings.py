"""Settings of a search: everything that does not change while it runs."""

import math
from dataclasses import dataclass, replace
from numbers import Real

from trainlaw.formulas import OPERATORS, Expression, InputError
from trainlaw.formulas.algebra.text import INFIX
from trainlaw.formulas.errors import check_name, unknown_name

TYPED_OPERATORS = ("add", "mul", "div", "max", "pow", "exp")
UNTYPED_OPERATORS = ("add", "sub", "mul", "div", "sqrt", "square", "exp", "log", "sin", "cos")
# A formula of times is a long sum of short terms, an equation is compact: largest numbers of nodes.
TYPED_NODES, UNTYPED_NODES = 60, 30
LOSSES = (
    "automatic",
    "log_ratio",
    "soft_l1_log",
    "huber_log",
    "relative_squares",
    "absolute_percentage",
    "squares",
)
# Defaults of `search_rows`, with groups and without.
GROUPED_ROWS, UNGROUPED_ROWS = 65_536, 16_384
# Of four populations one at least finds 2.5 cos(a) + b^2 / c, of one two in three do (seeds 0 to 4).
UNGROUPED_ISLANDS = 4
POWER, EXPONENTIAL = "power", "exponential"
CHOICES = ("automatic", "one_standard_error", "description_length", "loss")

# Range of each number, where None is no number. 200 nodes and 60 constants fit into the machine's scratch
# (`machine/arrays.py`); the other ends only catch slips.
_LIMITS: dict[str, tuple[float, float]] = {
    "loss_width": (1e-6, 1e6),
    "group_weight_power": (0.0, 1.0),
    "evaluations": (1, math.inf),
    "limit_seconds": (0.0, math.inf),
    "population": (4, 1_000_000),
    "islands": (1, 1_000),
    "max_nodes": (1, 200),
    "max_constants": (1, 60),
    "search_rows": (1_000, 2**40),
    "polish_steps": (0, 10_000),
    "threads": (1, 1_024),
}
# Names that a setting may have, with the word for one of them.
_NAMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "operators": ("operator", tuple(OPERATORS)),
    "loss": ("loss", LOSSES),
    "choice": ("choice", CHOICES),
}


@dataclass(frozen=True)
class Factor:
    """A factor of a sum of times: feature ** c, or exp(c * feature), of a pure number.

    Parameters
    ----------
    feature : str
        Name of a dimensionless feature; positive on every row for a power.
    low, high : float
        Bounds of the exponent c.
    expected : float
        Value of c that is expected before any row is seen.
    kind : {"power", "exponential"}
        Form of the factor; "exponential" suits a feature that is 0 or 1.

    Raises
    ------
    UnknownNameError
        If `kind` is not one of the two.
    InputError
        If `expected` is not between `low` and `high`.

    Examples
    --------
    >>> Factor("clock_ratio", -1.0, 0.0, expected=-0.5).kind
    'power'
    """

    feature: str
    low: float
    high: float
    expected: float
    kind: str = POWER

    def __post_init__(self) -> None:
        """Check kind and bounds."""
        if self.kind not in (POWER, EXPONENTIAL):
            raise unknown_name("kind of factor", self.kind, (POWER, EXPONENTIAL))
        if not self.low <= self.expected <= self.high:
            raise InputError(
                f"expected low <= expected <= high for the factor of {self.feature}, "
                f"got {self.low}, {self.expected}, {self.high}"
            )


# One flat list rather than nested groups: settings are stored field by field in the provenance of every
# formula, and are given as keywords. The comments between the fields are the groups.
@dataclass(frozen=True)
class SearchSettings:
    """Settings of one search, which do not change while it runs.

    A budget in `evaluations` gives the same result on any machine and for any number of threads; a budget in
    `limit_seconds` does not.

    Parameters
    ----------
    operators : tuple of str, optional
        Names of the operators, or symbols such as "+"; by default `TYPED_OPERATORS` or `UNTYPED_OPERATORS`.
    typed : bool
        Whether units are types, so that only formulas with the target's unit exist, and numbers are pulled
        towards zero; otherwise any formula exists.
    nonnegative : bool
        Whether the weights of amounts (times, work, bytes) must not be negative.
    loss : str
        One of `LOSSES`; "automatic" is "soft_l1_log" for positive targets with a unit, otherwise "squares".
    loss_width : float
        Residual at which a robust loss changes from quadratic to linear.
    group_weight_power : float
        Each row is weighted by (rows in its group) ** -power: 0 weights rows equally, 1 groups.
    evaluations : int, optional
        Budget of fitted individuals; None means no such limit.
    limit_seconds : float, optional
        Wall-clock limit in seconds, without the compilation of the engine on its first use; None means no
        such limit.
    population : int
        Individuals per island.
    islands : int, optional
        Number of populations; by default 1 with groups, which keep formulas of different kinds, otherwise 4.
    max_nodes : int, optional
        Largest number of nodes of a tree; by default 60 with units, otherwise 30.
    max_constants : int
        Largest number of fitted constants of a tree.
    search_rows : int, optional
        Rows to which formulas are fitted during the search; of more rows, as many are drawn at random, from
        each group its share. The constants of the formulas that are offered are fitted to all rows. By
        default 16,384, or 65,536 with groups, of which some may be small.
    polish_steps : int
        Levenberg-Marquardt steps for each formula that is offered.
    choice : str
        Rule that chooses one formula from the front, one of `CHOICES`; "automatic" is "one_standard_error"
        over held-out groups, or "description_length" without groups, where nothing has to transfer.
    seeds : tuple of Expression
        Expressions in the first generation.
    template : Expression, optional
        Expression with holes, which are variables called `hole`, `hole_1`, and so on: only the holes evolve,
        and the template's constants are fitted.
    nesting_limits : tuple of (str, str, int)
        Outer operator, inner operator, and how often the inner one may occur inside the outer one.
    constant_ranges : tuple of (str, float, float)
        Feature whose weight is meant (or "number", "exponent", "overhead"), lowest and highest value.
    random_seed : int
        Seed of all random draws.
    threads : int
        Threads that fit constants; the result does not depend on it.

    Raises
    ------
    UnknownNameError
        If an operator, a loss or a choice is unknown.
    InputError
        If a value is outside its range, or there is no budget.
    """

    # Grammar and loss.
    operators: tuple[str, ...] | None = None
    typed: bool = True
    nonnegative: bool = True
    loss: str = "automatic"
    loss_width: float = 0.25
    group_weight_power: float = 0.35
    # Budget.
    # With half as many, seeds 0 and 1 miss 2.5 cos(a) + b^2 / c on 300 rows.
    evaluations: int | None = 100_000
    limit_seconds: float | None = None
    # Populations and sizes.
    population: int = 300
    islands: int | None = None
    max_nodes: int | None = None
    max_constants: int = 24
    # Fits of the constants.
    search_rows: int | None = None
    polish_steps: int = 60
    # Selection.
    choice: str = "automatic"
    # Structure required by the user.
    seeds: tuple[Expression, ...] = ()
    template: Expression | None = None
    nesting_limits: tuple[tuple[str, str, int], ...] = ()
    constant_ranges: tuple[tuple[str, float, float], ...] = ()
    # Execution.
    random_seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        """Check the settings by the tables of their names and limits, and those that depend on others."""
        if self.operators:
            listed = (self.operators,) if isinstance(self.operators, str) else self.operators
            named = dict.fromkeys(INFIX.get(name, name) for name in listed)
            object.__setattr__(self, "operators", tuple(named))
        for name, (kind, known) in _NAMES.items():
            value = getattr(self, name)
            for given in (value,) if isinstance(value, str) else value or ():
                if given not in known:
                    raise unknown_name(kind, given, known)
        for name, (least, most) in _LIMITS.items():
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and least <= float(value) <= most):
                wanted = f"from {least} to {most}" if most < math.inf else f"of at least {least}"
                raise InputError(f"expected {name} {wanted}, got {value!r}")
        for outer, inner, _ in self.nesting_limits:
            for name in (outer, inner):
                check_name("operator", name, OPERATORS)
        for name, low, high in self.constant_ranges:
            if not low <= high:
                raise InputError(f"expected low <= high as range of {name!r}, got {low} and {high}")
        if self.evaluations is None and self.limit_seconds is None:
            raise InputError("expected a budget, got none: set evaluations or limit_seconds")

    @property
    def node_limit(self) -> int:
        """Largest number of nodes of a tree, with the default for units or none."""
        return self.max_nodes or (TYPED_NODES if self.typed else UNTYPED_NODES)

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of the operators, with the default for units or none."""
        return self.operators or (TYPED_OPERATORS if self.typed else UNTYPED_OPERATORS)

    def resolved(self, *, grouped: bool) -> "SearchSettings":
        """Return the settings with `max_nodes`, `search_rows`, `islands` and `choice` decided.

        grouped : whether the rows have group labels.

        >>> SearchSettings().resolved(grouped=False).choice
        'description_length'
        """
        automatic = "one_standard_error" if grouped else "description_length"
        choice = automatic if self.choice == "automatic" else self.choice
        rows = self.search_rows or (GROUPED_ROWS if grouped else UNGROUPED_ROWS)
        islands = self.islands or (1 if grouped else UNGROUPED_ISLANDS)
        return replace(self, max_nodes=self.node_limit, search_rows=rows, islands=islands, choice=choice)
