// The same workload on every GPU: kinds with training runs first, then the others with hatched bars.
const FEW_GPUS = { measured: 8, unmeasured: 4 };
let everyGpu = false;
const remarksOf = (result) => {
  const far = FORMULA.features.some(({ name }) => isOutside(result, name));
  return [
    GPUS[result.gpu].generation,
    result.values.fits_in_memory === 0 ? "" : fitsText(result),
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
  const { gpu, seconds, values } = result;
  const button = element("button", { type: "button", class: "plain" }, gpu);
  button.addEventListener("click", () => take(gpu));
  const number = (text, more = "") => element("td", { class: `n ${more}` }, text);
  const ends = endsOf(result)?.map((end) => end / most);
  const row = element(
    "tr",
    gpu === choice.gpu ? { class: "chosen", "aria-current": "true" } : {},
    element("th", { scope: "row" }, button, element("small", {}, remarksOf(result))),
    number(duration(seconds)),
    element("td", { class: "wide" }, bar(seconds / most, ends, isNeverMeasured(result) ? "hatched" : "")),
    number(own ? `${shown(own.seconds / seconds)}×` : "–", "spare"),
    number(hoursText(values.training_h), "spare"),
    number(money(values.cost), "spare"),
  );
  Object.assign(row.dataset, { gpu, seconds });
  return row;
};
const order = () => {
  const cost = ({ values }) => values.cost || Infinity;
  const byTime = (one, other) => one.seconds - other.seconds;
  const byCost = (one, other) => cost(one) - cost(other) || byTime(one, other);
  return field("order").value === "cost" ? byCost : byTime;
};
const showRanking = (choice) => {
  const lacking = Object.keys(GPUS).filter((gpu) => lackOf(gpu, choice));
  const all = Object.keys(GPUS)
    .filter((gpu) => !lacking.includes(gpu))
    .map((gpu) => computed(gpu, { ...choice, usualLaunch: SLOWEST_LAUNCH }))
    .filter(({ seconds }) => Number.isFinite(seconds))
    .sort(order());
  field("one-host").hidden = choice["host-launch"] !== null || !(SLOWEST_LAUNCH > 0);
  field("one-host").textContent = `All on one host, which needs ${duration(SLOWEST_LAUNCH)} per layer.`;
  field("left-out").hidden = !lacking.length;
  field("left-out-title").textContent = `${counted(lacking.length, "GPU")} left out: without what is chosen`;
  field("left-out-names").textContent = lacking.join(", ");
  const own = all.find(({ gpu }) => gpu === choice.gpu);
  const words = wordsOf(field("search").value);
  const found = all.filter(({ gpu }) => matches(words, `${gpu} ${GPUS[gpu].generation} ${GPUS[gpu].vendor}`));
  const groups = { measured: found.filter((one) => !isNeverMeasured(one)), unmeasured: found.filter(isNeverMeasured) };
  const part = (name) =>
    groups[name].filter(({ gpu }, place) => everyGpu || place < FEW_GPUS[name] || gpu === choice.gpu);
  const parts = { measured: part("measured"), unmeasured: part("unmeasured") };
  const listed = Object.values(parts).flat();
  const most = Math.max(...listed.map((one) => endsOf(one)?.[1] ?? one.seconds));
  for (const [name, rows] of Object.entries(parts)) {
    field(`${name}-rows`).replaceChildren(...rows.map((result) => rowOf(choice, result, most, own)));
    field(`${name}-heading`).hidden = !rows.length;
  }
  field("more").hidden = found.length === listed.length && !everyGpu;
  field("more").textContent = everyGpu ? "Show the first ones" : `Show all ${found.length}`;
  field("found").textContent = words.length ? `${found.length} of ${all.length} GPUs match` : `${all.length} GPUs`;
};
