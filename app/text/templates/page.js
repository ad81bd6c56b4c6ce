"use strict";
// GPUS, CNNS, PRECISIONS, LINKS, ALGORITHMS and FORMULA are defined above this script; nothing is fetched.
const field = (id) => document.getElementById(id);
const CHOICES = ["cnn", "precision", "layout", "host-launch", "batch", "gpu", "gpus", "nodes", "largest", "link", "network", "algorithm", "peak", "bandwidth", ...FORMULA.grouped.map((_, index) => `group-${index}`)];
const NUMBERS = { batch: 1e6, gpus: 65536, nodes: 65536 };
const TICKS = ["has_optimizer", "has_input_copy", "is_tuned", "is_bucketed"];
const TICKED = ["has_optimizer", "is_bucketed"]; // at first
const LAUNCH = { least: 0.1, most: 1e6 }; // us per layer
const FEW = 15;

// As `show_number` does: three significant digits, but every digit of the integer part.
const shown = (value, digits = 3) => {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "not defined";
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(digits - 1).replace(/\.?0*e\+?/, "e");
  const decimals = size ? Math.max(0, digits - 1 - Math.floor(Math.log10(size))) : 0;
  return value.toLocaleString("en", { maximumFractionDigits: decimals });
};
const duration = (seconds) =>
  !Number.isFinite(seconds) ? "not defined" : seconds >= 1 ? `${shown(seconds)} s` : seconds >= 1e-3 ? `${shown(1e3 * seconds)} ms` : `${shown(1e6 * seconds)} µs`;
const quantity = (value, unit) => (unit === "s" ? duration(value) : `${shown(value)}${unit && ` ${unit}`}`);

// The base columns of one configuration, from which features are computed, as `trainlaw predict` joins them.
const linkFacts = (place, link) => ({
  [`${place}_byte_per_s`]: link ? link.byte_per_s : 0,
  [`${place}_s_per_byte`]: link ? link.s_per_byte : 0,
  [`${place}_latency_s`]: link ? link.latency_s : 0,
});
const linkOf = (gpu, choice) => (choice.link === "own" ? GPUS[gpu].own_link : choice.link);
const scaled = (specs, choice) =>
  Object.fromEntries(Object.entries(specs).map(([name, value]) => [
    name,
    typeof value !== "number" ? value : name.endsWith("_flop_per_s") ? value * choice.peak : name.startsWith("bandwidth_") ? value * choice.bandwidth : value,
  ]));
const columnsOf = (gpu, choice) => {
  const precision = PRECISIONS[choice.precision];
  const specs = scaled(GPUS[gpu], choice);
  const several = choice.gpus > 1;
  return {
    ...Object.fromEntries(Object.values(ALGORITHMS).map((way) => [way.indicator, 0])),
    ...(several ? { [ALGORITHMS[choice.algorithm].indicator]: 1 } : {}),
    ...specs,
    ...CNNS[choice.cnn],
    ...linkFacts("link", choice.gpus > choice.nodes ? LINKS[linkOf(gpu, choice)] : null),
    ...linkFacts("network", choice.nodes > 1 ? LINKS[choice.network] : null),
    batch_per_gpu: choice.batch,
    bytes_per_element: precision.bytes_per_element,
    is_tensor_precision: precision.is_tensor_precision,
    least_bytes_per_param: precision.least_bytes_per_param,
    momentum_bytes_per_param: precision.momentum_bytes_per_param,
    peak_flop_per_s: specs[precision.peak_column],
    has_optimizer: choice.has_optimizer ? 1 : 0,
    has_input_copy: choice.has_input_copy ? 1 : 0,
    is_tuned: choice.is_tuned ? 1 : 0,
    is_bucketed: choice.is_bucketed ? 1 : 0,
    is_channels_last: choice.layout === "channels_last" ? 1 : 0,
    host_launch_s: choice["host-launch"] / 1e6,
    n_gpus: choice.gpus,
    n_nodes: choice.nodes,
    gpus_per_node: choice.largest > 0 ? choice.largest : choice.gpus / choice.nodes,
    exchange_rounds: Math.ceil(Math.log2(choice.gpus)),
  };
};
// A constant that differs by group is passed along with the features, under its own name.
const groupConstants = (choice) => FORMULA.grouped.map(({ name, values, default: other }, index) => {
  const group = choice[`group-${index}`];
  return [name, Object.hasOwn(values, group) ? values[group] : other];
});
const computed = (gpu, choice) => {
  const columns = columnsOf(gpu, choice);
  const constants = groupConstants(choice);
  const features = Object.fromEntries([...constants, ...FORMULA.features.map((feature) => [feature.name, feature.compute(columns)])]);
  const single = FORMULA.predict(features);
  const allReduce = choice.gpus > 1 ? FORMULA.allReduce({ ...columns, single_gpu_time_s: single }) : 0;
  return { columns, features, allReduce, seconds: single + allReduce };
};

