"""Cell formulas without addresses: placeholders are as long as the longest address."""

from trainlaw.app.workbook.model import _placeholder


def test_placeholders_are_as_long_as_any_address():
    assert {len(_placeholder(kind, number)) for kind in ("name", "step") for number in (0, 999_999)} == {40}
    assert len("'Layer facts'!$XFD$1048576:$XFD$1048576") <= 40
