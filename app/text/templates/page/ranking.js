// The same workload on every GPU: kinds with training runs first, then the others with hatched bars.
const FEW_GPUS = { measured: 8, unmeasured: 4 };
let everyGpu = false;
const speedText = (ratio) => `${shown(ratio)}×`;
const remarksOf = (choice, result) => {
  const { fits } = memoryOf(result.columns);
  const far = FORMULA.features.some((feature) => isOutside(feature, result.features[feature.name]));
  return [
    GPUS[result.gpu].generation,
    fits === FORMULA.said.fits.yes ? "" : fits,
    far ? "outside the training range" : "",
  ]
    .filter(Boolean)
    .join(" · ");
};
const take = (gpu) => {
  field("gpu").value = gpu;
  show();
  field("gpu").focus();
};
const rowOf = (choice, result, most, own) => {
  const { gpu, seconds } = result;
  const button = element("button", { type: "button", class: "plain" }, gpu);
  button.addEventListener("click", () => take(gpu));
  const number = (text, more = "") => element("td", { class: `n ${more}` }, text);
  const ends = endsOf(result, choice)?.map((end) => end / most);
  const row = element(
    "tr",
    gpu === choice.gpu ? { class: "chosen", "aria-current": "true" } : {},
    element("th", { scope: "row" }, button, element("small", {}, remarksOf(choice, result))),
    number(duration(seconds)),
    element("td", { class: "wide" }, bar(seconds / most, ends, isNeverMeasured(gpu, choice) ? "hatched" : "")),
    number(own ? speedText(own.seconds / seconds) : "–", "spare"),
    number(hoursText(hoursOf(choice, seconds)), "spare"),
    number(money(costOf(gpu, choice, seconds)), "spare"),
  );
  Object.assign(row.dataset, { gpu, seconds });
  return row;
};
const orderOf = (choice) => {
  const cost = ({ gpu, seconds }) => costOf(gpu, choice, seconds);
  const byTime = (one, other) => one.seconds - other.seconds;
  const byCost = (one, other) => (cost(one) || Infinity) - (cost(other) || Infinity) || byTime(one, other);
  return field("order").value === "cost" ? byCost : byTime;
};
const showRanking = (choice) => {
  const all = Object.keys(GPUS)
    .map((gpu) => computed(gpu, choice))
    .filter(({ seconds }) => Number.isFinite(seconds))
    .sort(orderOf(choice));
  const own = all.find(({ gpu }) => gpu === choice.gpu);
  const words = wordsOf(field("search").value);
  const found = all.filter(({ gpu }) => matches(words, `${gpu} ${GPUS[gpu].generation} ${GPUS[gpu].vendor}`));
  const isUnseen = ({ gpu }) => isNeverMeasured(gpu, choice);
  const groups = { measured: found.filter((one) => !isUnseen(one)), unmeasured: found.filter(isUnseen) };
  const part = (name) =>
    groups[name].filter(({ gpu }, place) => everyGpu || place < FEW_GPUS[name] || gpu === choice.gpu);
  const parts = { measured: part("measured"), unmeasured: part("unmeasured") };
  const most = Math.max(
    ...Object.values(parts)
      .flat()
      .map((one) => endsOf(one, choice)?.[1] ?? one.seconds),
  );
  for (const [name, rows] of Object.entries(parts)) {
    field(`${name}-rows`).replaceChildren(...rows.map((result) => rowOf(choice, result, most, own)));
    field(`${name}-heading`).hidden = !rows.length;
  }
  const hidden = found.length - Object.values(parts).flat().length;
  field("more").hidden = !hidden && !everyGpu;
  field("more").textContent = everyGpu ? "Show the first ones" : `Show all ${found.length}`;
  field("found").textContent = words.length ? `${found.length} of ${all.length} GPUs match` : `${all.length} GPUs`;
};
