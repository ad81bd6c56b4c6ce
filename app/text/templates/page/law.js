// The time of one configuration. GPUS, CNNS, PRECISIONS, LINKS, ALGORITHMS, PRICES and FORMULA are defined
// above; nothing is fetched. A choice holds what the form holds, numbers as numbers.
const precisionOf = (gpu, choice) => choice.precision || GPUS[gpu].default_precision;
const linkOf = (gpu, choice) => (choice.link === "own" ? GPUS[gpu].own_link : choice.link);
const linkFacts = (place, link) => ({
  [`${place}_byte_per_s`]: link ? link.byte_per_s : 0,
  [`${place}_s_per_byte`]: link ? link.s_per_byte : 0,
  [`${place}_latency_s`]: link ? link.latency_s : 0,
});
const scaled = (specifications, choice) => {
  const factorOf = (name) =>
    name.endsWith("_flop_per_s") ? choice.peak : name.startsWith("bandwidth_") ? choice.bandwidth : 1;
  const change = ([name, value]) => [name, typeof value === "number" ? value * factorOf(name) : value];
  return Object.fromEntries(Object.entries(specifications).map(change));
};

// The base columns of a configuration, of which features are made, as `trainlaw predict` joins them.
const columnsOf = (gpu, choice) => {
  const precision = PRECISIONS[precisionOf(gpu, choice)];
  const specifications = scaled(GPUS[gpu], choice);
  const several = choice.gpus > 1;
  return {
    ...Object.fromEntries(Object.values(ALGORITHMS).map((way) => [way.indicator, 0])),
    ...(several ? { [ALGORITHMS[choice.algorithm].indicator]: 1 } : {}),
    ...specifications,
    ...CNNS[choice.cnn],
    ...linkFacts("link", choice.gpus > choice.nodes ? LINKS[linkOf(gpu, choice)] : null),
    ...linkFacts("network", choice.nodes > 1 ? LINKS[choice.network] : null),
    batch_per_gpu: choice.batch,
    bytes_per_element: precision.bytes_per_element,
    is_tensor_precision: precision.is_tensor_precision,
    least_bytes_per_param: precision.least_bytes_per_param,
    momentum_bytes_per_param: precision.momentum_bytes_per_param,
    peak_flop_per_s: specifications[precision.peak_column],
    has_optimizer: choice.has_optimizer ? 1 : 0,
    has_input_copy: choice.has_input_copy ? 1 : 0,
    is_tuned: choice.is_tuned ? 1 : 0,
    is_bucketed: choice.is_bucketed ? 1 : 0,
    is_channels_last: choice.layout === "channels_last" ? 1 : 0,
    is_stack_fused: choice.is_tuned ? 1 : 0,
    is_stack_channels_last: choice.layout === "channels_last" && !choice.is_tuned ? 1 : 0,
    stated_launch_s: choice.launch ?? 0,
    n_gpus: choice.gpus,
    n_nodes: choice.nodes,
    gpus_per_node: choice.largest > 0 ? choice.largest : choice.gpus / choice.nodes,
    exchange_rounds: Math.ceil(Math.log2(choice.gpus)),
  };
};
// A constant that differs by group is passed along with the features, under its own name.
const groupConstants = (choice) =>
  FORMULA.grouped.map(({ name, values, default: other }, index) => {
    const group = choice[`group-${index}`];
    return [name, Object.hasOwn(values, group) ? values[group] : other];
  });
const computed = (gpu, choice) => {
  const columns = columnsOf(gpu, choice);
  const features = Object.fromEntries(groupConstants(choice));
  for (const feature of FORMULA.features) features[feature.name] = feature.compute(columns);
  const single = FORMULA.predict(features);
  const allReduce = choice.gpus > 1 ? FORMULA.allReduce({ ...columns, single_gpu_time_s: single }) : 0;
  return { gpu, columns, features, allReduce, seconds: single + allReduce };
};
const imagesPerSecond = (choice, seconds) => (choice.gpus * choice.batch) / seconds;

// The factor of the interval, by precision, layout, vendor, and whether a training run is on the generation.
const factorOf = (gpu, choice) => {
  const { vendor, is_new: isNew } = GPUS[gpu];
  return FORMULA.intervals[vendor][precisionOf(gpu, choice)][choice.layout][isNew ? 1 : 0];
};
const endsOf = (result, choice) => {
  const factor = factorOf(result.gpu, choice);
  return factor && Number.isFinite(result.seconds) ? [result.seconds / factor, result.seconds * factor] : null;
};
const isNeverMeasured = (gpu, choice) =>
  "unseen" in GPUS[gpu] || PRECISIONS[precisionOf(gpu, choice)].untrained.length > 0;

const memoryOf = (columns) => {
  const { memory, held: share, margin, said } = FORMULA;
  const [least, usual, held] = [memory.least(columns), memory.usual(columns), share * columns.memory_bytes];
  const { yes, perhaps, no, unknown } = said.fits;
  const fits = columns.memory_bytes === null ? unknown : least > margin * held ? no : usual > held ? perhaps : yes;
  return { least, usual, held, fits };
};

// A whole training; the last iteration of an epoch may have fewer images.
const hoursOf = (choice, seconds) =>
  (choice.epochs * Math.ceil(choice.images / (choice.gpus * choice.batch)) * seconds) / 3600;
const priceOf = (gpu, choice) => {
  const listed = PRICES.of[gpu] ?? {};
  return choice.price !== null && gpu === choice.gpu
    ? choice.price
    : (listed[Math.floor(choice.gpus / choice.nodes)] ?? listed[0] ?? NaN);
};
const costOf = (gpu, choice, seconds) => hoursOf(choice, seconds) * choice.gpus * priceOf(gpu, choice);
const money = (amount) => (Number.isFinite(amount) ? `${shown(amount)} ${PRICES.currency}` : "–");
