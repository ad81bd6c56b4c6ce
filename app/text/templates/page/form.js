// The form, and the address that repeats the choice that it holds.
const field = (id) => document.getElementById(id);
const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const labelOf = (id) => field(id).labels[0].textContent.trim();
const textsOfForm = () =>
  Object.fromEntries(FIELDS.map((id) => [id, TICKS.includes(id) ? String(field(id).checked) : field(id).value.trim()]));
const choiceOfForm = () => choiceOf(textsOfForm());

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
