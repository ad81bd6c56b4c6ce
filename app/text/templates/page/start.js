// The page as a whole: what is shown for the form, and what happens when something changes.
let refused = ""; // what the address asks for and no list has; until something changes
const sliderSteps = { batch: 4, gpus: 1 };
const slide = (id) =>
  (field(`${id}-slider`).value = String(Math.round(sliderSteps[id] * Math.log2(Number(field(id).value) || 1))));
const showFault = (fault) => {
  for (const id of FIELDS) field(id).toggleAttribute("aria-invalid", false);
  if (fault?.[0]) field(fault[0]).setAttribute("aria-invalid", "true");
  field("fault").textContent = fault?.[1] ?? "";
  document.body.classList.toggle("faulty", fault !== null);
  if (!fault) return;
  field("glance-time").textContent = "–";
  field("glance-more").textContent = fault[1];
};
const showFields = (choice) => {
  const several = choice.gpus > 1;
  const { known, isForward: isPass } = lawOf(choice);
  const there = {
    ...Object.fromEntries(FORMULA.optional.map((id) => [id, true])),
    gpus: !isPass,
    epochs: !isPass,
    nodes: several,
    algorithm: several,
    largest: choice.nodes > 1,
    link: several && choice.gpus > choice.nodes,
    network: choice.nodes > 1,
    is_bucketed: several,
  };
  for (const [id, isThere] of Object.entries(there))
    field(id).closest(".field").hidden = !isThere || (FORMULA.optional.includes(id) && !known.includes(id));
  for (const place of document.querySelectorAll("[data-pass]"))
    place.textContent = isPass ? place.dataset.pass : place.dataset.training;
  field("changed").hidden = choice.peak === 1 && choice.bandwidth === 1;
  const gpu = GPUS[choice.gpu];
  if (!gpu) return;
  field("link").options[0].text = `the GPU's own (${linkOf(choice.gpu, { ...choice, link: "own" })})`;
  field("network").options[0].text = `usual servers: ${onGpu(choice.gpu, { ...choice, usualFabric: true }).network}`;
  field("nodes").placeholder = String(onGpu(choice.gpu, { ...choice, usualNodes: true }).nodes);
  field("precision").options[0].text = isPass ? `${FORMULA.ofPasses}, as measured` : `PyTorch's default: ${gpu.default_precision}`;
  const listed = priceOf(choice.gpu, { ...choice, price: null });
  field("price").placeholder = Number.isFinite(listed) ? `${shown(listed)}, listed` : "not listed";
};
// The address follows a moment later: browsers refuse very many changes in a row.
let pending = 0;
const keepAddress = (texts) => {
  clearTimeout(pending);
  pending = setTimeout(() => history.replaceState(null, "", addressOf(texts, keptTexts)), 200);
};
const show = () => {
  const texts = textsOfForm();
  const choice = choiceOf(texts);
  const fault = refused ? ["", refused] : faultOf(choice);
  showFault(fault);
  showFields(choice);
  if (fault) return;
  for (const id of Object.keys(sliderSteps)) slide(id);
  const result = computed(choice.gpu, choice);
  showComparison(texts, choice);
  showAnswer(choice, result, keptChoice());
  showTerms(result, choice.formula);
  showRanking(choice);
  keepAddress(texts);
};
const changed = () => {
  refused = "";
  show();
};

const readAddress = (fragment = location.hash.slice(1)) => {
  clearTimeout(pending);
  const parameters = new URLSearchParams(fragment);
  const { texts, said } = textsOfAddress(parameters);
  fillForm(texts);
  if (texts.gpus === initial("gpus")) fillCount(texts.gpu);
  refused = said;
  const isKept = [...parameters.keys()].some((name) => name.startsWith(KEPT));
  const kept = textsOfAddress(parameters, KEPT);
  keptTexts = isKept && !kept.said && !faultOf(choiceOf(kept.texts)) ? kept.texts : null;
  // What is not as at first must be seen.
  for (const details of field("form").querySelectorAll("details"))
    details.open ||= FIELDS.some((id) => details.contains(field(id)) && texts[id] !== initial(id));
};
const copyLink = async () => {
  try {
    await navigator.clipboard.writeText(location.href.split("#")[0] + addressOf(textsOfForm(), keptTexts));
    field("shared").textContent = "Link copied.";
  } catch {
    field("shared").textContent = "The address of this page is the link: copy it from the address bar.";
  }
};
const listen = () => {
  for (const id of FIELDS) if (!["cnn", "gpu"].includes(id)) field(id).addEventListener("input", changed);
  for (const id of Object.keys(sliderSteps))
    field(`${id}-slider`).addEventListener("input", (event) => {
      field(id).value = String(Math.round(2 ** (Number(event.target.value) / sliderSteps[id])));
      changed();
    });
  for (const id of ["search", "order"])
    field(id).addEventListener("input", () => faultOf(choiceOfForm()) ?? showRanking(choiceOfForm()));
  field("more").addEventListener("click", () => {
    everyGpu = !everyGpu;
    showRanking(choiceOfForm());
  });
  field("reset").addEventListener("click", () => {
    field("peak").value = field("bandwidth").value = "1";
    changed();
    field("peak").focus();
  });
  field("share").addEventListener("click", copyLink);
  field("form").addEventListener("submit", (event) => event.preventDefault());
  // While the answer is out of sight, a bar at the bottom shows it.
  new IntersectionObserver(([seen]) => (field("glance").hidden = seen.isIntersecting)).observe(field("time"));
  // Do not follow the links: the fragment of the address holds the configuration.
  for (const id of ["skip", "glance-link"])
    field(id).addEventListener("click", (event) => {
      event.preventDefault();
      field("result").focus();
      field("result").scrollIntoView({ block: "start" });
    });
  window.addEventListener("hashchange", () => {
    readAddress();
    show();
  });
};
// On a wide screen the form stays in view; where it is higher than the screen, its end does.
const stick = () => (field("form").style.top = `${Math.min(12, innerHeight - field("form").offsetHeight - 72)}px`);
new ResizeObserver(stick).observe(field("form"));
window.addEventListener("resize", stick);
searchable("cnn", cnnGroups, changed);
searchable("gpu", gpuGroups, changed);
startComparison();
startFiles();
listen();
readAddress();
show();
