"use strict";
// LAW, GPUS, CNNS and PRECISIONS stand above this script; nothing is fetched.
const field = (id) => document.getElementById(id);
const shown = (value, digits = 3) =>
  !Number.isFinite(value) ? "not defined" : Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
const duration = (seconds) =>
  !Number.isFinite(seconds) ? "not defined" : seconds >= 1 ? `${shown(seconds)} s` : seconds >= 1e-3 ? `${shown(1e3 * seconds)} ms` : `${shown(1e6 * seconds)} µs`;

const quantities = (gpu, choice) => {
  const precision = PRECISIONS[choice.precision];
  const raw = {
    ...GPUS[gpu], ...CNNS[choice.cnn], batch_per_gpu: choice.batch, bytes_per_element: precision.bytes_per_element,
    is_tensor_precision: precision.is_tensor_precision, peak_flop_per_s: GPUS[gpu][precision.peak_column],
    has_optimizer: choice.optimizer ? 1 : 0, has_input_copy: choice.copy ? 1 : 0,
  };
  return Object.fromEntries(LAW.features.map((feature) => [feature.name, feature.compute(raw)]));
};
const termSeconds = (features) => LAW.terms.map((term) => term.compute(features));
const iterationSeconds = (gpu, choice) => LAW.predict(quantities(gpu, choice));

const choiceOfForm = () => ({
  gpu: field("gpu").value, cnn: field("cnn").value, precision: field("precision").value, batch: Number(field("batch").value),
  optimizer: field("optimizer").checked, copy: field("copy").checked,
});
const warningsOf = (features, choice) => [
  ...LAW.features
    .filter((feature) => feature.low !== null && !(features[feature.name] >= feature.low && features[feature.name] <= feature.high))
    .map((feature) => `${feature.name} is ${shown(features[feature.name])}${feature.unit && ` ${feature.unit}`}, outside the ${shown(feature.low)} to ${shown(feature.high)} of training`),
  ...(LAW.precisions.includes(choice.precision) ? [] : [`no run in ${choice.precision} was in training`]),
];

const bar = (share) => {
  const outer = document.createElement("span");
  const inner = document.createElement("i");
  outer.className = "bar";
  inner.style.width = `${Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0)) * 100}%`;
  outer.append(inner);
  return outer;
};
const row = (...cells) => {
  const line = document.createElement("tr");
  for (const [index, cell] of cells.entries()) {
    const place = document.createElement("td");
    place.append(cell);
    if (index > 0) place.className = "n";
    line.append(place);
  }
  return line;
};

const show = () => {
  const choice = choiceOfForm();
  const valid = Number.isInteger(choice.batch) && choice.batch >= 1;
  field("batch").setAttribute("aria-invalid", String(!valid));
  if (!valid) {
    field("time").textContent = "give a whole number of images";
    return;
  }
  const features = quantities(choice.gpu, choice);
  const seconds = LAW.predict(features);
  field("time").textContent = duration(seconds);
  field("time").dataset.seconds = String(seconds);
  field("interval").textContent = LAW.factor ? `${LAW.level} % interval ${duration(seconds / LAW.factor)} to ${duration(seconds * LAW.factor)}` : "";
  field("throughput").textContent = `${shown(choice.batch / seconds)} images/s`;
  field("warnings").replaceChildren(...warningsOf(features, choice).map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  const times = termSeconds(features);
  field("terms").replaceChildren(...LAW.terms.map((term, index) => row(term.text, duration(times[index]), bar(times[index] / seconds), `${(100 * times[index] / seconds).toFixed(1)} %`)));
  const all = Object.keys(GPUS).map((gpu) => [gpu, iterationSeconds(gpu, choice)]).filter(([, value]) => Number.isFinite(value)).sort((a, b) => a[1] - b[1]);
  const slowest = Math.max(...all.map(([, value]) => value));
  field("gpus").replaceChildren(...all.map(([gpu, value]) => {
    const line = row(gpu, duration(value), bar(value / slowest), `${shown(choice.batch / value)} images/s`);
    if (gpu === choice.gpu) line.className = "chosen";
    return line;
  }));
  history.replaceState(null, "", `#${new URLSearchParams(Object.entries(choice).map(([key, value]) => [key, String(value)]))}`);
};

const fill = (id, names) => field(id).replaceChildren(...names.map((name) => new Option(name, name)));
const start = () => {
  fill("gpu", Object.keys(GPUS));
  fill("cnn", Object.keys(CNNS));
  fill("precision", Object.keys(PRECISIONS));
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const id of ["gpu", "cnn", "precision", "batch"]) {
    const value = wanted.get(id) ?? LAW.first[id];
    const known = id === "batch" ? /^\d{1,9}$/.test(value) : [...field(id).options].some((option) => option.value === value);
    field(id).value = known ? value : LAW.first[id];
  }
  field("optimizer").checked = wanted.get("optimizer") !== "false";
  field("copy").checked = wanted.get("copy") === "true";
  for (const id of ["optimizer", "copy"]) field(id).parentElement.hidden = !LAW.inputs.includes(id);
  for (const id of ["gpu", "cnn", "precision", "batch", "optimizer", "copy"]) field(id).addEventListener("input", show);
  show();
};
start();
