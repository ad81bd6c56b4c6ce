// The script of the page as a module: predict("resnet50", "T4", 64, "amp", { n_gpus: 8 }).
// The field of the form that each argument and option sets, and what lists offer.
const { fieldOf: FIELD_OF, offered: OFFERED } = FORMULA;
const labelOf = (id) => Object.keys(FIELD_OF).find((name) => FIELD_OF[name] === id) ?? id;
const check = (holds, expected, found) => {
  if (!holds) throw new RangeError(`expected ${expected}, got ${JSON.stringify(found) ?? found}`);
};
const textOf = (name, value) => {
  const id = FIELD_OF[name];
  const options = Object.keys(FIELD_OF).filter((each) => !["batch", "precision"].includes(each));
  check(id, `options ${options.join(", ")}, pixels or classes`, name);
  if (TICKS.includes(id)) check(typeof value === "boolean", `${name} as true or false`, value);
  else if (OFFERED[id]) check(OFFERED[id].includes(value), `${name} as one of ${OFFERED[id].join(", ")}`, value);
  else check(typeof value === "number" && Number.isFinite(value), `${name} as a number`, value);
  const limit = Object.values(FORMULA.limits).find((each) => each.name === name);
  if (limit) check(isWithin(limit, value), `${name} as ${limit.expected}`, value);
  return [id, String(name === "host_launch_s" ? 1e6 * value : value)];
};
// The CNN of the list with these sizes; without them those that are usual for it.
const sizedLabel = (label, pixels, classes) => {
  const { cnn } = CNNS[label];
  const isMeant = (row) => row.cnn === cnn && [row.input_size_px, null].includes(pixels) && [row.n_classes, null].includes(classes);
  const found = [label, ...Object.keys(CNNS)].find((one) => isMeant(CNNS[one]));
  check(found, `pixels and classes of ${cnn} as CNNS lists them`, [pixels, classes]);
  return found;
};
const nameOf = (id, text, table) => {
  const name = namedOf(id, String(text));
  if (!Object.hasOwn(table, name)) throw new RangeError(questionOf(id, String(text)));
  return name;
};
// The choice of the page that names and options mean; throws a RangeError where they mean none.
const chosen = (cnn, gpu, batch, precision, options) => {
  const { pixels = null, classes = null, ...more } = options;
  const given = Object.entries({ batch, precision, ...more }).filter(([, value]) => value !== null);
  nameOf("gpu", gpu, GPUS);
  const choice = choiceOf({
    ...FORMULA.first,
    gpu: String(gpu),
    cnn: sizedLabel(nameOf("cnn", cnn, CNNS), pixels, classes),
    ...Object.fromEntries(given.map(([name, value]) => textOf(name, value))),
  });
  const fault = faultOf(choice);
  if (fault) throw new RangeError(fault[1]);
  return choice;
};
/**
 * Predict the time of one iteration, or of a forward pass where the formula is of these.
 *
 * Throws a RangeError for an unknown name or a value out of range; null means the usual value.
 *
 * @param {string} cnn
 * @param {string} gpu
 * @param {number} batch images per GPU
 * @param {string | null} [precision] one of PRECISIONS; null for PyTorch's default on the GPU
 * @param {object} [options] pixels, classes, and those of FIELD_OF: times in seconds, prices per hour of a GPU
 * @returns {object} time_s, low_s, high_s (the interval; null without one) and what else predictions publish,
 *   the precision used, warnings and notes
 */
export const predict = (cnn, gpu, batch, precision = null, options = {}) => {
  const choice = chosen(cnn, gpu, batch, precision, options);
  const result = computed(choice.gpu, choice);
  if (!Number.isFinite(result.seconds))
    throw new RangeError(`the formula is not defined here: a specification of ${choice.gpu} that it needs is not known`);
  const published = result.law.answers.filter(({ isPublished }) => isPublished).map(({ name, words }) => {
    const value = result.values[name];
    return [name, words ? wordOf(words, value) : Number.isFinite(value) ? value : null];
  });
  return {
    ...Object.fromEntries(published),
    // As in Python.
    seconds: result.values.time_s,
    interval: endsOf(result),
    images_per_second: result.values.samples_per_second,
    precision: precisionOf(choice.gpu, choice),
    warnings: sentencesOf(result, "warning"),
    notes: sentencesOf(result, "note"),
  };
};
// What a time follows from but the batch, by what was asked for; the first thousands are kept.
const KEPT = new Map();
const kept = (cnn, gpu, precision, options) => {
  const key = options === NONE ? `${cnn}\n${gpu}\n${precision}` : JSON.stringify([cnn, gpu, precision, options]);
  let found = KEPT.get(key);
  if (!found) {
    const choice = chosen(cnn, gpu, 1, precision, options);
    const on = onGpu(choice.gpu, choice);
    found = { law: lawOf(on), several: on.gpus > 1, columns: columnsOf(choice.gpu, on), features: featuresOf(columnsOf(choice.gpu, on), on) };
    if (KEPT.size < 10000) KEPT.set(key, found);
  }
  return found;
};
const NONE = Object.freeze({});
const VARYING = FORMULA.features.filter(({ varies }) => varies);
const timeOf = ({ law, several, columns, features }, batch) => {
  check(isWithin(FORMULA.limits.batch, batch), `batch as ${FORMULA.limits.batch.expected}`, batch);
  columns.batch_per_gpu = batch;
  for (const { name, compute } of VARYING) features[name] = compute(columns);
  const single = law.predict(features);
  return several ? single + FORMULA.allReduce({ ...columns, single_gpu_time_s: single }) : single;
};
/**
 * The seconds that predict() gives as time_s, without interval and warnings: in a fiftieth of the time.
 *
 * @returns {number} NaN where the formula is not defined
 */
export const seconds = (cnn, gpu, batch, precision = null, options = NONE) =>
  timeOf(kept(cnn, gpu, precision, options), batch);
/**
 * The seconds of many rows: CNN, GPU and batch are arrays of one length, or single values for all rows.
 *
 * @returns {Float64Array}
 */
export const predictMany = (cnn, gpu, batch, precision = null, options = NONE) => {
  const parts = [cnn, gpu, batch];
  const isList = (part) => typeof part === "object" && part !== null;
  const count = Math.max(1, ...parts.filter(isList).map(({ length }) => length));
  for (const part of parts) check(!isList(part) || part.length === count, `arrays of ${count} values`, part.length);
  const at = (part, row) => (isList(part) ? part[row] : part);
  return Float64Array.from({ length: count }, (_, row) =>
    timeOf(kept(at(cnn, row), at(gpu, row), precision, options), at(batch, row)),
  );
};
export { ALGORITHMS, CNNS, FIELD_OF, GPUS, LINKS, PRECISIONS, meaningOf, questionOf };
