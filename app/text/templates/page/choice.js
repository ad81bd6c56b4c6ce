// The form, the choice that it holds, and the address that repeats it. `texts` hold a choice as strings by field.
const NUMBERS = ["pixels", "classes", "batch", "gpus", "nodes", "largest", "peak", "bandwidth", "images", "epochs"];
const TICKS = ["has_optimizer", "has_input_copy", "is_tuned", "is_bucketed"];
const FIELDS = [
  "formula",
  "cnn",
  "pixels",
  "classes",
  "precision",
  "layout",
  "compilation",
  "stack",
  "host-launch",
  "batch",
  "gpu",
  "gpus",
  "nodes",
  "largest",
  "link",
  "network",
  "algorithm",
  "peak",
  "bandwidth",
  "images",
  "epochs",
  "price",
  ...FORMULA.grouped.map((_, index) => `group-${index}`),
  ...TICKS,
];
const initial = (id) => FORMULA.first[id] ?? "";
const labelOf = (id) => field(id).labels[0].textContent.trim();

const textsOfForm = () =>
  Object.fromEntries(FIELDS.map((id) => [id, TICKS.includes(id) ? String(field(id).checked) : field(id).value.trim()]));
// A forward pass is on one GPU, and inference has no epochs.
const ONE_PASS = { gpus: "1", nodes: "", largest: "0", epochs: "1" };
// The CNN of the list with images of another size or with other classes, which joins CNNS; a fault where it cannot.
const sizedCnn = (cnn, pixels, classes) => {
  const row = CNNS[cnn];
  if (!row || (pixels === "" && classes === "")) return { cnn };
  const [side, ofClassifier] = [Number(pixels || row.input_size_px), Number(classes || row.n_classes)];
  const label = `${row.cnn}, ${side} px, ${ofClassifier} classes`;
  if (Object.hasOwn(CNNS, label)) return { cnn: label };
  const id = pixels === "" ? "classes" : "pixels";
  const rule = row.is_custom ? undefined : SIZED.rules[row.cnn];
  if (!rule) return { cnn, fault: [id, `The counts of ${row.cnn} are known only as listed: choose it there, and leave this empty.`] };
  const [, , least, ...numbers] = unpacked(rule);
  if (!isWhole(side, FORMULA.mostPixels))
    return { cnn, fault: ["pixels", `Expected a whole number from 1 to ${FORMULA.mostPixels} for “${labelOf("pixels")}”.`] };
  if (!isWhole(ofClassifier, FORMULA.mostClasses) || ofClassifier < least)
    return { cnn, fault: ["classes", `Expected a whole number of at least ${least} for “${labelOf("classes")}”.`] };
  const counts = countsAt(SIZED, numbers, side, ofClassifier);
  if (!counts) return { cnn, fault: ["pixels", `The layers of ${row.cnn} do not fit images of ${side} pixels.`] };
  const named = Object.fromEntries(SIZED.columns.map((name, place) => [name, counts[place]]));
  CNNS[label] = { ...row, ...named, input_size_px: side, n_classes: ofClassifier, is_sized: true };
  return { cnn: label };
};
const choiceOf = (typed) => {
  const texts = isForward(typed) ? { ...typed, ...ONE_PASS } : typed;
  const { cnn, fault: sizeFault } = sizedCnn(namedOf("cnn", texts.cnn), texts.pixels, texts.classes);
  return onGpu(namedOf("gpu", texts.gpu), {
    ...texts,
    gpu: namedOf("gpu", texts.gpu),
    cnn,
    sizeFault,
    layout: texts.layout || (texts.stack === "channels_last" ? "channels_last" : "nchw"),
    ...Object.fromEntries(NUMBERS.map((id) => [id, texts[id] === "" ? NaN : Number(texts[id])])),
    ...Object.fromEntries(TICKS.map((id) => [id, texts[id] === "true"])),
    usualNodes: texts.nodes === "",
    usualFabric: texts.network === "usual",
    launch: texts["host-launch"] === "" ? null : Number(texts["host-launch"]) / 1e6,
    price: texts.price === "" ? null : Number(texts.price),
  });
};
const choiceOfForm = () => choiceOf(textsOfForm());

