// The answer: time, figures, warnings, and how wrong the formula was elsewhere.
// A line of figures is its value and, behind three spaces, a remark in parentheses.
const partsOf = (text) => {
  const [value, remark = ""] = text.split("   ");
  return [value, remark.replace(/^\(|\)$/g, "")];
};
// By title: the value and the remark of each line of figures.
const figuresOf = ({ values, said }) =>
  Object.fromEntries(
    said.filter(({ title }) => title).map(({ title, sentence }) => [title, partsOf(filled(sentence, values))]),
  );

// What held-out errors say of this answer, the nearest kind first: [of what, error, how many runs].
const classOf = (gpu, choice) => {
  const kinds = lawOf(choice).errors.kinds[GPUS[gpu].vendor];
  return kinds?.[precisionOf(gpu, choice)][stackOf(choice)] ?? null;
};
const errorsOf = (choice) => {
  const { gpu: groups, generation, precision, cnn, overall, heldOut } = lawOf(choice).errors;
  const used = precisionOf(choice.gpu, choice);
  const kind = GPUS[choice.gpu].generation || "unknown";
  const base = CNNS[choice.cnn].cnn_base;
  const line = (table, key, title) =>
    Object.hasOwn(table, key)
      ? [title, percent(table[key][0]), counted(table[key][1], "run")]
      : [title, "never measured", ""];
  const span =
    overall[1] === null ? "" : `${FORMULA.level} % interval ${percent(overall[1])} to ${percent(overall[2])}`;
  return [
    line(groups, GPUS[choice.gpu].group, `this GPU's chip (${GPUS[choice.gpu].group || "unknown"})`),
    ...(Object.keys(generation).length ? [line(generation, kind, `generation ${kind}`)] : []),
    ...(Object.keys(precision).length ? [line(precision, used, `precision ${used}`)] : []),
    line(cnn, base, `architecture ${base}`),
    ...(overall[0] === null ? [] : [[`all held-out ${heldOut}s, mean`, percent(overall[0]), span]]),
  ];
};
const ERROR_TABLES = ["gpu", "generation", "precision", "cnn"];
// Their table says them, with the number of runs.
const ERROR_NOTES = ["errors", "architecture_error", "precision_error", "generation_error"];
const notesOf = ({ said, ...result }) =>
  sentencesOf({ ...result, said: said.filter(({ name }) => !ERROR_NOTES.includes(name)) }, "note");
const sureText = (choice, { interval_factor: factor }) => {
  if (!Number.isFinite(factor)) return "";
  const kind = classOf(choice.gpu, choice);
  const groups = lawOf(choice).errors.groups[kind];
  const where = GPUS[choice.gpu].is_new ? "generations that were held out whole" : "GPUs that were held out";
  const rests = groups ? ` Measured for the class “${kind}” on ${counted(groups, "kind")} of GPU.` : "";
  return `Nine of ten runs like this on ${where} took between 1/${factor.toFixed(2)} and ${factor.toFixed(2)} times the prediction.${rests}`;
};
const showErrors = (choice, values) => {
  const lines = errorsOf(choice);
  const { overall, ...tables } = lawOf(choice).errors;
  field("sure").hidden = !ERROR_TABLES.some((name) => Object.keys(tables[name]).length) && overall[0] === null;
  field("sure-text").textContent = sureText(choice, values);
  field("sure-rows").replaceChildren(
    ...lines.map(([of, error, more]) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, of, element("small", {}, more)),
        element("td", { class: "n" }, error),
      ),
    ),
  );
};

const listOf = (texts) => texts.map((text) => element("li", { "data-text": "" }, text));
// The gravest come first; the others unfold.
const FIRST_WARNINGS = 3;
const showWarnings = (warnings) => {
  const isOpen = field("warnings").querySelector("details")?.open ?? false;
  const [first, others] = [warnings.slice(0, FIRST_WARNINGS), warnings.slice(FIRST_WARNINGS)];
  if (!others.length) return field("warnings").replaceChildren(...listOf(first));
  const summary = `${others.length} further warning${others.length > 1 ? "s" : ""}`;
  const folded = element("details", {}, element("summary", {}, summary), element("ul", {}, ...listOf(others)));
  folded.open = isOpen;
  return field("warnings").replaceChildren(...listOf(first), element("li", {}, folded));
};
const showFigures = ({ "all-reduce": allReduce, ...figures }, { seconds, values }) => {
  // The time comes first.
  const [[, time], ...others] = Object.entries(figures);
  field("time").textContent = time[0];
  field("interval").textContent = time[1];
  const efficiency = percent((100 * values.single_gpu_time_s) / seconds);
  field("all-reduce").textContent =
    allReduce && !FORMULA.coversGpus
      ? `including ${allReduce.join(" for the all-reduce, ")}; scaling efficiency ${efficiency}`
      : "";
  const lines = others.map(([title, [value, remark]]) =>
    element(
      "div",
      {},
      element("dt", {}, title),
      element("dd", { id: title, class: value.length > 40 ? "long" : "" }, value),
      element("dd", { id: `${title}-remark`, class: "soft" }, remark),
    ),
  );
  field("figures").replaceChildren(...lines);
};
const showAnswer = (choice, result, kept) => {
  const { seconds, allReduce, values, said } = result;
  const figures = figuresOf(result);
  const warnings = sentencesOf(result, "warning");
  Object.assign(field("time").dataset, {
    seconds,
    interval: endsOf(result)?.join(" ") ?? "",
    allReduce,
    memory: `${values.memory_least_bytes} ${values.memory_usual_bytes} ${fitsText(result)}`,
  });
  showFigures(figures, result);
  const cannotFit = said.some(({ name }) => name === "cannot_fit");
  field("memory").classList.toggle("fault", cannotFit);
  showWarnings(warnings);
  field("notes").replaceChildren(...listOf(notesOf(result)));
  showErrors(choice, values);
  const parts = [
    figures.throughput?.[0],
    warnings.length ? counted(warnings.length, "warning") : "",
    kept ? verdictText(kept, choice) : "",
  ];
  field("glance-time").textContent = duration(seconds);
  field("glance-more").textContent = parts.filter(Boolean).join(" · ");
};
