// Names as people write them: without case, separators and words of makers, as commands read them.
const MAKERS = /\((?:r|tm|c)\)|[®™©]|\b(?:nvidia|amd|intel|geforce|tesla|corporation|graphics|gpu|processor|cpu|colab|kaggle)\b/g;
const plainOf = (text) =>
  text
    .toLowerCase()
    .replace(MAKERS, "")
    .replace(/(?<=\d)[\s_-]*\(?v1[._]5\)?$/, "")
    .replace(/^(?:standard|ml)[\s._-]/, "")
    .replace(/^eff(?:icient)?net(?!v2)/, "efficientnet")
    .replace(/[\s_,./()-]/g, "");
const plainNames = Object.fromEntries(
  Object.entries({ gpu: GPUS, cnn: CNNS }).map(([id, table]) => [
    id,
    new Map(
      [...Object.entries(SPELLINGS[id]), ...Object.keys(table).map((name) => [name, name])].map(([name, own]) => [
        plainOf(name),
        own,
      ]),
    ),
  ]),
);
// The name in the list that a text means; the text itself where no name is meant.
const namedOf = (id, text) => {
  const table = id === "gpu" ? GPUS : CNNS;
  if (Object.hasOwn(table, text)) return text;
  const spelled = SPELLINGS[id];
  return Object.hasOwn(spelled, text) ? spelled[text] : (plainNames[id].get(plainOf(text)) ?? text);
};
// Whether a text has all words of a search.
const wordsOf = (text) => text.toLowerCase().split(/[\s,]+/).filter(Boolean);
const matches = (words, text) => words.every((word) => text.toLowerCase().includes(word));
// Names of the list that have all words of a text.
const nearOf = (id, text) => {
  const words = wordsOf(text.replace(/nvidia|geforce|tesla|amd|intel/gi, ""));
  return words.length ? Object.keys(id === "gpu" ? GPUS : CNNS).filter((name) => matches(words, name)).slice(0, 5) : [];
};
const instanceGpus = (text) =>
  Object.entries(INSTANCES).find(([name]) => plainOf(name) === plainOf(text))?.[1];
