// Two choices side by side: A is kept, B is the form.
let keptTexts = null;
const keptChoice = () => (keptTexts ? choiceOf(keptTexts) : null);
const speedOf = (choice) => computed(choice.gpu, choice).values.samples_per_second;
const verdictText = (kept, choice) => {
  const ratio = speedOf(choice) / speedOf(kept);
  if (!Number.isFinite(ratio)) return "A and B cannot be compared";
  if (Math.abs(ratio - 1) < 0.005) return "A and B are equally fast";
  return ratio > 1 ? `B is ${shown(ratio)}× as fast as A` : `A is ${shown(1 / ratio)}× as fast as B`;
};
const settingText = (id, texts) => {
  if (TICKS.includes(id)) return texts[id] === "true" ? "yes" : "no";
  const option = [...(field(id).options ?? [])].find(({ value }) => value === texts[id]);
  return option?.text ?? (texts[id] || "not given");
};
const paragraphs = (texts) => (texts.length ? texts : ["none"]).map((text) => element("p", {}, text));
const linesOfComparison = (sides) => {
  const results = sides.map(({ choice }) => computed(choice.gpu, choice));
  const figures = results.map(figuresOf);
  const titles = new Set(figures.flatMap((lines) => Object.keys(lines)));
  const differing = FIELDS.filter((id) => sides[0].texts[id] !== sides[1].texts[id]);
  const used = sides.map(({ choice }) => precisionOf(choice.gpu, choice));
  return [
    ...differing.map((id) => [labelOf(id), ...sides.map(({ texts }) => settingText(id, texts))]),
    ...(used[0] === used[1] || differing.includes("precision") ? [] : [["precision used", ...used]]),
    ...[...titles].map((title) => [title, ...figures.map((lines) => (lines[title] ?? []).filter(Boolean).join(", "))]),
    ["warnings", ...results.map((result) => paragraphs(sentencesOf(result, "warning")))],
  ];
};
// Throughputs whose intervals do not touch are in a sure order.
const orderText = (sides) => {
  const speeds = sides.map(({ choice }) =>
    endsOf(computed(choice.gpu, choice))?.map((end) => (choice.gpus * choice.batch) / end),
  );
  if (speeds.some((ends) => !ends)) return "Not both have an interval, so the order is not certain.";
  const [one, other] = speeds.sort(([, low], [, other]) => low - other);
  return one[0] < other[1]
    ? "Their intervals do not touch."
    : "Their intervals overlap, so the order is not certain.";
};
const showComparison = (texts, choice) => {
  const kept = keptChoice();
  field("comparison").hidden = !kept;
  field("keep").textContent = kept ? "Keep this one as A instead" : "Compare: keep this as A";
  if (!kept) return;
  const sides = [
    { texts: keptTexts, choice: kept },
    { texts, choice },
  ];
  field("verdict").textContent = `${verdictText(kept, choice)}, in images per second. ${orderText(sides)}`;
  field("comparison-rows").replaceChildren(
    ...linesOfComparison(sides).map(([title, ...cells]) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, title),
        ...cells.map((cell) => element("td", {}, ...[cell].flat())),
      ),
    ),
  );
};
const startComparison = () => {
  field("keep").addEventListener("click", () => {
    keptTexts = textsOfForm();
    show();
    field("kept-said").textContent = "Kept as A. Now change the inputs: they are B.";
  });
  field("swap").addEventListener("click", () => {
    const texts = textsOfForm();
    fillForm(keptTexts);
    keptTexts = texts;
    show();
  });
  field("end-comparison").addEventListener("click", () => {
    keptTexts = null;
    field("kept-said").textContent = "";
    show();
    field("keep").focus();
  });
};
