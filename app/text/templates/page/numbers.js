// Texts and elements of the page.
const quantity = (value, unit) => (unit === "s" ? duration(value) : `${shown(value)}${unit && ` ${unit}`}`);
const percent = (value) => `${value.toFixed(1)} %`;
const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
