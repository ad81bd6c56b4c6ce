// Contrast of every text that is seen, by WCAG 2 (relative luminance); axe leaves many open.
() => {
  const parts = colour => colour.match(/[\d.]+/g).map(Number);
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = item => {
    const colour = parts(getComputedStyle(item).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
    return item.parentElement ? ground(item.parentElement) : [255, 255, 255];
  };
  const found = [];
  for (const item of document.querySelectorAll("body *")) {
    const own = [...item.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !item.checkVisibility() || ["SCRIPT", "OPTION"].includes(item.tagName)) continue;
    const both = [light(parts(getComputedStyle(item).color)), light(ground(item))];
    found.push([(Math.max(...both) + 0.05) / (Math.min(...both) + 0.05), item.outerHTML.slice(0, 80)]);
  }
  return found;
}
