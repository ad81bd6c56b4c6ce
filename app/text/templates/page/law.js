// The time of one configuration. GPUS, CNNS, PRECISIONS, LINKS, ALGORITHMS, PRICES and FORMULA are defined
// above; nothing is fetched. A choice holds what the form holds, numbers as numbers.
// A table by the name of each row, of the names of its columns and a list per row.
function unpacked(columns, rows) {
  const named = ([name, values]) => [name, Object.fromEntries(columns.map((column, place) => [column, values[place]]))];
  return Object.fromEntries(Object.entries(rows).map(named));
}
// The formula that is chosen: the full one, one with fewer constants, or that of forward passes.
const lawOf = (choice) => FORMULA.others[choice.formula] ?? FORMULA;
const isForward = (choice) => lawOf(choice).isForward;
const precisionOf = (gpu, choice) =>
  choice.precision || (isForward(choice) ? FORMULA.ofPasses : GPUS[gpu].default_precision);
// The instance of a cloud that the GPU was chosen by: its name, number of GPUs, link, fabric and price.
const rentedOf = (gpu, { gpu: chosen, rented }) => (gpu === chosen && rented) || {};
const linkOf = (gpu, choice) =>
  choice.link === "own" ? rentedOf(gpu, choice).link || GPUS[gpu].own_link : choice.link;
// A choice on a GPU: where nodes or fabric are not chosen, those of the instance or of usual servers with it.
const onGpu = (gpu, choice) => {
  const { per_node: perNode = 8, fabric } = { ...GPUS[gpu], ...rentedOf(gpu, choice) };
  return {
    ...choice,
    nodes: choice.usualNodes ? Math.ceil(choice.gpus / perNode) : choice.nodes,
    network: choice.usualFabric ? fabric : choice.network,
  };
};
// A table that compares GPUs has one host for all of them, the slowest of theirs, as that of the command has.
const SLOWEST_LAUNCH = Math.max(...Object.values(GPUS).map(({ usual_launch_s: launch }) => launch));
const machineText = (gpu, { gpus, nodes, largest, network, ...choice }) => {
  const each = largest > 0 ? `at most ${largest}` : gpus / nodes;
  const parts = [
    gpus === 1 ? "1 GPU" : `${counted(nodes, "node")} of ${each} GPU${gpus > nodes ? "s" : ""}`,
    gpus > nodes && `link ${linkOf(gpu, choice)}`,
    nodes > 1 && `fabric ${network}`,
  ];
  return parts.filter(Boolean).join(", ");
};
const linkFacts = (place, link) => ({
  [`${place}_byte_per_s`]: link ? link.byte_per_s : 0,
  [`${place}_s_per_byte`]: link ? link.s_per_byte : 0,
  [`${place}_latency_s`]: link ? link.latency_s : 0,
});
// The specifications of a GPU with the changes of rates, by GPU and changes: the ranking asks for all of them again.
const knownSpecifications = {};
const scaled = (gpu, choice) => (knownSpecifications[[gpu, choice.peak, choice.bandwidth]] ??= changedRates(GPUS[gpu], choice));
const changedRates = (specifications, choice) => {
  const factorOf = (name) =>
    name.endsWith("_flop_per_s") ? choice.peak : name.startsWith("bandwidth_") ? choice.bandwidth : 1;
  const number = (value, factor) => (value === null ? NaN : typeof value === "number" ? value * factor : value);
  const change = ([name, value]) => [name, number(value, factorOf(name))];
  return Object.fromEntries(Object.entries(specifications).map(change));
};

const impliedStack = ({ is_tuned: isTuned, layout, compilation }) =>
  isTuned || compilation === "inductor" ? "fused" : layout === "nchw" ? "eager" : layout;
const stackOf = (choice) => choice.stack || impliedStack(choice);

