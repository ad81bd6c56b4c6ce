// Your own runs: a dropped or chosen spreadsheet (CSV or xlsx) is read here and calibrates the answer.
const MOST_UNPACKED = 2e7;
const MOST_RUNS = 2000;
const [MOST_OFF, RUNS_OF_PRIOR] = [2, 0.7]; // as `trainlaw data import` and `trainlaw calibrate` have them
let ownRuns = [];

// The factor of a GPU and precision: of its runs, or of all where there are none; few runs shrink it.
const ownFactor = (gpu, precision) => {
  const own = ownRuns.filter((run) => run.gpu === gpu && run.precision === precision);
  const used = own.length ? own : ownRuns;
  const mean = used.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / (used.length + RUNS_OF_PRIOR);
  return { factor: Math.exp(mean), used, isOwn: own.length > 0 };
};

// CSV: rows of texts, by the separator whose rows have a heading with the most columns.
const csvRows = (text, separator) => {
  const rows = [[""]];
  let isQuoted = false;
  for (const [place, letter] of [...text].entries()) {
    const row = rows.at(-1);
    if (letter === '"') {
      if (!isQuoted && text[place - 1] === '"') row.push(`${row.pop()}"`);
      isQuoted = !isQuoted;
    } else if (!isQuoted && letter === separator) row.push("");
    else if (!isQuoted && letter === "\n") rows.push([""]);
    else if (letter !== "\r") row.push(row.pop() + letter);
  }
  return rows;
};
const textOf = (bytes) => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
};
// xlsx: a zip of XML files, of which the first sheet is read.
const unzipped = async (bytes, start, size, method) => {
  const packed = new Blob([bytes.subarray(start, start + size)]);
  if (method === 0) return textOf(new Uint8Array(await packed.arrayBuffer()));
  const reader = packed.stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let total = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    total += part.value.length;
    if (total > MOST_UNPACKED) throw new RangeError("the workbook is too large");
  }
  return new Blob(parts).text();
};
const zipFiles = (bytes) => {
  const view = new DataView(bytes.buffer);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new RangeError("the file is no workbook");
  let at = view.getUint32(end + 16, true);
  const files = {};
  for (let count = view.getUint16(end + 10, true); count > 0; count--) {
    const [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const [local, size, method] = [view.getUint32(at + 42, true), view.getUint32(at + 20, true), view.getUint16(at + 10, true)];
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    files[textOf(bytes.subarray(at + 46, at + 46 + name))] = () => unzipped(bytes, start, size, method);
    at += 46 + name + extra + comment;
  }
  return files;
};
const columnNumber = (place) => [...place.replace(/\d/g, "")].reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 64, 0) - 1;
const xlsxRows = async (bytes) => {
  const files = zipFiles(bytes);
  const xml = async (name) =>
    new DOMParser().parseFromString(files[name] ? await files[name]() : "<none/>", "application/xml");
  const all = (node, tag) => [...node.getElementsByTagNameNS("*", tag)];
  const textIn = (node) => all(node, "t").map((part) => part.textContent).join("");
  const shared = all(await xml("xl/sharedStrings.xml"), "si").map(textIn);
  const first = all(await xml("xl/workbook.xml"), "sheet")[0]?.getAttribute("r:id");
  const link = all(await xml("xl/_rels/workbook.xml.rels"), "Relationship").find((one) => one.getAttribute("Id") === first);
  const target = link?.getAttribute("Target") ?? "worksheets/sheet1.xml";
  const rows = [];
  for (const cell of all(await xml(target.startsWith("/") ? target.slice(1) : `xl/${target}`), "c")) {
    const [place, kind] = [cell.getAttribute("r") ?? "", cell.getAttribute("t")];
    const value = all(cell, "v")[0]?.textContent ?? "";
    const number = Number(place.replace(/\D/g, "")) - 1;
    if (!(number >= 0 && number < 1e5 && columnNumber(place) < 500)) throw new RangeError("the sheet is too large");
    const text = kind === "s" ? shared[Number(value)] : kind === "inlineStr" ? textIn(cell) : value;
    (rows[number] ??= [])[columnNumber(place)] = kind || !value ? (text ?? "") : Number(value);
  }
  return Array.from(rows, (row) => Array.from(row ?? [], (cell) => cell ?? ""));
};

