"""What does not change during a search."""

from dataclasses import dataclass, replace
from typing import Literal

from trainlaw.formulas import OPERATORS, Expression, InputError
from trainlaw.formulas.errors import unknown_name

TYPED_OPERATORS = ("add", "mul", "div", "max", "pow", "exp")
UNTYPED_OPERATORS = ("add", "sub", "mul", "div", "sqrt", "square", "exp", "log", "sin", "cos")
LOSSES = (
    "automatic",
    "log_ratio",
    "soft_l1_log",
    "huber_log",
    "relative_squares",
    "absolute_percentage",
    "squares",
)
HELD_OUT_MEASURES = ("mean", "worst")
# Where no number of nodes is set: a law of times is a long sum of short terms, an equation is compact.
TYPED_NODES, UNTYPED_NODES = 60, 30
CONSTRAINT_KINDS = ("nonnegative", "rising", "falling")
CHOICES = ("automatic", "one_standard_error", "validation", "description_length", "loss")


@dataclass(frozen=True)
class Constraint:
    """What a law must keep over the whole training box, proved by interval arithmetic.

    kind : "nonnegative" of the law itself; "rising" never falls, "falling" never rises in `feature`.
    Raises UnknownNameError for another kind.

    >>> Constraint("rising", "compute_s").feature
    'compute_s'
    """

    kind: Literal["nonnegative", "rising", "falling"]
    feature: str = ""

    def __post_init__(self) -> None:
        """Check the kind."""
        if self.kind not in CONSTRAINT_KINDS:
            raise unknown_name("kind of constraint", self.kind, CONSTRAINT_KINDS)


@dataclass(frozen=True)
class SearchSettings:
    """Settings of one search; a search ends at `evaluations` fitted individuals or after `limit_seconds`.

    A budget of evaluations gives the same result on every machine load and for any number of threads; a
    limit in seconds does not. `operators` None takes those of the mode (typed or not). `loss` "automatic"
    is "soft_l1_log" for a target with a unit and positive values, else "squares"; `loss_width` is where a
    robust loss bends. `group_weight_power` p weighs each row by (rows of its group) ** -p: 0 every row
    the same, 1 every group. `simplify_interval` generations apart, simpler neighbours of the archive are
    tried (backward elimination). `shrinkage` pulls exponents and dimensionless constants towards zero in
    typed mode, `nonnegative` keeps weights of amounts from falling below it. `held_out_selection` lets
    individuals survive by their loss on groups left out, the "mean" or the "worst" of them
    (`held_out_measure`). `checkpoint` names a file from which an
    interrupted search goes on, written every `checkpoint_seconds`. `choice` picks the one formula from
    the front (`CHOICES`); "automatic" is "one_standard_error" over groups left out, and without groups, where
    nothing has to transfer, "description_length". `max_nodes` None is 60 in typed mode, else 30.

    Structure given by the user: `seeds` start the search. `template` is a law with holes, variables called
    `hole`, `hole_1` and so on: only what stands in a hole evolves, and the template's constants are fitted.
    `nesting_limits` are triples (outer operator, inner operator, how often at most the inner one occurs
    inside the outer one). `constant_ranges` are triples (feature whose weight is meant, or "number",
    "exponent", "overhead"; low; high). `required_features` occur in every formula offered,
    `forbidden_features` in none. `constraints` are proved for every formula offered. `grouped_constants`
    names labels (given to `fit`) of which a law may have one factor per value, shrunk towards one by
    `group_shrinkage`; a value that was not trained on gets one. Raises InputError or UnknownNameError when a
    value makes no sense.
    """

    operators: tuple[str, ...] | None = None
    typed: bool = True
    nonnegative: bool = True
    loss: str = "automatic"
    loss_width: float = 0.25
    group_weight_power: float = 0.35
    evaluations: int | None = 50_000
    limit_seconds: float | None = None
    population: int = 300
    islands: int = 1
    migration_interval: int = 20
    simplify_interval: int = 10
    max_nodes: int | None = None
    max_constants: int = 24
    fit_steps: int = 5
    polish_steps: int = 60
    held_out_selection: bool = True
    held_out_measure: str = "mean"
    choice: str = "automatic"
    exponent_limit: float = 2.0
    shrinkage: float = 1e-3
    required_features: tuple[str, ...] = ()
    forbidden_features: tuple[str, ...] = ()
    seeds: tuple[Expression, ...] = ()
    template: Expression | None = None
    nesting_limits: tuple[tuple[str, str, int], ...] = ()
    constant_ranges: tuple[tuple[str, float, float], ...] = ()
    constraints: tuple[Constraint, ...] = ()
    grouped_constants: tuple[str, ...] = ()
    group_shrinkage: float = 1e-3
    random_seed: int = 0
    threads: int = 1
    checkpoint: str | None = None
    checkpoint_seconds: float = 10.0

    def __post_init__(self) -> None:
        """Check the settings that a slip would turn into a strange search."""
        nested = [name for outer, inner, _ in self.nesting_limits for name in (outer, inner)]
        for name in (*(self.operators or ()), *nested):
            if name not in OPERATORS:
                raise unknown_name("operator", name, OPERATORS)
        if self.loss not in LOSSES:
            raise unknown_name("loss", self.loss, LOSSES)
        if self.held_out_measure not in HELD_OUT_MEASURES:
            raise unknown_name("measure of held-out losses", self.held_out_measure, HELD_OUT_MEASURES)
        if self.choice not in CHOICES:
            raise unknown_name("choice", self.choice, CHOICES)
        for name, low, high in self.constant_ranges:
            if not low <= high:
                raise InputError(f"expected low <= high as range of {name!r}, got {low} and {high}")
        if self.evaluations is None and self.limit_seconds is None:
            raise InputError("expected a budget, got none: set evaluations or limit_seconds")
        if self.max_nodes is not None and not 1 <= self.max_nodes <= 200:
            raise InputError(f"expected max_nodes from 1 to 200, got {self.max_nodes}")
        for name, low, high in (
            ("population", 4, 1_000_000),
            ("islands", 1, 1_000),
            ("max_constants", 1, 60),
            ("fit_steps", 0, 10_000),
            ("threads", 1, 1_024),
        ):
            if not low <= getattr(self, name) <= high:
                raise InputError(f"expected {name} from {low} to {high}, got {getattr(self, name)}")

    def resolved(self, *, grouped: bool) -> "SearchSettings":
        """The settings with what was left open decided, for rows with or without groups.

        >>> SearchSettings().resolved(grouped=False).choice
        'description_length'
        """
        nodes = TYPED_NODES if self.typed else UNTYPED_NODES
        choice = "one_standard_error" if grouped else "description_length"
        return replace(
            self,
            max_nodes=nodes if self.max_nodes is None else self.max_nodes,
            choice=choice if self.choice == "automatic" else self.choice,
        )
