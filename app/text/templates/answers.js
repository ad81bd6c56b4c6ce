// Numbers as the command prints them. Three significant digits, but every digit of the integer part.
const exponential = (value, digits) => {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return `${short}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
};
// Rounded as Python does: what lies exactly in the middle goes to the even digit.
const rounded = (value, decimals) => {
  const exact = value.toFixed(decimals + 40);
  const down = exact.slice(0, -40).replace(/\.$/, "");
  return /^50*$/.test(exact.slice(-40)) && /[02468]$/.test(down) ? down : value.toFixed(decimals);
};
const shown = (value, digits = 3) => {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "not defined";
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return exponential(value, digits);
  const decimals = size ? Math.max(0, digits - 1 - Math.floor(Math.log10(size))) : 0;
  const [whole, part = ""] = rounded(value, decimals).split(".");
  const shortPart = part.replace(/0+$/, "");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (shortPart && `.${shortPart}`);
};
const STEPS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
];
const timeStep = (seconds) => STEPS.find(([size]) => Math.abs(seconds) >= size) ?? STEPS.at(-1);
const inUnit = (value, [size, unit]) => `${shown(value / size)} ${unit}`;
const duration = (seconds) => (Number.isFinite(seconds) ? inUnit(seconds, timeStep(seconds)) : "not defined");
const HOUR_STEPS = [
  [24, "d", 100],
  [1, "h", 1],
  [1 / 60, "min", 1 / 60],
];
const hourStep = (hours) => HOUR_STEPS.find(([, , least]) => hours >= least) ?? [1 / 3600, "s"];
const hoursText = (hours) => (Number.isFinite(hours) ? inUnit(hours, hourStep(hours)) : "–");
// Both ends in the unit of their geometric mean, unless they differ by a factor of more than 1000.
const range = ([low, high], show, step) => {
  if (!(low > 0 && high <= 1000 * low)) return `${show(low)} to ${show(high)}`;
  const unit = step(Math.sqrt(low * high));
  return `${shown(low / unit[0])} to ${inUnit(high, unit)}`;
};
const durations = (ends) => (ends ? range(ends, duration, timeStep) : "no interval");
const gigabytes = (size) => String(Number((size / 1e9).toPrecision(3)));
// By the style of a place in a sentence: one number, or the two ends of a range.
const difference = (ratio) => {
  const percent = Math.round(100 * Math.abs(ratio - 1));
  return percent ? `${shown(percent)} % ${ratio > 1 ? "longer" : "shorter"}` : "equal";
};
const STYLES = { number: shown, seconds: duration, hours: hoursText, gigabytes, whole: String, difference };
const RANGES = { seconds: durations, hours: (ends) => range(ends, hoursText, hourStep) };
const wordOf = (words, value) => words[Math.floor(value)] ?? "not known";
const filled = (sentence, values) =>
  sentence.replace(/\{(\w+)(?:,(\w+))?(?::(\w+))?\}/g, (place, one, other, style) => {
    if (other) return RANGES[style]([values[one], values[other]]);
    if (style) return STYLES[style](values[one]);
    const { words } = ANSWERS.find(({ name }) => name === one) ?? {};
    return words ? wordOf(words, values[one]) : String(values[one]);
  });
// The values of all rows over the quantities given, and the rows that are said; `rows` of another formula.
const answered = (given, rows = ANSWERS) => {
  const values = { ...given };
  const said = rows.filter(({ name, value, when, sentence }) => {
    if (value) values[name] = value(values);
    return sentence && (!when || when(values) > 0);
  });
  return { values, said };
};
// The sentences of a kind: "figure", "warning" or "note".
const sentencesOf = ({ values, said }, wanted) =>
  said.filter(({ kind }) => kind === wanted).flatMap(({ sentence }) => filled(sentence, values).split("\n"));
const quantity = (value, unit) => (unit === "s" ? duration(value) : `${shown(value)}${unit && ` ${unit}`}`);
const percent = (value) => `${value.toFixed(1)} %`;
const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
