// Lists that are searched by typing: an input with options in groups (WAI-ARIA combobox).
const optionOf = (id, [name, remark], isChosen) => {
  const attributes = { role: "option", id, "aria-selected": String(isChosen) };
  const option = element("div", attributes, element("span", {}, name), element("small", {}, remark));
  option.dataset.name = name;
  return option;
};
// The groups with their options that match a text; those without any are left out.
const optionsOf = (id, groups, search, chosen) => {
  let number = 0;
  const words = wordsOf(search);
  const made = groups.map(([heading, rows]) => {
    const title = element("div", { class: "heading", role: "presentation" }, heading);
    const group = element("div", { role: "group", "aria-label": heading }, title);
    const found = rows.filter(([name, remark]) => matches(words, `${name} ${remark}`));
    group.append(...found.map((row) => optionOf(`${id}-option-${number++}`, row, row[0] === chosen)));
    return found.length ? [group] : [];
  });
  const none = { class: "heading", role: "option", "aria-disabled": "true", "aria-selected": "false" };
  return number ? made.flat() : [element("div", none, "nothing matches")];
};
// A name such as p4d.24xlarge or 8x T4 fills in the number of GPUs, which the next name empties.
let isCounted = false;
const fillCount = (text) => {
  const { count } = meaningOf("gpu", text);
  if (count > 1 || isCounted) field("gpus").value = count > 1 ? String(count) : initial("gpus");
  isCounted = count > 1;
};
// groups: () => [[heading, [[name, remark], ...]], ...]; chosen: called once a name is in the input.
const searchable = (id, groups, chosen) => {
  const [input, list] = [field(id), field(`${id}-list`)];
  let [active, before, isMoved] = [-1, "", false];
  const options = () => [...list.querySelectorAll("[role=option]")];
  const isOpen = () => !list.hidden;
  const mark = (index) => {
    active = index;
    options().forEach((option, place) => option.classList.toggle("active", place === index));
    const option = options()[index];
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  };
  const open = (search) => {
    list.replaceChildren(...optionsOf(id, groups(), search, before));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    list.scrollIntoView({ block: "nearest" });
    // What the text names, not what merely has its letters: resnet50 is the one of the usual size.
    const wanted = search ? meant() : before;
    mark(options().findIndex(({ dataset }) => dataset.name === wanted));
  };
  const close = (name) => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    if (id === "gpu" && input.value !== before) fillCount(input.value);
    if (name !== undefined && name !== input.value) input.value = name;
    if (input.value !== before) chosen();
    before = input.value;
  };
  // What a text without a choice means: a name of the list, an instance, or the only CNN with a size that matches.
  const meant = () => {
    const text = input.value.trim();
    const names = options().flatMap(({ dataset }) => dataset.name ?? []);
    const same = names.find((name) => name.toLowerCase() === text.toLowerCase());
    const { name, instance } = meaningOf(id, text);
    if (same || instance) return same ?? instance;
    const isOfSize = !name && id === "cnn" && names.length === 1 && /[\s,]\d/.test(text);
    return isOfSize ? names[0] : namedOf(id, text) || before;
  };
  input.addEventListener("focus", () => (before = input.value));
  input.addEventListener("input", () => {
    isMoved = false;
    open(input.value);
  });
  input.addEventListener("click", () => {
    if (isOpen()) return;
    input.select();
    open("");
  });
  input.addEventListener("blur", () => isOpen() && close(meant()));
  input.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) isMoved = true;
    if (move && !isOpen()) open("");
    else if (move) mark((active + move + options().length) % options().length);
    else if (event.key === "Enter" && isOpen()) close((isMoved && options()[active]?.dataset.name) || meant());
    else if (event.key === "Escape" && isOpen()) close(before);
    else return;
    event.preventDefault();
  });
  // The input keeps the focus while an option is pressed.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const name = event.target.closest("[role=option]")?.dataset.name;
    if (name) close(name);
  });
};

const gpuGroups = () => {
  const remarkOf = ({ generation, memory_bytes: size }) =>
    [generation, size && `${gigabytes(size)} GB`].filter(Boolean).join(" · ");
  const names = Object.keys(GPUS).map((name) => [name, remarkOf(GPUS[name])]);
  const isUnseen = ([name]) => GPUS[name].is_unseen_vendor || GPUS[name].is_unseen_generation;
  const first = FORMULA.namesKinds ? "kinds with training runs" : "all GPUs";
  return [
    [first, names.filter((item) => !isUnseen(item))],
    ["never measured kinds", names.filter(isUnseen)],
  ];
};
const cnnGroups = () => {
  const { cnn: errors } = FORMULA.errors;
  const others = Object.keys(errors).length ? "without training runs" : "all CNNs";
  const groupOf = ({ is_custom: isCustom, cnn_base: base }) =>
    isCustom ? "custom" : Object.hasOwn(errors, base) ? "with training runs" : others;
  return ["custom", "with training runs", others].map((group) => [
    group,
    Object.keys(CNNS).flatMap((label) => (groupOf(CNNS[label]) === group ? [[label, ""]] : [])),
  ]);
};