// As `interval_factors` of trainlaw: by precision, layout, vendor, and whether a training run is on the generation.
const isNew = (gpu) => FORMULA.generations !== null && !FORMULA.generations.includes(GPUS[gpu].generation);
const factorOf = (gpu, choice) => FORMULA.intervals[GPUS[gpu].vendor][choice.precision][choice.layout][isNew(gpu) ? 1 : 0];
const generationWarning = (gpu) => {
  const { vendor, generation } = GPUS[gpu];
  if (!isNew(gpu)) return [];
  return [FORMULA.vendors.includes(vendor) ? `no training run is on a GPU of the generation ${generation || "unknown"}` : `no training run is on a GPU of ${vendor || "its vendor"}`];
};
const isOutside = (feature, value) => feature.low !== null && !(value >= feature.low && value <= feature.high);
const isJointlyOutside = (features) => {
  const joint = FORMULA.joint;
  if (!joint) return false;
  const place = joint.names.map((name, index) => Math.log(features[name] + joint.floors[index]) - joint.centre[index]);
  const squares = joint.whitening.map((row) => row.reduce((sum, weight, index) => sum + weight * place[index], 0) ** 2);
  return !(Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length) <= joint.limit);
};
// The same expressions and words as `memory_warnings` of trainlaw.
const gigabytes = (size) => String(Number((size / 1e9).toPrecision(3)));
const memoryOf = (columns) => {
  const [least, usual, held] = [FORMULA.memory.least(columns), FORMULA.memory.usual(columns), FORMULA.held * columns.memory_bytes];
  const fits = columns.memory_bytes === null ? "not known" : least > FORMULA.margin * held ? "cannot fit" : usual > held ? "may not fit" : "fits";
  return { least, usual, held, fits };
};
const memoryWarning = ({ least, usual, held, fits }) => {
  const device = `the device has ${gigabytes(held)} GB`;
  if (fits === "cannot fit") return [`${fits}: the step keeps ${gigabytes(least)} GB at least, ${device}`];
  return fits === "may not fit" ? [`${fits}: the step takes about ${gigabytes(usual)} GB with momentum, ${device}`] : [];
};
const warningsOf = (choice, { columns, features, seconds }) => {
  const far = FORMULA.features.filter((feature) => isOutside(feature, features[feature.name]));
  return [
    ...far.map((feature) => `${feature.name} is ${quantity(features[feature.name], feature.unit)}, outside the training range ${quantity(feature.low, feature.unit)} to ${quantity(feature.high, feature.unit)}`),
    ...(isJointlyOutside(features) ? ["this combination of features is unlike any in the training data"] : []),
    ...(FORMULA.precisions?.includes(choice.precision) ?? true ? [] : [`no training run used ${choice.precision}`]),
    ...generationWarning(choice.gpu),
    ...(FORMULA.hostMargin && FORMULA.hostMargin(features) > 0 ? [`the host's launches decide (batch ${choice.batch}), at ${duration(columns.host_launch_s)} per layer`] : []),
    ...memoryWarning(memoryOf(columns)),
    ...(choice.gpus > 1 && FORMULA.assumptions[choice.algorithm] ? [FORMULA.assumptions[choice.algorithm]] : []),
    ...(Number.isFinite(seconds) ? [] : ["the formula is not defined here: a specification of this GPU is unknown"]),
  ];
};

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const bar = (share, low, high) => {
  const percent = (value) => `${100 * Math.max(0, Math.min(1, Number.isFinite(value) ? value : 0))}%`;
  const outer = element("span", { class: "bar", "aria-hidden": "true" });
  const inner = element("i");
  inner.style.width = percent(share);
  outer.append(inner);
  if (low !== undefined) {
    const reach = element("b");
    reach.style.left = percent(low);
    reach.style.width = `calc(${percent(high)} - ${percent(low)})`;
    outer.append(reach);
  }
  return outer;
};

