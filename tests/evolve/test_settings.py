import inspect
from dataclasses import asdict, fields, replace

import pytest
from trainlaw.evolve.settings import (
    CHOICES,
    GROUPED_ROWS,
    LOSSES,
    TYPED_NODES,
    UNGROUPED_ISLANDS,
    UNGROUPED_ROWS,
    UNTYPED_NODES,
    Factor,
    SearchSettings,
)
from trainlaw.formulas import InputError, parse_text

from ..rows import each_row

NAN, INF = float("nan"), float("inf")


@each_row(
    "arguments",
    [
        {"evaluations": None, "limit_seconds": 1.0},
        {"constant_ranges": (("exponent", 0.5, 0.5),)},
        {"template": parse_text("hole")},
        *({"loss": loss} for loss in LOSSES),
        *({"choice": choice} for choice in CHOICES),
    ],
)
def test_known_values_are_accepted(arguments):
    assert {name: getattr(SearchSettings(**arguments), name) for name in arguments} == arguments
    assert Factor("clock", -0.5, -0.5, expected=-0.5).low == -0.5


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("population", 4, 1_000_000),
        ("islands", 1, 1_000),
        ("max_nodes", 1, 200),
        ("max_constants", 1, 60),
        ("threads", 1, 1_024),
    ],
)
def test_numbers_have_a_smallest_and_a_largest_value(name, least, most):
    for value in (least, most):
        assert getattr(SearchSettings(**{name: value}), name) == value
    for value in (least - 1, most + 1):
        with pytest.raises(InputError, match=f"{name} from {least} to {most}, got {value}"):
            SearchSettings(**{name: value})


def test_what_is_left_open_depends_on_units_and_groups():
    grouped = SearchSettings().resolved(grouped=True)
    assert (grouped.max_nodes, grouped.choice) == (TYPED_NODES, "one_standard_error")
    assert grouped.search_rows == GROUPED_ROWS
    untyped = SearchSettings(typed=False).resolved(grouped=False)
    assert (untyped.max_nodes, untyped.choice) == (UNTYPED_NODES, "description_length")
    assert (untyped.search_rows, untyped.islands, grouped.islands) == (UNGROUPED_ROWS, UNGROUPED_ISLANDS, 1)
    assert (SearchSettings().node_limit, SearchSettings(max_nodes=7).node_limit) == (60, 7)
    given = SearchSettings(typed=False, max_nodes=44, choice="loss", search_rows=2_000, islands=2)
    assert given.resolved(grouped=False) == given


def test_every_setting_is_documented():
    documented = inspect.getdoc(SearchSettings)
    assert all(f"\n{field.name} : " in documented for field in fields(SearchSettings))


def test_settings_are_equal_by_value():
    assert replace(SearchSettings(), population=50) == SearchSettings(population=50)
    assert hash(SearchSettings()) == hash(SearchSettings())


def test_defaults_are_fixed_as_they_decide_what_a_seed_gives():
    expected = {
        "operators": None,
        "typed": True,
        "nonnegative": True,
        "loss": "automatic",
        "loss_width": 0.25,
        "group_weight_power": 0.35,
        "evaluations": 100_000,
        "limit_seconds": None,
        "population": 300,
        "islands": None,
        "max_nodes": None,
        "max_constants": 24,
        "search_rows": None,
        "polish_steps": 60,
        "choice": "automatic",
        "template": None,
        "random_seed": 0,
        "threads": 1,
    }
    stored = asdict(SearchSettings())
    assert {name: value for name, value in stored.items() if value != ()} == expected


def test_names_may_be_one_text_and_operators_symbols():
    settings = SearchSettings(operators=["+", "**", "sqrt", "add"])
    assert settings.operators == ("add", "pow", "sqrt")
    assert SearchSettings(operators="*").operators == ("mul",)
