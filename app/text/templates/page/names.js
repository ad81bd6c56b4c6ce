// What a text means among the names of GPUs or CNNs, by the rules and tables of NAMES, as `datasets/naming.py` has it.
const patternsOf = (kind, use) => (kind.rules[use] ?? []).map(([pattern, text]) => [new RegExp(pattern, "g"), text]);
const rewritten = (text, rules) => rules.reduce((found, [pattern, by]) => found.replace(pattern, by), text);
const indexOf = (kind) => {
  const index = { ...kind, ...Object.fromEntries(Object.keys(kind.rules).map((use) => [use, patternsOf(kind, use)])) };
  index.named = new Map(Object.entries(kind.exact).flatMap(([name, texts]) => [name, ...texts].map((text) => [text, name])));
  index.keys = new Map(kind.keys.map(([key, ...names]) => [key, names]));
  for (const [text, name] of index.named) {
    const key = keyOf(index, text);
    if (!index.keys.has(key)) index.keys.set(key, [name]);
  }
  index.loose = new Map(kind.loose.map(([key, ...names]) => [key, names]));
  return index;
};
const cleanOf = (index, text) => rewritten(text.toLowerCase(), index.clean);
const keyOf = (index, text) => rewritten(cleanOf(index, text), index.rule);
const matchOf = (pattern, text) => {
  pattern.lastIndex = 0;
  return pattern.exec(text);
};
const isNear = (size, other) => Math.abs(size - other) <= 0.08 * Math.max(size, other);
const compared = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
// A text without the size of a memory, and that size in GB; "16GB, 16384 MiB" says the same twice.
const withoutSize = (index, text) => {
  let [rest, size] = [text, null];
  for (const [pattern] of [...index.size, ...index.size]) {
    const match = matchOf(pattern, rest);
    const found = match && Number(match[1]) / (match[2][0] === "m" ? 1024 : 1);
    if (!found || (size !== null && !isNear(size, found))) continue;
    rest = `${rest.slice(0, match.index)} ${rest.slice(match.index + match[0].length)}`;
    size ??= found;
  }
  return [rest, size];
};
// Names of which a key of a word is the beginning; a number that is cut off is a slip.
const beginningWith = (index, key) => {
  if (!/^(?:[a-z]{3}|[a-z]+[0-9])/.test(key)) return [];
  const found = new Set();
  for (const [other, names] of index.keys)
    if (other.startsWith(key) || other.startsWith(`timm${key}`))
      if (!/^[0-9]{2}/.test(key.at(-1) + other.slice(other.indexOf(key) + key.length)))
        for (const name of names) if (!Object.hasOwn(index.instances, name)) found.add(name);
  return [...found].sort(
    (one, other) => one.includes("/") - other.includes("/") || one.length - other.length || compared(one, other),
  );
};
// The names that a text may mean, and whether it means the only one of them.
const foundOf = (index, text) => {
  const whole = index.keys.get(keyOf(index, text));
  if (whole) return [whole, whole.length === 1];
  const [rest, size] = withoutSize(index, text);
  const key = keyOf(index, rest);
  const known = index.loose.get(key);
  const names = known ?? beginningWith(index, key);
  if (size === null) return [names, known !== undefined && names.length === 1];
  const fitting = names.filter((name) => isNear(index.sizes[name] ?? 0, size));
  return [fitting.length ? fitting : names, fitting.length === 1];
};
const pairsOf = (key) => new Set([...key].slice(1).map((_, place) => key.slice(place, place + 2)));
// Up to three names that resemble a text, the nearest first.
const resembling = (index, text, least) => {
  const wanted = pairsOf(`^${keyOf(index, text)}$`);
  const scores = new Map();
  for (const [key, names] of wanted.size > 2 ? index.keys : []) {
    const other = pairsOf(`^${key}$`);
    const score = (2 * [...wanted].filter((pair) => other.has(pair)).length) / (wanted.size + other.size);
    if (score > least) for (const name of names) scores.set(name, Math.max(score, scores.get(name) ?? 0));
  }
  const ordered = [...scores].sort(([one, a], [other, b]) => (Math.abs(a - b) > 1e-9 ? b - a : compared(one, other)));
  return ordered.slice(0, 3).map(([name]) => name);
};
const meant = (index, names, isSure, count) => {
  const name = isSure ? names[0] : "";
  const [gpu, each] = Object.hasOwn(index.instances, name) ? index.instances[name] : [name, 1];
  return { name: gpu, candidates: names, count: count * each, instance: gpu === name ? "" : name, reason: "" };
};
// {name, candidates, count, instance, reason}: `name` is empty where the text means no name for sure.
const meaningIn = (index, text) => {
  if (index.named.has(text)) return meant(index, [index.named.get(text)], true, 1);
  if (text.length > 200) return { name: "", candidates: [], count: 0, instance: "", reason: "" };
  const plain = cleanOf(index, text);
  let [names, isSure] = foundOf(index, plain);
  let count = 1;
  for (const [pattern] of index.count) {
    const match = names.length ? null : matchOf(pattern, plain);
    if (match) [names, isSure] = foundOf(index, plain.replace(pattern, " "));
    if (match) count = Number(match[1]) || 1;
  }
  if (names.length > 1 || isSure) return meant(index, names, isSure, count);
  let reason = index.no.find(([pattern]) => matchOf(pattern, plain))?.[1] ?? "";
  for (const [pattern] of index.stop) {
    const match = reason ? null : matchOf(pattern, plain);
    if (!match) continue;
    reason = `no ${match[0].trim().split(/\s/)[0]} variant is known, and it differs from the plain GPU`;
    if (!names.length) [names] = foundOf(index, plain.replace(pattern, " "));
  }
  // Who slips in a letter may happen to write the beginning of another name.
  const near = names.length && reason ? [] : resembling(index, text, names.length ? 0.7 : 0.45);
  return { name: "", candidates: [...new Set([...names, ...near])].slice(0, 3), count: 0, instance: "", reason };
};
const quoted = (text) => (text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text.replace(/'/g, "\\'")}'`);
// What is asked or said in one line of a text that means no name for sure.
const questionIn = (index, text, { candidates, count, reason }) => {
  const said = text.length <= 60 ? quoted(text.trim().split(/\s+/).join(" ")) : `${quoted(text.slice(0, 57)).slice(0, -1)}...`;
  if (index.no.some(([, why]) => why === reason)) return `${said} ${reason}`;
  const listed = candidates.slice(0, 8);
  if (candidates.length > 1 && count) {
    const more = candidates.length > 8 ? ` and ${candidates.length - 8} more` : "";
    return `${said} may mean several ${index.kind}s: ${listed.join(", ")}${more}; give one of them`;
  }
  const advice = listed.length ? `did you mean ${listed.map(quoted).join(" or ")}?` : index.unknown[0][1];
  return `unknown ${index.kind} ${said}: ${[reason, advice].filter(Boolean).join("; ")}`;
};
const INDICES = {}; // made when a text is first looked up
const indexNamed = (id) => (INDICES[id] ??= indexOf(NAMES[id]));
const meaningOf = (id, text) => meaningIn(indexNamed(id), text);
const questionOf = (id, text) => {
  const meaning = meaningOf(id, text);
  if (meaning.name) return `${meaning.name} is not in this table: \`trainlaw predict\` computes it`;
  return questionIn(indexNamed(id), text, meaning);
};
// The name in the list that a text means; the text itself where no name is meant.
const namedOf = (id, text) => {
  if (Object.hasOwn(id === "gpu" ? GPUS : CNNS, text)) return text;
  const { name } = meaningOf(id, text);
  return (id === "gpu" ? name : LABELS[name] ?? name) || text;
};
// Whether a text has all words of a search.
const wordsOf = (text) => text.toLowerCase().split(/[\s,]+/).filter(Boolean);
const matches = (words, text) => words.every((word) => text.toLowerCase().includes(word));
