"""Pictures of the documentation, in a browser: no text is cut off, and what they show is of today."""

from pathlib import Path

import pytest

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
HIDDEN_TEXTS = Path(__file__).with_name("hidden_texts.js").read_text("utf-8")


@pytest.mark.parametrize("name", [path.name for path in PICTURES.glob("*.svg")])
def test_no_text_of_a_picture_is_cut_off_or_covered(name, opened):
    assert opened(PICTURES / name, height=1000).evaluate(HIDDEN_TEXTS) == []


def test_the_picture_of_scaling_is_of_the_present_defaults():
    picture = (PICTURES / "scaling.svg").read_text(encoding="utf-8")
    assert "infiniband" in picture and "ethernet" not in picture
