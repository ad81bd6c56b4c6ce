// Texts and elements of the page.
const quantity = (value, unit) => (unit === "s" ? duration(value) : `${shown(value)}${unit && ` ${unit}`}`);
const percent = (value) => `${value.toFixed(1)} %`;
const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

const field = (id) => document.getElementById(id);
const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