// Names: the same letters without the maker's, or the only one that contains all words.
const lettersOf = (text) => text.toLowerCase().replace(/nvidia|tesla|geforce|quadro|amd|radeon|instinct|intel/g, "").replace(/[^a-z0-9]/g, "");
const tokensOf = (text) => text.toLowerCase().split(/[^a-z0-9]+/).filter((word) => word && lettersOf(word));
const gpusNamed = (text) => {
  if (!/[a-z]/i.test(text)) return [];
  const same = Object.keys(GPUS).filter((name) => lettersOf(name) === lettersOf(text));
  const words = tokensOf(text);
  return same.length || !words.length ? same : Object.keys(GPUS).filter((name) => words.every((word) => tokensOf(name).includes(word)));
};
const cnnsNamed = (text) =>
  /[a-z]/i.test(text) ? Object.keys(CNNS).filter((label) => [label, CNNS[label].cnn].some((name) => lettersOf(name) === lettersOf(text))) : [];
const YES_NO = { yes: 1, ja: 1, true: 1, on: 1, no: 0, nein: 0, false: 0, off: 0 };
const precisionNamed = (text, heading = "") => {
  const word = text.toLowerCase().trim();
  if (Object.hasOwn(YES_NO, word) && /amp|fp16|mixed/i.test(heading)) return YES_NO[word] ? "amp" : "fp32";
  if (Object.hasOwn(PRECISIONS, word)) return word;
  return { float32: "fp32", single: "fp32", mixed: "amp", mixed_float16: "amp", float16: "fp16", bfloat16: "bf16" }[word];
};
// The unit of a time: from a number and a batch to seconds.
const UNITS = [
  [/(^|[^a-z])(images?|imgs?|samples?|bilder)\s*(\/|per|pro)\s*s|durchsatz|throughput/i, (value, batch) => batch / value],
  [/(^|[^a-z])(its?|iterations?|steps?)\s*(\/|per|pro)\s*s/i, (value) => 1 / value],
  [/(^|[^a-z])ms([^a-z]|$)|millise/i, (value) => value / 1e3],
  [/(^|[^a-z/])(s|secs?|seconds?|sekunden)([^a-z]|$)/i, (value) => value],
];
const NO_TIME = /epoch|infer|forward|std|warm|compil|\d\s*(it|step)|ms\s*\/\s*(im|sa)|flop|byte|[gmk]b\b/i;
const unitOf = (text) => (NO_TIME.test(text) ? undefined : UNITS.find(([pattern]) => pattern.test(text.replaceAll("_", " ")))?.[1]);
const BATCH = /^(bs|batch)([^a-z/]|$)|batch.?size|^batchgr|^mini.?batch/i;
const PIXELS = /resolution|image.?size|input.?size|pixel|(^|[^a-z])px([^a-z]|$)|auflösung/i;
const SEVERAL = /(^|[^a-z])(gpus|nodes)([^a-z]|$)/i;
// A number with its unit; a comma is decimal where another cell of the file shows that it is.
const numberIn = (cell, isComma) => {
  if (typeof cell === "number") return [cell, ""];
  const [, digits, unit] = /^([\d.,' ]*\d)\s*([a-z/]*)$/i.exec(cell.trim()) ?? [];
  if (digits === undefined) return [NaN, ""];
  const plain = digits.replace(/[' ]/g, "").replaceAll(isComma ? "." : ",", "");
  return [Number(plain.replace(",", ".")), unit];
};

const heldIn = (rows, place, isIt) => rows.filter((row) => isIt(String(row[place] ?? ""))).length;
// Which column is what: names by their cells, the others by their headings.
const columnsIn = (headings, rows) => {
  const places = headings.map((_, place) => place);
  const byCells = (isIt) => places.find((place) => heldIn(rows, place, (text) => isIt(text, headings[place])) * 2 > heldIn(rows, place, Boolean));
  const named = (pattern) => places.find((place) => pattern.test(headings[place]));
  return {
    gpu: byCells((text) => gpusNamed(text).length),
    cnn: byCells((text) => cnnsNamed(text).length),
    precision: byCells(precisionNamed),
    batch: named(BATCH),
    pixels: named(PIXELS),
    several: places.filter((place) => SEVERAL.test(headings[place]) && !unitOf(headings[place])),
    times: places.filter((place) => !BATCH.test(headings[place]) && (unitOf(headings[place]) || (!NO_TIME.test(headings[place]) && rows.some((row) => /\d\s*(ms|s)$/.test(row[place] ?? ""))))),
  };
};
const cnnOf = (text, pixels) => {
  const found = cnnsNamed(text);
  const sized = found.filter((label) => !pixels || CNNS[label].input_size_px === pixels);
  return sized.find((label) => CNNS[label].input_size_px === 224 && CNNS[label].n_classes === 1000) ?? sized[0];
};
// One run with its measured and predicted time, or why it is left out.
const runOf = (row, columns, headings, isComma) => {
  const cell = (place) => row[place] ?? "";
  const text = (place) => String(cell(place)).trim();
  const form = choiceOfForm();
  // Runs are training iterations, whatever the form asks for.
  const formula = isForward(form) ? "" : form.formula;
  const choice = { ...form, formula, gpus: 1, nodes: 1, largest: 0, peak: 1, bandwidth: 1 };
  const outOf = (why) => ({ why });
  if (columns.several.some((place) => numberIn(cell(place), isComma)[0] > 1)) return outOf("on several GPUs");
  if (columns.gpu !== undefined) {
    const gpus = gpusNamed(text(columns.gpu));
    const isMeant = gpus.length > 1 && gpus.includes(choice.gpu);
    if (gpus.length !== 1 && !isMeant)
      return outOf(gpus.length ? `“${text(columns.gpu)}” may be ${gpus.slice(0, 3).join(", ")}: choose one above or write it` : `unknown GPU “${text(columns.gpu)}”`);
    choice.gpu = isMeant ? choice.gpu : gpus[0];
  }
  const pixels = columns.pixels === undefined ? 0 : parseInt(text(columns.pixels), 10) || 0;
  choice.cnn = cnnOf(text(columns.cnn), pixels);
  if (!choice.cnn) return outOf(`unknown CNN “${text(columns.cnn)}”${pixels ? ` at ${pixels} px` : ""}`);
  if (columns.precision !== undefined) choice.precision = precisionNamed(text(columns.precision), headings[columns.precision]);
  if (choice.precision === undefined) return outOf(`unknown precision “${text(columns.precision)}”`);
  [choice.batch] = numberIn(cell(columns.batch), isComma);
  const fault = faultOf(choice);
  if (fault) return outOf(fault[1]);
  const times = columns.times.map((place) => {
    const [value, unit] = numberIn(cell(place), isComma);
    return (unit ? unitOf(unit) : unitOf(headings[place]))?.(value, choice.batch);
  });
  const stated = columns.times.filter((place) => text(place) !== "");
  const known = times.filter((time) => time > 0 && Number.isFinite(time));
  if (!stated.length || known.length < stated.length) return outOf(`no time in “${stated.map(text).join("”, “")}”`);
  if (Math.max(...known) > 1.1 * Math.min(...known)) return outOf("its times contradict each other");
  const predicted = computed(choice.gpu, choice).seconds;
  const run = { gpu: choice.gpu, cnn: choice.cnn, batch: choice.batch, precision: precisionOf(choice.gpu, choice) };
  const ratio = known[0] / predicted;
  const isFar = !(ratio <= MOST_OFF && ratio >= 1 / MOST_OFF);
  return { ...run, seconds: known[0], predicted, ratio, why: isFar ? "more than twice off the formula" : "" };
};
const runsOf = (tables) => {
  const parts = tables.map((rows) => [rows, rows.findIndex((row) => row.length > 2 && row.some((cell) => BATCH.test(cell)))]);
  const [all, top] = parts.sort(([one, at], [other, place]) => (other[place]?.length ?? 0) - (one[at]?.length ?? 0))[0];
  if (top < 0) throw new RangeError("no heading “batch” was found");
  const headings = all[top].map((cell) => String(cell).trim());
  const rows = all.map((row, place) => [place + 1, row]).slice(top + 1).filter(([, row]) => row.some((cell) => cell !== ""));
  if (rows.length > MOST_RUNS) throw new RangeError(`more than ${MOST_RUNS} runs: use trainlaw data import and calibrate`);
  const columns = columnsIn(headings, rows.map(([, row]) => row));
  if (columns.cnn === undefined) throw new RangeError("no column of known CNNs was found");
  if (!columns.times.length) throw new RangeError("no column states ms, s or images/s in its heading or cells");
  const isComma = rows.some(([, row]) => row.some((cell) => /^\d+,(\d{1,2}|\d{4,})\D*$|\d\.\d{3},\d/.test(String(cell).trim())));
  return rows.map(([number, row]) => ({ number, ...runOf(row, columns, headings, isComma) }));
};

const showOwn = (choice) => {
  field("own").hidden = !ownRuns.length;
  if (!ownRuns.length) return;
  if (isForward(choice)) {
    field("own").textContent = "Not calibrated: your runs are training iterations, this is a forward pass.";
    return;
  }
  const precision = precisionOf(choice.gpu, choice);
  const { factor, used, isOwn } = ownFactor(choice.gpu, precision);
  const which = isOwn ? `${counted(used.length, "run")} of yours on ${choice.gpu} in ${precision}` : `all ${counted(used.length, "run")} of yours, none of them on ${choice.gpu} in ${precision}`;
  field("own").textContent = `Calibrated: the formula's time on one GPU × ${shown(factor)}, from ${which}.`;
};
const showRuns = (runs, said) => {
  field("runs-said").textContent = said;
  field("runs-said").classList.toggle("fault", !runs.length);
  field("own-runs").hidden = !runs.length;
  const cells = ({ gpu, cnn, batch, precision, seconds, predicted, ratio }) => [gpu, cnn, String(batch), precision, duration(seconds), duration(predicted), shown(ratio)];
  const row = (run) =>
    element("tr", {}, element("th", { scope: "row" }, String(run.number)), ...[run.why ? `left out: ${run.why}` : "used", ...(run.gpu ? cells(run) : Array(7).fill("–"))].map((text) => element("td", {}, text)));
  field("runs-rows").replaceChildren(...runs.map(row));
};
const readRuns = async (file) => {
  ownRuns = [];
  try {
    if (file.size > MOST_UNPACKED) throw new RangeError("the file is too large");
    const bytes = new Uint8Array(await file.arrayBuffer());
    const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
    const runs = runsOf(isZip ? [await xlsxRows(bytes)] : ["\t", ";", ","].map((mark) => csvRows(textOf(bytes), mark)));
    ownRuns = runs.filter(({ why }) => !why);
    showRuns(runs, `${file.name}: ${ownRuns.length} of ${counted(runs.length, "run")} used. What no column states is as in this form. They stay on this page and are not part of a link.`);
  } catch (fault) {
    showRuns([], `${file.name}: ${fault instanceof RangeError ? fault.message : "the file cannot be read"}.`);
  }
  show();
};
const startOwnRuns = () => {
  field("runs").addEventListener("change", async () => {
    for (const file of field("runs").files) await readRuns(file);
    field("runs").value = "";
  });
  field("forget").addEventListener("click", () => {
    ownRuns = [];
    showRuns([], "");
    show();
    field("runs").focus();
  });
};