// The first field with a value that no prediction takes, and what it should hold; null for none.
const isWhole = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;
const isSpread = ({ gpus, nodes, largest }) =>
  largest > 0
    ? Number.isInteger(largest) && largest * nodes >= gpus && largest + nodes - 1 <= gpus
    : largest === 0 && gpus % nodes === 0;
const faultOf = (choice) => {
  for (const [id, table, thing] of [
    ["cnn", CNNS, "CNN"],
    ["gpu", GPUS, "GPU"],
  ])
    if (!Object.hasOwn(table, choice[id]))
      return [id, `Unknown ${thing} “${choice[id].slice(0, 60)}”: choose one of the list.`];
  if (choice.sizeFault) return choice.sizeFault;
  for (const [id, most] of Object.entries(FORMULA.most))
    if (!isWhole(choice[id], most))
      return [id, `Expected a whole number from 1 to ${most.toLocaleString("en")} for “${labelOf(id)}”.`];
  const { least, most } = FORMULA.launch;
  if (choice.launch !== null && !(choice.launch >= least && choice.launch <= most))
    return [
      "host-launch",
      `Expected a number of µs from ${shown(1e6 * least)} to ${(1e6 * most).toLocaleString("en")} for “${labelOf("host-launch")}”.`,
    ];
  if (!(choice.epochs > 0 && choice.epochs <= 1e6)) return ["epochs", "Expected a number of epochs above 0."];
  if (choice.price !== null && !(choice.price >= 0 && choice.price < 1e9))
    return ["price", "Expected a price of 0 or more, or nothing for the listed one."];
  const { family, lacks } = GPUS[choice.gpu];
  const precision = precisionOf(choice.gpu, choice);
  if (lacks?.includes(precision)) return ["precision", `${choice.gpu} has no ${precision}.`];
  const [maker, generation] = LINKS[choice.link]?.family ?? ["", 0];
  if (choice.gpus > choice.nodes && maker && (family[0] !== maker || (family[1] && generation > family[1])))
    return ["link", `${choice.gpu} has no link ${choice.link}.`];
  if ((choice.largest || Math.ceil(choice.gpus / choice.nodes)) > FORMULA.perNode)
    return ["nodes", `No node holds more than ${FORMULA.perNode} GPUs.`];
  if (isSpread(choice)) return null;
  const { gpus, nodes, largest } = choice;
  return largest > 0
    ? ["largest", `Expected GPUs of the largest node that fit ${gpus} GPUs on ${nodes} nodes; got ${largest}.`]
    : ["nodes", `Expected the GPUs to be spread evenly over the nodes; got ${gpus} GPUs on ${nodes} nodes.`];
};

// The fragment of the address: what differs from the first choice; that of A with a prefix.
const KEPT = "a.";
const parametersOf = (texts, prefix = "") =>
  FIELDS.filter((id) => ["cnn", "gpu", "batch"].includes(id) || texts[id] !== initial(id)).map((id) => [
    prefix + id,
    texts[id],
  ]);
const addressOf = (texts, kept) =>
  `#${new URLSearchParams([...parametersOf(texts), ...(kept ? parametersOf(kept, KEPT) : [])])}`;
const isOffered = (id, text) => {
  const { tagName, type, options } = field(id);
  if (type === "checkbox") return ["true", "false"].includes(text);
  if (type === "number") return text === initial(id) || (text !== "" && Number.isFinite(Number(text)));
  return tagName !== "SELECT" || [...options].some(({ value }) => value === text);
};
// Strings of an address, and what in it no field takes.
const textsOfAddress = (parameters, prefix = "") => {
  const texts = Object.fromEntries(
    FIELDS.map((id) => [id, (parameters.get(prefix + id) ?? initial(id)).slice(0, 200)]),
  );
  const refused = FIELDS.filter((id) => !isOffered(id, texts[id]));
  const said = refused.map((id) => `The link asks for ${labelOf(id)} “${texts[id].slice(0, 60)}”, which it cannot be.`);
  for (const id of refused) texts[id] = initial(id);
  return { texts, said: said[0] ?? "" };
};
const fillForm = (texts) => {
  for (const id of FIELDS)
    TICKS.includes(id) ? (field(id).checked = texts[id] === "true") : (field(id).value = texts[id]);
};
