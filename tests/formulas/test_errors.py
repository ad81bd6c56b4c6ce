import pytest
from trainlaw.formulas import InputError, MissingDependencyError, TrainlawError, UnitError, UnknownNameError
from trainlaw.formulas.errors import shown, unknown_name


@pytest.mark.parametrize(
    ("error", "standard"),
    [
        (InputError, ValueError),
        (UnknownNameError, LookupError),
        (UnitError, ValueError),
        (MissingDependencyError, ImportError),
    ],
)
def test_each_error_is_also_a_standard_one(error, standard):
    assert issubclass(error, TrainlawError) and issubclass(error, standard)


def test_unknown_name_suggests_near_names():
    assert "did you mean 'resnet50'?" in str(unknown_name("CNN", "resnet5", ["resnet50", "vgg16"]))


def test_unknown_name_lists_known_names_where_none_is_near():
    message = str(unknown_name("CNN", "qqq", [f"name{index}" for index in range(20)]))
    assert "name0, " in message and message.endswith("...")
    assert "known: none" in str(unknown_name("CNN", "qqq", []))


def test_shown_is_one_short_line():
    assert shown("a\nb" * 100) == repr("a\nb" * 100)[:57] + "..."
    assert "\n" not in shown({"a": "x\n" * 50})
