"""Pictures of the documentation, in a browser: no text is cut off, and what they show is of today."""

from pathlib import Path

import pytest

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"

# Texts of a drawing outside it, or over each other.
HIDDEN_TEXTS = """() => {
  const all = document.documentElement.getBoundingClientRect();
  const texts = [...document.querySelectorAll("text")].filter((each) => each.textContent.trim());
  const boxes = texts.map((each) => [each.textContent, each.getBoundingClientRect()]);
  const isOut = (box) => box.left < all.left - 1 || box.right > all.right + 1 || box.bottom > all.bottom + 1;
  const across = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const down = (one, other) => Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  const isOver = (one, other) => across(one, other) > 1 && down(one, other) > 3;
  return boxes.filter(([, box], place) =>
    isOut(box) || boxes.slice(place + 1).some(([, other]) => isOver(box, other))).map(([text]) => text);
}"""


@pytest.mark.parametrize("name", [path.name for path in PICTURES.glob("*.svg")])
def test_no_text_of_a_picture_is_cut_off_or_covered(name, opened):
    assert opened(PICTURES / name, height=1000).evaluate(HIDDEN_TEXTS) == []


def test_the_picture_of_scaling_is_of_the_present_defaults():
    picture = (PICTURES / "scaling.svg").read_text(encoding="utf-8")
    assert "infiniband" in picture and "ethernet" not in picture
