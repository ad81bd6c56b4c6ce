// The answer: time, interval, hours, cost, memory, warnings, and how wrong the formula was elsewhere.
const intervalText = (choice, result) => {
  const ends = endsOf(result, choice);
  if (ends) return `${FORMULA.level} % interval ${durations(ends)}`;
  return Number.isFinite(result.seconds) ? FORMULA.said.noInterval : "no interval";
};
const figuresOf = (choice, result) => {
  const { seconds, gpu, columns } = result;
  const ends = endsOf(result, choice);
  const { least, usual, fits } = memoryOf(columns);
  const price = priceOf(gpu, choice);
  const hours = (time) => hoursOf(choice, time);
  const span = (text) => (ends ? ` (${text(ends)})` : "");
  const cost = (time) => money(costOf(gpu, choice, time));
  const epochs = `${shown(choice.epochs)} epochs of ${choice.images.toLocaleString("en")} images`;
  const from = choice.price === null ? `price list: ${PRICES.origin}` : "your price";
  return {
    throughput: [
      `${shown(imagesPerSecond(choice, seconds))} images/s`,
      choice.gpus > 1 ? `on ${choice.gpus.toLocaleString("en")} GPUs` : "",
    ],
    memory: [fits, `at least ${gigabytes(least)} GB, ${gigabytes(usual)} GB in total`],
    training: [
      hoursText(hours(seconds)),
      `${epochs}${span((both) => range(both.map(hours), hoursText, hourStep))}`,
    ],
    cost: [
      cost(seconds),
      Number.isFinite(price)
        ? `at ${money(price)} per GPU and hour, ${from}${span((both) => both.map(cost).join(" to "))}`
        : "no listed price: enter yours under “A whole training”",
    ],
  };
};

// What held-out errors say of this answer, the nearest kind first: [of what, error, how many runs].
const classOf = (gpu, choice) => {
  const { ownClass, lastWord } = FORMULA.errors;
  return GPUS[gpu].vendor === ownClass
    ? ownClass
    : precisionOf(gpu, choice) + (choice.layout === "channels_last" ? lastWord : "");
};
const errorsOf = (choice) => {
  const { gpu: groups, precision, cnn, overall, heldOut } = FORMULA.errors;
  const used = precisionOf(choice.gpu, choice);
  const base = CNNS[choice.cnn].cnn_base;
  const line = (table, key, title) =>
    Object.hasOwn(table, key)
      ? [title, percent(table[key][0]), counted(table[key][1], "run")]
      : [title, "never measured", ""];
  const span =
    overall[1] === null ? "" : `${FORMULA.level} % interval ${percent(overall[1])} to ${percent(overall[2])}`;
  return [
    line(groups, GPUS[choice.gpu].group, `this GPU's chip (${GPUS[choice.gpu].group || "unknown"})`),
    ...(Object.keys(precision).length ? [line(precision, used, `precision ${used}`)] : []),
    line(cnn, base, `architecture ${base}`),
    ...(overall[0] === null ? [] : [[`all held-out ${heldOut}s, mean`, percent(overall[0]), span]]),
  ];
};
const sureText = (choice) => {
  const factor = factorOf(choice.gpu, choice);
  if (!factor) return "";
  const kind = classOf(choice.gpu, choice);
  const groups = FORMULA.errors.groups[kind];
  const where = GPUS[choice.gpu].is_new ? "generations that were held out whole" : "GPUs that were held out";
  const rests = groups ? ` Measured for the class “${kind}” on ${counted(groups, "kind")} of GPU.` : "";
  return `Nine of ten runs on ${where} took between 1/${factor.toFixed(2)} and ${factor.toFixed(2)} times the prediction.${rests}`;
};
const showErrors = (choice) => {
  const lines = errorsOf(choice);
  field("sure").hidden = !Object.keys(FORMULA.errors.gpu).length && FORMULA.errors.overall[0] === null;
  field("sure-text").textContent = sureText(choice);
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
// Ranges that are left by many features are one line that unfolds.
const FEW_RANGES = 2;
const showWarnings = (warnings, { features }) => {
  const far = FORMULA.features.filter((feature) => isOutside(feature, features[feature.name])).length;
  const isOpen = field("warnings").querySelector("details")?.open ?? false;
  if (far <= FEW_RANGES) return field("warnings").replaceChildren(...listOf(warnings));
  const folded = element(
    "details",
    {},
    element("summary", {}, `${far} features are outside the training range`),
    element("ul", {}, ...listOf(warnings.slice(0, far))),
  );
  folded.open = isOpen;
  return field("warnings").replaceChildren(element("li", {}, folded), ...listOf(warnings.slice(far)));
};
const showAnswer = (choice, result, kept) => {
  const { seconds, allReduce } = result;
  const warnings = warningsOf(choice, result);
  const ends = endsOf(result, choice);
  const { least, usual, fits } = memoryOf(result.columns);
  field("time").textContent = duration(seconds);
  Object.assign(field("time").dataset, {
    seconds,
    interval: ends ? ends.join(" ") : "",
    allReduce,
    memory: `${least} ${usual} ${fits}`,
  });
  field("interval").textContent = intervalText(choice, result);
  field("all-reduce").textContent =
    choice.gpus > 1 && !FORMULA.coversGpus
      ? `including ${duration(allReduce)} for the all-reduce; scaling efficiency ${percent((100 * (seconds - allReduce)) / seconds)}`
      : "";
  for (const [name, [value, remark]] of Object.entries(figuresOf(choice, result))) {
    field(name).textContent = value;
    field(`${name}-remark`).textContent = remark;
  }
  field("memory").classList.toggle("bad", fits === FORMULA.said.fits.no);
  showWarnings(warnings, result);
  field("notes").replaceChildren(...listOf(notesOf(choice, result)));
  showErrors(choice);
  const parts = [
    `${shown(imagesPerSecond(choice, seconds))} images/s`,
    warnings.length ? counted(warnings.length, "warning") : "",
    kept ? verdictText(kept, choice) : "",
  ];
  field("glance-time").textContent = duration(seconds);
  field("glance-more").textContent = parts.filter(Boolean).join(" · ");
};
