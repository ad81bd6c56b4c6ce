import inspect
from dataclasses import asdict, fields, replace

import pytest
from trainlaw.evolve.settings import (
    CHOICES,
    CONSTRAINT_KINDS,
    GROUPED_ROWS,
    LOSSES,
    TYPED,
    UNGROUPED_ROWS,
    UNTYPED,
    Bracket,
    Constraint,
    Factor,
    SearchSettings,
)
from trainlaw.formulas import InputError, UnknownNameError, parse_text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"operators": ("add", "plus")}, "plus"),
        ({"nesting_limits": (("max", "ad", 0),)}, "'add'"),
        ({"nesting_limits": (("maxi", "add", 0),)}, "maxi"),
        ({"loss": "l2"}, "l2"),
        ({"choice": "best"}, "best"),
        ({"held_out_measure": "median"}, "mean"),
    ],
)
def test_unknown_names_are_refused_with_near_ones(arguments, message):
    with pytest.raises(UnknownNameError, match=message):
        SearchSettings(**arguments)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("population", 4, 1_000_000),
        ("islands", 1, 1_000),
        ("max_nodes", 1, 200),
        ("max_constants", 1, 60),
        ("fit_steps", 0, 10_000),
        ("threads", 1, 1_024),
    ],
)
def test_numbers_have_a_smallest_and_a_largest_value(name, least, most):
    for value in (least, most):
        assert getattr(SearchSettings(**{name: value}), name) == value
    for value in (least - 1, most + 1):
        with pytest.raises(InputError, match=f"{name} from {least} to {most}, got {value}"):
            SearchSettings(**{name: value})


def test_a_search_needs_a_budget():
    with pytest.raises(InputError, match="budget"):
        SearchSettings(evaluations=None)
    assert SearchSettings(evaluations=None, limit_seconds=1.0).limit_seconds == 1.0


def test_ranges_of_constants_rise():
    assert SearchSettings(constant_ranges=(("exponent", 0.5, 0.5),)).constant_ranges
    with pytest.raises(InputError, match="low <= high"):
        SearchSettings(constant_ranges=(("exponent", 0.5, 0.4),))


@pytest.mark.parametrize("kind", CONSTRAINT_KINDS)
def test_known_kinds_of_constraint_are_accepted(kind):
    assert Constraint(kind, "compute_s").kind == kind


def test_unknown_kinds_of_constraint_are_refused():
    with pytest.raises(UnknownNameError, match="rising"):
        Constraint("raising", "compute_s")


@pytest.mark.parametrize(("name", "values"), [("loss", LOSSES), ("choice", CHOICES)])
def test_every_listed_value_is_accepted(name, values):
    for value in values:
        assert getattr(SearchSettings(**{name: value}), name) == value


def test_what_is_left_open_depends_on_units_and_groups():
    grouped = SearchSettings().resolved(grouped=True)
    assert (grouped.max_nodes, grouped.choice) == (TYPED.max_nodes, "one_standard_error")
    assert grouped.search_rows == GROUPED_ROWS
    untyped = SearchSettings(typed=False).resolved(grouped=False)
    assert (untyped.max_nodes, untyped.choice) == (UNTYPED.max_nodes, "description_length")
    assert untyped.search_rows == UNGROUPED_ROWS
    given = SearchSettings(typed=False, max_nodes=44, choice="loss", search_rows=2_000)
    assert given.resolved(grouped=False) == given


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [({}, 60), ({"typed": False}, 30), ({"max_nodes": 7}, 7), ({"max_nodes": 200}, 200)],
)
def test_the_node_limit_has_a_default_of_the_mode(arguments, limit):
    assert SearchSettings(**arguments).node_limit == limit
    assert SearchSettings(**arguments).resolved(grouped=True).node_limit == limit


