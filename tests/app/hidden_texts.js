// Texts of a drawing outside it, or over each other.
() => {
  const all = document.documentElement.getBoundingClientRect();
  const texts = [...document.querySelectorAll("text")].filter((each) => each.textContent.trim());
  const boxes = texts.map((each) => [each.textContent, each.getBoundingClientRect()]);
  const isOut = (box) => box.left < all.left - 1 || box.right > all.right + 1 || box.bottom > all.bottom + 1;
  const across = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const down = (one, other) => Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  const isOver = (one, other) => across(one, other) > 1 && down(one, other) > 3;
  return boxes.filter(([, box], place) =>
    isOut(box) || boxes.slice(place + 1).some(([, other]) => isOver(box, other))).map(([text]) => text);
}
