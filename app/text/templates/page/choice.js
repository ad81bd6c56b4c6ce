// The choice that strings by field hold, `texts`, as the form or a link has them.
const NUMBERS = ["batch", "gpus", "nodes", "largest", "peak", "bandwidth", "images", "epochs"];
const TICKS = Object.keys(FORMULA.first).filter((id) => ["true", "false"].includes(FORMULA.first[id]));
const FIELDS = Object.keys(FORMULA.first);
const initial = (id) => FORMULA.first[id];

// A forward pass is on one GPU, and inference has no epochs.
const ONE_PASS = { gpus: "1", nodes: "", largest: "0", epochs: "1" };
// What a name such as p4d.24xlarge or 8x T4 says besides the GPU, where the texts leave it open.
const withMachine = (texts) => {
  const { count, instance } = meaningOf("gpu", texts.gpu);
  const [, perNode, link, fabric, price] = NAMES.gpu.instances[instance] ?? [];
  const rented = instance && { instance, per_node: perNode, link, ...(fabric && { fabric }), price };
  return { ...texts, rented, gpus: texts.gpus === initial("gpus") && count > 1 ? String(count) : texts.gpus };
};
const choiceOf = (typed) => {
  const texts = isForward(typed) ? { ...typed, ...ONE_PASS } : withMachine(typed);
  return onGpu(namedOf("gpu", texts.gpu), {
    ...texts,
    gpu: namedOf("gpu", texts.gpu),
    cnn: namedOf("cnn", texts.cnn),
    layout: texts.layout || (texts.stack === "channels_last" ? "channels_last" : "nchw"),
    ...Object.fromEntries(NUMBERS.map((id) => [id, texts[id] === "" ? NaN : Number(texts[id])])),
    ...Object.fromEntries(TICKS.map((id) => [id, texts[id] === "true"])),
    usualNodes: texts.nodes === "",
    usualFabric: texts.network === "usual",
    "host-launch": texts["host-launch"] === "" ? null : Number(texts["host-launch"]) / 1e6,
    price: texts.price === "" ? null : Number(texts.price),
  });
};

// The first field with a value that no prediction takes, and what it should hold; null for none.
const isWhole = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;
const isWithin = ({ is_whole: isCounted, least, most }, value) =>
  value >= least && value <= most && (!isCounted || Number.isInteger(value));
// The field of the launch time has µs, that of a formula s.
const faultOfNumber = (id, { name, expected, least, most }, value) => {
  if (id !== "host-launch") return [id, `expected ${name} as ${expected}, got ${value}`];
  const said = `a number from ${shown(1e6 * least)} to ${(1e6 * most).toLocaleString("en")} µs`;
  return [id, `expected ${name} as ${said}, got ${shown(1e6 * value)}`];
};
const isSpread = ({ gpus, nodes, largest }) =>
  largest > 0
    ? Number.isInteger(largest) && largest * nodes >= gpus && largest + nodes - 1 <= gpus
    : largest === 0 && gpus % nodes === 0;
// The field with what a GPU lacks of the choice, and the reason; null for none.
const lackOf = (gpu, choice) => {
  const { newest_links: newest, lacks } = GPUS[gpu];
  const asked = { compilation: choice.compilation, is_tuned: choice.is_tuned && "tuned", precision: precisionOf(gpu, choice) };
  const lacked = Object.keys(asked).find((id) => lacks.includes(asked[id]));
  if (lacked) return [lacked, FORMULA.lacks[asked[lacked]].replace("{gpu}", gpu)];
  const [family, generation] = LINKS[choice.link]?.family ?? [""];
  const isThere = newest[family] === 0 || generation <= newest[family];
  return choice.gpus > choice.nodes && family && !isThere ? ["link", `${gpu} has no link ${choice.link}.`] : null;
};
const faultOf = (choice) => {
  for (const [id, table] of Object.entries({ cnn: CNNS, gpu: GPUS }))
    if (!Object.hasOwn(table, choice[id])) return [id, questionOf(id, choice[id])];
  for (const [id, limit] of Object.entries(FORMULA.limits))
    if (choice[id] !== null && !isWithin(limit, choice[id])) return faultOfNumber(id, limit, choice[id]);
  const lacked = lackOf(choice.gpu, choice);
  if (lacked) return lacked;
  if ((choice.largest || Math.ceil(choice.gpus / choice.nodes)) > FORMULA.perNode)
    return ["nodes", `No node holds more than ${FORMULA.perNode} GPUs.`];
  if (isSpread(choice)) return null;
  const { gpus, nodes, largest } = choice;
  return largest > 0
    ? ["largest", `Expected GPUs of the largest node that fit ${gpus} GPUs on ${nodes} nodes; got ${largest}.`]
    : ["nodes", `Expected the GPUs to be spread evenly over the nodes; got ${gpus} GPUs on ${nodes} nodes.`];
};
