// Custom CNNs: the JSON that `trainlaw cnn show NAME --json` prints, checked number by number.
const EXPECTED = "expected the JSON that `trainlaw cnn show FILE --json` prints";
const NAMES_OF_CNN = ["cnn", "cnn_base", "input_size_px", "n_classes"];
const COUNTS = Object.keys(Object.values(CNNS)[0]).filter((name) => !NAMES_OF_CNN.includes(name));
const isText = (value) => typeof value === "string" && value.length > 0 && value.length <= 200;
const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isCount = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;
const entry = (record, name) => (isRecord(record) && Object.hasOwn(record, name) ? record[name] : undefined);
const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    throw new RangeError(`${EXPECTED}, got text that is no JSON`);
  }
};
// The row of a CNN; RangeError with one line where the text is anything else.
const customCnnOf = (text) => {
  const read = parsed(text);
  const isCnn = isText(entry(read, "cnn")) && isRecord(entry(read, "counts"));
  refuse(!isCnn, `${EXPECTED}, got JSON without “cnn” and “counts”`);
  for (const name of ["input_size_px", "n_classes"])
    refuse(!isWhole(entry(read, name), 1e9), `${EXPECTED}, got no whole number for “${name}”`);
  const countOf = (name) => entry(entry(read.counts, name), "value") ?? entry(entry(read, "memory"), name);
  const counts = COUNTS.map((name) => [name, countOf(name)]);
  for (const [name, value] of counts) refuse(!isCount(value), `${EXPECTED}, got no number of at least 0 for “${name}”`);
  const notes = entry(read, "notes");
  return {
    cnn: read.cnn,
    cnn_base: isText(entry(read, "cnn_base")) ? read.cnn_base : read.cnn,
    input_size_px: read.input_size_px,
    n_classes: read.n_classes,
    ...Object.fromEntries(counts),
    notes: Array.isArray(notes) ? notes.filter(isText).slice(0, 20) : [],
    memory_is_rough: entry(read, "memory_is_rough") === true,
    is_custom: true,
  };
};
const customLabel = ({ cnn, input_size_px, n_classes }) => `${cnn}, ${input_size_px} px, ${n_classes} classes (custom)`;
const readCustom = (text, file) => {
  const row = customCnnOf(text);
  CNNS[customLabel(row)] = row;
  field("cnn").value = customLabel(row);
  show();
  return `${row.cnn} was read from ${file}; it stays on this page and is not part of a link.`;
};
