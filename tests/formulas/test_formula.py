import numpy as np
import pandas as pd
import pytest
from trainlaw.formulas import (
    SCOPES,
    FeatureSpec,
    Formula,
    GroupedConstant,
    InputError,
    Unit,
    UnitError,
    UnknownNameError,
    parse_text,
    to_text,
)

COLUMNS = {
    "macs": [1e9, 2e9],
    "batch": [32, 512],
    "peak": [1e13, 0],
    "traffic": [1e9, 1e9],
    "bandwidth": [5e11, 5e11],
}


def grouped(law):
    return Formula(
        expression=parse_text("C[harness] * batch"),
        features=law.features,
        target=law.target,
        grouped=(GroupedConstant("C[harness]", "harness", {"a": 0.5, "b": 2.0}, 1.0),),
    )


def test_predicts_from_a_mapping_or_a_frame(law):
    expected = 6.12345 * 32 * 1e9 / 1e13 + 2.5 * 1e9 / 5e11 + 0.001
    for columns in (COLUMNS, pd.DataFrame(COLUMNS)):
        values = law.predict(columns)
        assert (
            values.dtype == np.float64
            and values[0] == pytest.approx(expected, rel=1e-15)
            and np.isnan(values[1])
        )


def test_grouped_constants(law):
    formula = grouped(law)
    labels = pd.DataFrame({"harness": ["a", "b", "new"]})
    assert formula.predict({"batch": [1, 1, 1]}, labels).tolist() == [0.5, 2.0, 1.0]
    assert formula.predict({"batch": [1, 1, 1]}).tolist() == [1.0, 1.0, 1.0]


def test_formula_without_features(law):
    constant = Formula(parse_text("3"), (), law.target)
    assert constant.predict({}).tolist() == [3] and constant.predict({"batch": [1, 2]}).tolist() == [3, 3]
    assert constant.predict({}, pd.DataFrame({"harness": ["a", "b"]})).tolist() == [3, 3]


def test_out_of_range(law):
    found = law.out_of_range({**COLUMNS, "macs": [np.nan, 2e9]})
    assert {name: flags.tolist() for name, flags in found.items()} == {
        "batch": [False, True],
        "macs": [True, False],
    }


def test_text_and_terms(law):
    assert law.text() == "6.12 * batch * macs / peak + 2.5 * traffic / bandwidth + 0.001"
    assert [to_text(term, 2) for term in law.terms()] == [
        "6.1 * batch * macs / peak",
        "2.5 * traffic / bandwidth",
        "0.001",
    ]


def test_missing_column(law):
    with pytest.raises(UnknownNameError, match="unknown column 'batch': did you mean 'batches'"):
        law.predict({"batches": [1], "macs": [1]})


def test_json_reads_back(law):
    for formula in (law, grouped(law)):
        assert Formula.from_json(formula.to_json()) == formula


def test_unknown_variable_and_double_name(law):
    with pytest.raises(UnknownNameError, match="variable of the formula"):
        Formula(parse_text("q"), law.features, law.target)
    with pytest.raises(UnknownNameError, match="feature with a range"):
        Formula(parse_text("1"), law.features, law.target, ranges={"q": (0, 1)})
    with pytest.raises(InputError, match="batch"):
        Formula(parse_text("1"), (law.features[1], law.features[1]), law.target)
    with pytest.raises(UnknownNameError, match="did you mean 'multi_gpu'"):
        Formula(parse_text("1"), law.features, law.target, scope="multi_gpus")
    assert [name for name, scope in SCOPES.items() if scope.part] == ["layer"]
    assert all(name == scope.name and scope.title for name, scope in SCOPES.items())


def test_json_feature_is_read_strictly(law):
    spec = law.features[0].to_json()
    for wrong in ({"unit": "parsec"}, {"low": "a"}, {"low": 3.0, "high": 2.0}, {"name": ""}, {"more": 1}):
        with pytest.raises((InputError, UnitError)):
            FeatureSpec.from_json({**spec, **wrong})
    for name in spec:
        with pytest.raises(InputError, match=name):
            FeatureSpec.from_json({key: value for key, value in spec.items() if key != name})
    assert FeatureSpec.from_json({**spec, "low": None}).low == -np.inf
    assert FeatureSpec("a", "a", Unit(), "").to_json()["high"] is None


def test_names_of_many_columns_are_looked_up_not_compared_with_each_other():
    class Name(str):
        compared = 0
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            Name.compared += 1
            return str.__eq__(self, other)

    seconds = Unit.parse("s")
    specs = tuple(FeatureSpec(Name(f"x{place}"), "x", seconds, "time") for place in range(500))
    ranges = {spec.name: (0.0, 1.0) for spec in specs}
    Name.compared = 0
    Formula(parse_text("x3 + x4"), specs, specs[0], ranges=ranges)
    assert Name.compared < 10 * len(specs)