// The form, and the address that repeats it.
const choiceOfForm = () => {
  const texts = Object.fromEntries(CHOICES.map((id) => [id, field(id).value]));
  const numbers = ["batch", "gpus", "nodes", "largest", "peak", "bandwidth", "host-launch"].map((id) => [id, Number(texts[id])]);
  return { ...texts, ...Object.fromEntries(numbers), ...Object.fromEntries(TICKS.map((id) => [id, field(id).checked])) };
};
const isWhole = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;
const faultOf = (choice) => {
  for (const [id, most] of Object.entries(NUMBERS)) {
    field(id).setAttribute("aria-invalid", String(!isWhole(choice[id], most)));
    if (!isWhole(choice[id], most)) return `Expected a whole number from 1 to ${most.toLocaleString("en")} for “${field(id).labels[0].textContent.trim()}”.`;
  }
  const launches = choice["host-launch"] >= LAUNCH.least && choice["host-launch"] <= LAUNCH.most;
  field("host-launch").setAttribute("aria-invalid", String(!launches));
  if (!launches) return `Expected a number of µs from ${LAUNCH.least} to ${LAUNCH.most.toLocaleString("en")} for “${field("host-launch").labels[0].textContent.trim()}”.`;
  const { gpus, nodes, largest } = choice;
  const spread = largest > 0 ? Number.isInteger(largest) && largest * nodes >= gpus && largest + nodes - 1 <= gpus : gpus % nodes === 0;
  field("nodes").setAttribute("aria-invalid", String(!spread));
  if (!spread && largest > 0) return `Expected GPUs of the largest node that fit ${gpus} GPUs on ${nodes} nodes; got ${largest}.`;
  return spread ? "" : `Expected the GPUs to be spread evenly over the nodes; got ${choice.gpus} GPUs on ${choice.nodes} nodes.`;
};
const addressOf = (choice) => {
  const differing = [...CHOICES, ...TICKS].filter((id) => ["cnn", "gpu", "batch"].includes(id) || String(choice[id]) !== String(initial(id)));
  return `#${new URLSearchParams(differing.map((id) => [id, String(choice[id])]))}`;
};
const initial = (id) => (TICKS.includes(id) ? TICKED.includes(id) : FORMULA.first[id] ?? "");
const readAddress = () => {
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const id of CHOICES) {
    const value = wanted.get(id) ?? initial(id);
    const known = id in NUMBERS || id === "largest" ? /^\d{1,9}$/.test(value) : id === "host-launch" ? /^\d{1,7}(\.\d{1,9})?$/.test(value) : [...field(id).options].some((option) => option.value === value);
    field(id).value = known ? value : initial(id);
  }
  for (const id of TICKS) field(id).checked = (wanted.get(id) ?? String(initial(id))) === "true";
};

