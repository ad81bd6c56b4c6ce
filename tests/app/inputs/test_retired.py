"""Names that are gone are answered with what stands in."""

import pytest
from trainlaw.app.inputs import retired

from tests.commands import refusal

_ROWS = [
    (kind, name, instead) for kind, rows in retired.gone_names().items() for name, instead in rows.items()
]
_PLANTED = {
    "command": {"data forget": "use `trainlaw data show`"},
    "option": {"study --forget": "use --seed"},
    "suffix": {".forgotten": "use .py"},
    "formula": {"forgotten": "use built-in"},
}
#: How a name of each kind is asked for; rooms test the others.
_ASKED = {
    "command": "{}",
    "option": "{}",
    "suffix": "export --out law{}",
    "program": "export --out law{}",
    "page": "export xeon-phi-a --out page.html",
    "formula": "show {}",
}


@pytest.mark.parametrize("row", [row for row in _ROWS if row[0] in _ASKED], ids=str)
def test_a_name_that_is_gone_is_answered_with_what_stands_in(row):
    kind, name, instead = row
    assert refusal(_ASKED[kind].format(name)).endswith(f"{name} is gone: {instead}")


@pytest.mark.parametrize("kind", _PLANTED)
def test_a_new_row_is_answered(kind, monkeypatch):
    monkeypatch.setattr(retired, "gone_names", lambda: _PLANTED)
    for name, instead in _PLANTED[kind].items():
        test_a_name_that_is_gone_is_answered_with_what_stands_in((kind, name, instead))


def test_an_option_of_another_command_is_not_gone(monkeypatch):
    monkeypatch.setattr(retired, "gone_names", lambda: _PLANTED)
    assert "is gone" not in refusal("predict --cnn resnet50 --batch 0 --gpu T4")


@pytest.mark.parametrize(
    ("file", "export"), [("net.pt", "torch.onnx.export("), ("net.keras", "model.export(")]
)
def test_a_model_of_a_framework_is_answered_with_its_export(file, export):
    assert export in refusal(f"predict --cnn {file} --gpu T4 --batch 8")
