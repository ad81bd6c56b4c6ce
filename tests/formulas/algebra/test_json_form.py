import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import Apply, InputError
from trainlaw.formulas.algebra.expression import MAX_DEPTH
from trainlaw.formulas.algebra.json_form import from_json, to_json


def nested(levels):
    value = "x"
    for _ in range(levels):
        value = ["neg", value]
    return value


@given(st.from_type(Apply))
def test_reads_back(expression):
    assert from_json(json.loads(json.dumps(to_json(expression)))) == expression


def test_refuses_too_many_nodes():
    value = "x"
    for _ in range(14):
        value = ["add", value, value]
    with pytest.raises(InputError, match="10000 nodes"):
        from_json(value)


def test_as_many_levels_as_allowed_are_read():
    # The variable inside is a level, too.
    assert to_json(from_json(nested(MAX_DEPTH - 1))) == nested(MAX_DEPTH - 1)
    with pytest.raises(InputError, match=f"at most {MAX_DEPTH} nested levels"):
        from_json(nested(MAX_DEPTH))