const showResult = (choice, result) => {
  const { seconds, allReduce } = result;
  field("time").textContent = duration(seconds);
  field("time").dataset.seconds = String(seconds);
  const evaluated = Object.keys(FORMULA.errorOfCnn).length > 0;
  const factor = factorOf(choice.gpu, choice);
  const low = seconds / factor;
  const high = seconds * factor;
  field("interval").textContent = factor ? `${FORMULA.level} % interval: ${duration(low)} to ${duration(high)}` : evaluated ? "no interval: too few groups were held out" : "no interval: the error of this combined formula was not measured";
  field("interval").dataset.seconds = factor ? `${low} ${high}` : "";
  field("glance").textContent = `${duration(seconds)}, ${shown((choice.gpus * choice.batch) / seconds)} images/s`;
  field("throughput").textContent = `${shown((choice.gpus * choice.batch) / seconds)} images/s`;
  field("all-reduce").textContent = choice.gpus > 1 ? `including ${duration(allReduce)} for the all-reduce; scaling efficiency ${shown((100 * (seconds - allReduce)) / seconds)} %` : "";
  const error = FORMULA.errorOfCnn[CNNS[choice.cnn].cnn_base];
  field("known").textContent = error > 0 ? `Error for ${CNNS[choice.cnn].cnn_base} on held-out ${FORMULA.heldOut}s: ${error.toFixed(1)} %.` : evaluated ? "This architecture was not in the training set." : "";
  const { least, usual, fits } = memoryOf(result.columns);
  field("memory").textContent = `memory: at least ${gigabytes(least)} GB, ${gigabytes(usual)} GB in total: ${fits}`;
  field("memory").dataset.bytes = `${least} ${usual} ${fits}`;
  field("warnings").replaceChildren(...warningsOf(choice, result).map((text) => element("li", {}, text)));
};
const showTerms = (choice, { features, seconds, allReduce }) => {
  const times = FORMULA.terms.map((term) => term(features));
  const list = field("terms");
  const rows = [...list.querySelectorAll("[data-term]")];
  for (const row of rows) {
    const time = row.dataset.term === "all-reduce" ? allReduce : times[Number(row.dataset.term)];
    const share = time / seconds;
    row.hidden = (row.dataset.term === "all-reduce" && choice.gpus === 1) || time === 0;
    row.style.order = String(-Math.round(1e6 * (Number.isFinite(share) ? share : -1)));
    row.dataset.seconds = String(time);
    row.querySelector(".share").textContent = `${duration(time)}, ${Number.isFinite(share) ? (100 * share).toFixed(1) : "–"} %`;
    row.querySelector(".bar").replaceWith(bar(share));
  }
  // Screen readers follow the order of the elements, so it must be the visible one.
  list.append(...rows.sort((one, other) => Number(one.style.order) - Number(other.style.order)));
  for (const place of document.querySelectorAll("[data-feature]")) {
    const feature = FORMULA.features[Number(place.dataset.feature)];
    place.textContent = quantity(features[feature.name], feature.unit);
    place.classList.toggle("outside", isOutside(feature, features[feature.name]));
  }
  for (const place of document.querySelectorAll("[data-group]")) place.textContent = shown(features[FORMULA.grouped[Number(place.dataset.group)].name]);
};
let everyGpu = false;
const showGpus = (choice) => {
  const all = Object.keys(GPUS)
    .map((gpu) => ({ gpu, ...computed(gpu, choice) }))
    .filter(({ seconds }) => Number.isFinite(seconds))
    .sort((one, other) => one.seconds - other.seconds);
  const words = field("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter(({ gpu }) => words.every((word) => gpu.toLowerCase().includes(word)));
  const own = all.find(({ gpu }) => gpu === choice.gpu);
  const many = found.length > FEW;
  const part = found.filter(({ gpu }, index) => everyGpu || index < FEW || gpu === choice.gpu);
  const most = Math.max(...part.map(({ gpu, seconds }) => seconds * (factorOf(gpu, choice) ?? 1)));
  field("gpu-rows").replaceChildren(...part.map(({ gpu, seconds, features }) => {
    const button = element("button", { type: "button", class: "plain" }, gpu);
    button.addEventListener("click", () => {
      field("gpu").value = gpu;
      show();
      field("gpu").focus();
    });
    const name = element("th", { scope: "row" }, button);
    const factor = factorOf(gpu, choice);
    const far = isNew(gpu) || FORMULA.features.some((feature) => isOutside(feature, features[feature.name]));
    if (far) name.append(element("span", { class: "far" }, " outside training"));
    const ends = factor ? [seconds / factor / most, (seconds * factor) / most] : [];
    const line = element(
      "tr", gpu === choice.gpu ? { class: "chosen", "aria-current": "true" } : {}, name, element("td", { class: "n" }, duration(seconds)),
      element("td", { class: "wide" }, bar(seconds / most, ...ends)),
      element("td", { class: "n spare" }, own ? `${shown(own.seconds / seconds)}×` : "–"),
      element("td", { class: "n spare" }, `${shown((choice.gpus * choice.batch) / seconds)}`),
    );
    line.dataset.gpu = gpu;
    line.dataset.seconds = String(seconds);
    return line;
  }));
  field("more").hidden = !many;
  field("more").textContent = everyGpu ? `Show the ${FEW} fastest` : `Show all ${found.length}`;
  field("found").textContent = `${found.length} of ${all.length} GPUs${words.length ? " match" : ", fastest first"}`;
};

const steps = { batch: 4, gpus: 1 };
const slide = (id) => (field(`${id}-slider`).value = String(Math.round(steps[id] * Math.log2(Number(field(id).value) || 1))));
const show = () => {
  const choice = choiceOfForm();
  const fault = faultOf(choice);
  field("fault").textContent = fault;
  field("result").classList.toggle("stale", fault !== "");
  const several = choice.gpus > 1;
  for (const [id, there] of [["nodes", several], ["algorithm", several], ["link", several && choice.gpus > choice.nodes], ["network", choice.nodes > 1], ["largest", choice.nodes > 1]])
    field(id).closest(".field").hidden = !there;
  field("link").options[0].text = `the GPU's own (${GPUS[choice.gpu].own_link})`;
  field("default-precision").textContent = `PyTorch's default for convolutions on this GPU: ${GPUS[choice.gpu].default_precision}`;
  field("changed").hidden = choice.peak === 1 && choice.bandwidth === 1;
  if (fault) return;
  for (const id of Object.keys(steps)) slide(id);
  const result = computed(choice.gpu, choice);
  showResult(choice, result);
  showTerms(choice, result);
  showGpus(choice);
  try {
    history.replaceState(null, "", addressOf(choice));
  } catch {
    // A browser may refuse inside a frame or after very many changes; the page works without it.
  }
};

const fill = (id, names) => field(id).append(...names.map((name) => new Option(name, name)));
const start = () => {
  fill("gpu", Object.keys(GPUS));
  fill("cnn", Object.keys(CNNS));
  fill("precision", Object.keys(PRECISIONS));
  fill("link", Object.keys(LINKS).filter((name) => LINKS[name].scope === "node"));
  fill("network", Object.keys(LINKS).filter((name) => LINKS[name].scope === "network"));
  fill("algorithm", Object.keys(ALGORITHMS));
  for (const id of FORMULA.optional) field(id).closest("label, .field").hidden = !FORMULA.known.includes(id);
  for (const id of [...CHOICES, ...TICKS]) field(id).addEventListener("input", show);
  for (const id of Object.keys(steps))
    field(`${id}-slider`).addEventListener("input", (event) => {
      field(id).value = String(Math.round(2 ** (Number(event.target.value) / steps[id])));
      show();
    });
  field("search").addEventListener("input", () => showGpus(choiceOfForm()));
  field("more").addEventListener("click", () => {
    everyGpu = !everyGpu;
    showGpus(choiceOfForm());
  });
  field("reset").addEventListener("click", () => {
    field("peak").value = field("bandwidth").value = "1";
    show();
    field("peak").focus();
  });
  field("share").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      field("shared").textContent = "Link copied.";
    } catch {
      field("shared").textContent = "The address of this page is the link: copy it from the address bar.";
    }
  });
  // While the form fills a phone's screen, a line at the bottom shows the time; screen readers get the result itself.
  new IntersectionObserver(([seen]) => (field("glance").hidden = seen.isIntersecting || seen.boundingClientRect.top < 0)).observe(field("time"));
  // Do not follow the link: the fragment of the address holds the configuration.
  field("skip").addEventListener("click", (event) => {
    event.preventDefault();
    field("result").focus();
  });
  window.addEventListener("hashchange", () => {
    readAddress();
    show();
  });
  readAddress();
  show();
};
start();
