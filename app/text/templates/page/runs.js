// Measured runs: each row of a CSV file is compared with its prediction; the formula stays as it is.
const NEEDED = ["gpu", "cnn", "batch", "time"];
const refuse = (isWrong, reason) => {
  if (isWrong) throw new RangeError(reason);
};
// What is read of the column of a heading, "" for nothing, and the seconds of the unit at its end.
const columnOf = (heading) => {
  const words = heading.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const seconds = Number(VOCABULARY.seconds[words.at(-1)] ?? 0);
  const name = VOCABULARY.headings[(seconds ? words.slice(0, -1) : words).join("")] ?? "";
  refuse(name === "asked", `“${heading}” changes what times mean; \`trainlaw data import\` reads it`);
  refuse(name === "time" && !seconds, `expected a unit in the heading “${heading}”, as in time_ms`);
  return { heading, seconds, name: seconds && name !== "time" ? "" : name };
};
// The measured time of a run and the predicted one; `cell` gives a text by the name of its column.
const bothTimesOf = (cell, unit) => {
  for (const name of NEEDED) refuse(!cell(name), `${name} is empty`);
  const texts = Object.fromEntries(FIELDS.map((id) => [id, cell(id) || initial(id)]));
  texts.precision = VOCABULARY.precisions[texts.precision.toLowerCase()] ?? texts.precision;
  const { cnn, input_size_px: side, n_classes: count } = CNNS[namedOf("cnn", texts.cnn)] ?? {};
  if (cnn) texts.cnn = `${cnn}, ${cell("input_size_px") || side} px, ${cell("n_classes") || count} classes`;
  for (const id of FIELDS) refuse(!isOffered(id, texts[id]), `${labelOf(id)} “${texts[id]}” is not known`);
  const choice = choiceOf(texts);
  const [, fault] = faultOf(choice) ?? [];
  refuse(fault, fault);
  refuse(/^\d{1,3},\d{3}$/.test(cell("time")), `“${cell("time")}” may have thousands or decimals`);
  const times = [Number(cell("time").replace(",", ".")) * unit, computed(choice.gpu, choice).seconds];
  refuse(!times.every((time) => time > 0 && time < Infinity), `nothing can be compared with “${cell("time")}”`);
  return times;
};
const readRuns = (text, file) => {
  const lines = text.trim().split(/\r?\n/);
  const [mark] = [",", ";", "\t"].sort((one, other) => lines[0].split(other).length - lines[0].split(one).length);
  const [header, ...rows] = lines.map((line) => line.split(mark).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")));
  const columns = header.map(columnOf);
  const names = columns.map(({ name }) => name);
  const wrong = [...NEEDED, ...names].find((name) => name && names.filter((each) => each === name).length !== 1);
  refuse(wrong, `expected one column each of gpu, cnn, batch and a time as in time_ms, got none or several of ${wrong}`);
  const deviations = [];
  const resultOf = (row) => {
    try {
      refuse(row.length !== names.length, `expected ${names.length} cells, got ${row.length}`);
      const times = bothTimesOf((name) => row[names.indexOf(name)] ?? "", columns[names.indexOf("time")].seconds);
      const deviation = 100 * (times[1] / times[0] - 1);
      deviations.push(Math.abs(deviation));
      const texts = [...times.map(duration), `${deviation > 0 ? "+" : ""}${percent(deviation)}`];
      return texts.map((each) => element("td", { class: "n" }, each));
    } catch ({ message }) {
      return [element("td", { colspan: "3" }, `not understood: ${message}`)];
    }
  };
  const shownRow = (row) => element("tr", {}, element("th", { scope: "row" }, row.join(", ")), ...resultOf(row));
  field("runs-rows").replaceChildren(...rows.map(shownRow));
  field("runs-table").hidden = false;
  const { length } = deviations.sort((one, other) => one - other);
  const median = percent((deviations[(length - 1) >> 1] + deviations[length >> 1]) / 2);
  const unread = columns.filter(({ name }) => !name).map(({ heading }) => heading);
  const said = `${file}: ${length} of ${counted(rows.length, "row")} compared${length ? `, median deviation ${median}` : ""}`;
  return said + (unread.length ? `; not read: ${unread.join(", ")}.` : ".");
};