def test_settings_are_stored_field_by_field_in_a_fixed_order():
    # Formula files contain this list: a new setting is added, none is renamed.
    names = [field.name for field in fields(SearchSettings)]
    assert list(asdict(SearchSettings())) == names
    assert names[:6] == ["operators", "typed", "nonnegative", "loss", "loss_width", "group_weight_power"]
    assert names[-4:] == ["random_seed", "threads", "checkpoint", "checkpoint_seconds"]
    assert len(names) == 40


def test_every_setting_is_documented():
    documented = inspect.getdoc(SearchSettings)
    assert all(f"\n{field.name} : " in documented for field in fields(SearchSettings))


def test_settings_are_equal_by_value():
    assert replace(SearchSettings(), population=50) == SearchSettings(population=50)
    assert hash(SearchSettings()) == hash(SearchSettings())


def test_defaults_are_fixed_as_they_decide_what_a_seed_gives():
    expected = {
        "operators": None, "typed": True, "nonnegative": True, "loss": "automatic", "loss_width": 0.25,
        "group_weight_power": 0.35, "evaluations": 50_000, "limit_seconds": None, "population": 300,
        "islands": 1, "migration_interval": 20, "simplify_interval": 10, "max_nodes": None,
        "max_constants": 24, "screening": 5_000, "select_features": None, "search_rows": None,
        "fit_steps": 5, "polish_steps": 60, "held_out_selection": True,
        "held_out_measure": "mean", "choice": "automatic", "exponent_limit": 2.0, "shrinkage": 1e-3,
        "prior_weight": 2e-3, "template": None, "group_shrinkage": 1e-3, "random_seed": 0, "threads": 1,
        "checkpoint": None, "checkpoint_seconds": 10.0,
    }  # fmt: skip
    stored = asdict(SearchSettings())
    assert {name: value for name, value in stored.items() if value != ()} == expected


@pytest.mark.parametrize(
    "bounds", [(-1.0, 0.0, 0.5), (-1.0, 0.0, -2.0), (1.0, 0.0, 0.5), (0.0, 1.0, float("nan"))]
)
def test_the_expected_exponent_of_a_factor_lies_between_its_bounds(bounds):
    low, high, expected = bounds
    with pytest.raises(InputError, match="low <= expected <= high for the factor of clock_ratio"):
        Factor("clock_ratio", low, high, expected=expected)


def test_a_factor_may_be_fixed_by_equal_bounds():
    assert Factor("clock_ratio", -0.5, -0.5, expected=-0.5).low == -0.5


def test_unknown_kinds_of_factor_are_refused():
    with pytest.raises(UnknownNameError, match=r"kind of factor.*exponential"):
        Factor("is_amd", 0.0, 1.0, expected=0.5, kind="exponental")


@pytest.mark.parametrize("expected", [0.0, -1.0, float("inf"), float("nan")])
def test_expected_weights_are_positive(expected):
    with pytest.raises(InputError, match=f"a weight above 0 for host_s in 'hole', got {expected}"):
        Bracket("hole", (("host_s", expected),))


def test_a_bracket_has_a_term():
    with pytest.raises(InputError, match="at least one term"):
        Bracket("hole", ())


def test_required_features_of_a_bracket_are_in_it():
    factor = Factor("is_amd", 0.0, 1.0, expected=0.5)
    assert Bracket("hole", (("host_s", 1.0),), (factor,), ("is_amd", "host_s")).required
    with pytest.raises(UnknownNameError, match="term or factor of the bracket 'hole'"):
        Bracket("hole", (("host_s", 1.0),), (factor,), ("is_ambd",))


def test_brackets_need_a_template_and_a_prior_that_pulls():
    brackets = (Bracket("hole", (("host_s", 1.0),)),)
    assert SearchSettings(template=parse_text("hole"), brackets=brackets).brackets == brackets
    with pytest.raises(InputError, match="template with the holes"):
        SearchSettings(brackets=brackets)
    for weight in (-1e-3, float("nan"), float("inf")):
        with pytest.raises(InputError, match="prior_weight"):
            SearchSettings(prior_weight=weight)
