"""Names that are gone are answered with what stands in."""

import pytest
from trainlaw.app.inputs import retired
from trainlaw.app.inputs.retired import RETIRED, Retired

from tests.commands import refusal

_PLANTED = (
    Retired("command", "data forget", "use `trainlaw data show`"),
    Retired("option", "study --forget", "use --seed"),
    Retired("suffix", ".forgotten", "use .py"),
    Retired("formula", "forgotten", "use built-in"),
)
#: How a name of each kind is asked for; rooms test the others.
_ASKED = {
    "command": "{}",
    "option": "{}",
    "suffix": "export --out law{}",
    "program": "export --out law{}",
    "page": "export xeon-phi-a --out page.html",
    "formula": "show {}",
}


@pytest.mark.parametrize("row", [row for row in RETIRED if row.kind in _ASKED], ids=str)
def test_a_name_that_is_gone_is_answered_with_what_stands_in(row):
    assert refusal(_ASKED[row.kind].format(row.name)).endswith(f"{row.name} is gone: {row.instead}")


@pytest.mark.parametrize("row", _PLANTED, ids=str)
def test_a_new_row_is_answered(row, monkeypatch):
    monkeypatch.setattr(retired, "RETIRED", (row,))
    test_a_name_that_is_gone_is_answered_with_what_stands_in(row)


def test_an_option_of_another_command_is_not_gone(monkeypatch):
    monkeypatch.setattr(retired, "RETIRED", _PLANTED)
    assert "is gone" not in refusal("predict --cnn resnet50 --batch 0 --gpu T4")


@pytest.mark.parametrize(
    ("file", "export"), [("net.pt", "torch.onnx.export("), ("net.keras", "model.export(")]
)
def test_a_model_of_a_framework_is_answered_with_its_export(file, export):
    assert export in refusal(f"predict --cnn {file} --gpu T4 --batch 8")