// The base columns of a configuration, of which features are made, as `trainlaw predict` joins them.
const columnsOf = (gpu, choice) => {
  const precision = PRECISIONS[precisionOf(gpu, choice)];
  const specifications = scaled(gpu, choice);
  const several = choice.gpus > 1;
  return {
    ...Object.fromEntries(Object.values(ALGORITHMS).map((way) => [way.indicator, 0])),
    ...(several ? { [ALGORITHMS[choice.algorithm].indicator]: 1 } : {}),
    ...specifications,
    ...CNNS[choice.cnn],
    ...precision,
    ...linkFacts("link", choice.gpus > choice.nodes ? LINKS[linkOf(gpu, choice)] : null),
    ...linkFacts("network", choice.nodes > 1 ? LINKS[choice.network] : null),
    batch_per_gpu: choice.batch,
    peak_flop_per_s: specifications[precision.peak_column],
    usual_launch_s: (choice.usualLaunch ?? specifications.usual_launch_s) * (FORMULA.launchesLeft[choice.compilation] ?? 1),
    has_optimizer: choice.has_optimizer && !isForward(choice) ? 1 : 0,
    has_input_copy: choice.has_input_copy && !isForward(choice) ? 1 : 0,
    is_tuned: choice.is_tuned ? 1 : 0,
    is_bucketed: choice.is_bucketed ? 1 : 0,
    is_channels_last: choice.layout === "channels_last" ? 1 : 0,
    is_stack_fused: stackOf(choice) === "fused" ? 1 : 0,
    is_stack_channels_last: stackOf(choice) === "channels_last" ? 1 : 0,
    stated_launch_s: choice["host-launch"] ?? 0,
    n_gpus: choice.gpus,
    n_nodes: choice.nodes,
    gpus_per_node: choice.largest > 0 ? choice.largest : choice.gpus / choice.nodes,
    exchange_rounds: Math.ceil(Math.log2(choice.gpus)),
  };
};
const changesOf = (choice) =>
  ["peak", "bandwidth"].filter((rate) => choice[rate] !== 1).map((rate) => `${choice[rate]}x ${rate}`);
const isChanged = (choice) => changesOf(choice).length > 0;
const changedName = (gpu, choice) => (isChanged(choice) ? `${gpu} with ${changesOf(choice).join(", ")}` : gpu);
const priceOf = (gpu, choice) => {
  const { [gpu]: listed = {} } = PRICES.of;
  if (choice.price !== null && gpu === choice.gpu) return choice.price;
  return rentedOf(gpu, choice).price ?? listed[Math.floor(choice.gpus / choice.nodes)] ?? listed[0] ?? NaN;
};
const originOf = (gpu, choice) => {
  if (choice.price !== null) return "your price";
  const { instance } = rentedOf(gpu, choice);
  return `price list: ${instance ?? PRICES.origin}`;
};
// The factor of the interval, by precision, stack, vendor, and whether a training run is on the generation.
const factorOf = (gpu, choice) => {
  const { vendor, is_new: isNew } = GPUS[gpu];
  return lawOf(choice).intervals[vendor][precisionOf(gpu, choice)][stackOf(choice)][isNew ? 1 : 0];
};

// The measured runs that differ from the choice by the batch alone; packed as the command reads them.
const RUN = /(\d+)([a-zA-Z])([\d.]+)(?:-([\d.]+))?(?:\*(\d+))?(?:@(\d+))?/g;
const nearestRun = (gpu, choice) => {
  const { cnn, input_size_px: pixels, n_classes: classes } = CNNS[choice.cnn];
  const usual = CNNS[LABELS[cnn]];
  const isPlain = choice.compilation === "eager" && !choice.is_tuned && stackOf(choice) === impliedStack(choice);
  const isMeasured = choice.gpus === 1 && isPlain && !isChanged(choice) && !isForward(choice);
  const packed = isMeasured && usual?.n_classes === classes && MEASURED[cnn]?.[gpu];
  const { letter } = PRECISIONS[precisionOf(gpu, choice)];
  const wanted = choice.layout === "channels_last" ? letter?.toUpperCase() : letter;
  const size = pixels === usual?.input_size_px ? undefined : String(pixels);
  const distance = ([, batch]) => Math.abs(Math.log(batch / choice.batch));
  const [found] = [...(packed || "").matchAll(RUN)]
    .filter((run) => run[2] === wanted && run[6] === size)
    .sort((one, other) => distance(one) - distance(other) || one[1] - other[1]);
  if (!found) return null;
  const [, batch, , low, high = low] = found;
  return { nearest_batch: Number(batch), nearest_low_s: low / 1e3, nearest_high_s: high / 1e3 };
};

