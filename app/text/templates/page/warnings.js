// The warnings of `trainlaw predict`, in its order: its own sentences, with the numbers filled in here.
const isOutside = (feature, value) =>
  feature.low !== null && Number.isFinite(value) && !(value >= feature.low && value <= feature.high);
const isJointlyOutside = (features) => {
  const joint = FORMULA.joint;
  if (!joint) return false;
  const place = joint.names.map((name, index) => Math.log(features[name] + joint.floors[index]) - joint.centre[index]);
  const squares = joint.whitening.map((row) => row.reduce((sum, weight, index) => sum + weight * place[index], 0) ** 2);
  return !(Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length) <= joint.limit);
};
const changesOf = (choice) =>
  ["peak", "bandwidth"].filter((rate) => choice[rate] !== 1).map((rate) => `${choice[rate]}x ${rate}`);
const isChanged = (choice) => changesOf(choice).length > 0;
const changedName = (gpu, choice) => (isChanged(choice) ? `${gpu} with ${changesOf(choice).join(", ")}` : gpu);
const memoryWarning = (choice, columns) => {
  const { least, usual, held, fits } = memoryOf(columns);
  const sentence = FORMULA.said.memory[fits];
  if (!sentence) return [];
  const needed = gigabytes(fits === FORMULA.said.fits.no ? least : usual);
  const rough = CNNS[choice.cnn].memory_is_rough ? FORMULA.said.rough : "";
  return [filled(sentence, { needed, held: gigabytes(held) }) + rough];
};
const hostWarning = (choice, columns, features) => {
  if (!(FORMULA.hostMargin && FORMULA.hostMargin(features) > 0)) return [];
  const { host, hostUnknown } = FORMULA.said;
  const launch = duration(choice.launch ?? columns.usual_launch_s);
  return [filled(choice.launch === null ? hostUnknown : host, { ...choice, launch })];
};
const ignoredWarnings = (choice) => {
  const stated = { layout: choice.layout !== "nchw", tuned: choice.is_tuned, host_launch_s: choice.launch !== null };
  return Object.keys(FORMULA.said.ignored)
    .filter((name) => stated[name])
    .map((name) => FORMULA.said.ignored[name]);
};
const warningsOf = (choice, { gpu, columns, features, seconds }) => {
  const { said } = FORMULA;
  const [specifications, precision] = [GPUS[gpu], PRECISIONS[precisionOf(gpu, choice)]];
  const known = Number.isFinite(seconds);
  const far = FORMULA.features.filter((feature) => isOutside(feature, features[feature.name]));
  return [
    ...far.map(({ name }) => filled(said.outside[name], { value: shown(features[name]) })),
    ...precision.untrained,
    ...(specifications.unseen ?? []),
    ...(known && isJointlyOutside(features) ? [said.jointly] : []),
    ...(CNNS[choice.cnn].notes ?? []),
    ...(specifications.unknown ?? []).map((name) => filled(said.unknown, { name, gpu: changedName(gpu, choice) })),
    ...(specifications.unusual?.[precisionOf(gpu, choice)] ?? []),
    ...(choice.gpus > said.mostGpus ? [filled(said.manyGpus, choice)] : []),
    ...memoryWarning(choice, columns),
    ...ignoredWarnings(choice),
    ...(isChanged(choice) ? said.uncalibrated : (specifications.uncalibrated ?? [])),
    ...precision.uncalibrated,
    ...hostWarning(choice, columns, features),
    ...(choice.gpus > 1 && said.several[choice.algorithm] ? [said.several[choice.algorithm]] : []),
    ...(known ? [] : [said.undefined]),
  ];
};
const notesOf = (choice, { gpu }) => (choice.precision ? [] : [PRECISIONS[precisionOf(gpu, choice)].note]);
