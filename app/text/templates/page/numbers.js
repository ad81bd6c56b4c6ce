// Numbers as the command prints them, and sentences with places for numbers.
const exponential = (value, digits) => {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return `${short}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
};
// Three significant digits, but every digit of the integer part.
const shown = (value, digits = 3) => {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "not defined";
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return exponential(value, digits);
  const decimals = size ? Math.max(0, digits - 1 - Math.floor(Math.log10(size))) : 0;
  return value.toLocaleString("en", { maximumFractionDigits: decimals, roundingMode: "halfEven" });
};
const STEPS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
];
const timeStep = (seconds) => STEPS.find(([size]) => Math.abs(seconds) >= size) ?? STEPS.at(-1);
const inUnit = (value, [size, unit]) => `${shown(value / size)} ${unit}`;
const duration = (seconds) => (Number.isFinite(seconds) ? inUnit(seconds, timeStep(seconds)) : "not defined");
const hourStep = (hours) => (hours < 100 ? [1, "h"] : [24, "d"]);
const hoursText = (hours) => (Number.isFinite(hours) ? inUnit(hours, hourStep(hours)) : "–");
// Both ends in the unit of their geometric mean, unless they differ by a factor of more than 1000.
const range = ([low, high], show, step) => {
  if (!(low > 0 && high <= 1000 * low)) return `${show(low)} to ${show(high)}`;
  const unit = step(Math.sqrt(low * high));
  return `${shown(low / unit[0])} to ${inUnit(high, unit)}`;
};
const durations = (ends) => (ends ? range(ends, duration, timeStep) : "no interval");
const quantity = (value, unit) => (unit === "s" ? duration(value) : `${shown(value)}${unit && ` ${unit}`}`);
const gigabytes = (size) => String(Number((size / 1e9).toPrecision(3)));
const percent = (value) => `${value.toFixed(1)} %`;
const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
const filled = (sentence, values) =>
  sentence.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole));

const field = (id) => document.getElementById(id);
const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