// What the rows of the table of answers are made of, other than base columns and features.
const factsOf = (gpu, choice) => {
  const { notes = [], memory_is_rough: isRough } = CNNS[choice.cnn];
  const factor = factorOf(gpu, choice);
  const price = priceOf(gpu, choice);
  const { errors, ofGeneration, ofPrecision } = lawOf(choice);
  const epochs = `${shown(choice.epochs)} epoch${choice.epochs === 1 ? "" : "s"} of`;
  const ways = [choice.gpus > choice.nodes && linkOf(gpu, choice), choice.nodes > 1 && choice.network];
  return {
    ...Object.fromEntries(FORMULA.gpuFacts.map((name) => [name, GPUS[gpu][name] ?? 0])),
    ...ofGeneration[GPUS[gpu].generation],
    ...(isChanged(choice) ? { is_other_gpu: 1 } : {}),
    ...PRECISIONS[precisionOf(gpu, choice)],
    ...ofPrecision[precisionOf(gpu, choice)],
    gpu: changedName(gpu, choice),
    generation: GPUS[gpu].generation,
    vendor: GPUS[gpu].vendor,
    precision: precisionOf(gpu, choice),
    by_default: choice.precision || isForward(choice) ? 0 : 1,
    layout: choice.layout,
    has_layout: choice.layout === "nchw" ? 0 : 1,
    compilation: choice.compilation,
    has_compilation: choice.compilation === "eager" ? 0 : 1,
    stack: stackOf(choice),
    has_stack: stackOf(choice) === impliedStack(choice) ? 0 : 1,
    is_stack_unknown: stackOf(choice) === "unknown" ? 1 : 0,
    has_host_launch: choice["host-launch"] === null ? 0 : 1,
    input_size_px: CNNS[choice.cnn].input_size_px,
    error_of_architecture: errors.cnn[CNNS[choice.cnn].cnn_base]?.[0] ?? 0,
    n_cnn_notes: notes.length,
    cnn_notes: notes.join("\n"),
    rough: isRough ? FORMULA.rough : "",
    machine: machineText(gpu, choice),
    algorithm: choice.algorithm,
    ways: ways.filter(Boolean).join(" and "),
    is_scaled: ALGORITHMS[choice.algorithm].is_scaled,
    class_factor: factor ?? NaN,
    has_interval: factor ? 1 : 0,
    epochs: choice.epochs,
    // The last iteration of an epoch may have fewer images.
    iterations: Math.ceil(choice.images / (choice.gpus * choice.batch)),
    training: `${isForward(choice) ? "inference of" : epochs} ${choice.images.toLocaleString("en")} images`,
    price_per_hour: price,
    has_price: Number.isFinite(price) ? 1 : 0,
    currency: PRICES.currency,
    price_origin: originOf(gpu, choice),
  };
};
const featuresOf = (columns) =>
  Object.fromEntries(FORMULA.features.map(({ name, compute }) => [name, compute(columns)]));
// One GPU with the choice: base columns, features, times, and the answers over all of them.
const computed = (gpu, chosen) => {
  const choice = onGpu(gpu, chosen);
  const columns = columnsOf(gpu, choice);
  const features = featuresOf(columns);
  const law = lawOf(choice);
  const single = law.predict(features);
  const allReduce = choice.gpus > 1 ? FORMULA.allReduce({ ...columns, single_gpu_time_s: single }) : 0;
  const seconds = single + allReduce;
  const nearest = nearestRun(gpu, choice);
  const there = nearest && { ...columns, batch_per_gpu: nearest.nearest_batch };
  const nearestSeconds = there ? law.predict(featuresOf(there)) : NaN;
  const times = { ...nearest, nearest_time_s: nearestSeconds, single_gpu_time_s: single, added_s: allReduce, is_undefined: Number.isFinite(seconds) ? 0 : 1 };
  const { values, said } = answered({ ...columns, ...features, ...times, ...factsOf(gpu, choice) }, law.answers);
  return { gpu, law, features, allReduce, seconds, values, said };
};
const isOutside = ({ law, features }, name) => {
  const [low, high] = law.ranges[name] ?? [-Infinity, Infinity];
  return features[name] < low || features[name] > high;
};
const endsOf = ({ values }) => (Number.isFinite(values.low_s) ? [values.low_s, values.high_s] : null);
const isNeverMeasured = ({ said }) =>
  said.some(({ name }) => ["untrained_precision", "unseen_vendor", "unseen_generation"].includes(name));
const fitsText = ({ values }) => {
  const { words } = ANSWERS.find(({ name }) => name === "fits_in_memory");
  return wordOf(words, values.fits_in_memory);
};
const money = (amount) => (Number.isFinite(amount) ? `${shown(amount)} ${PRICES.currency}` : "–");
