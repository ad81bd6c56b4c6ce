// Where the time goes: the largest shares, the smaller ones folded. Each share is a sum of terms of the formula.
const FEW_TERMS = 5;
const timesOf = ({ law, features, allReduce }) => {
  const sides = law.sides.map((side) => side(features));
  // A term inside a maximum counts where its side is larger than the others, of equal ones the first.
  const wins = ([side, other, isLarger]) => sides[side] > sides[other] || (!isLarger && sides[side] === sides[other]);
  const counted = ([term, against]) => (against.every(wins) ? term(features) : 0);
  const time = (terms) => terms.reduce((sum, term) => sum + counted(term), 0);
  return {
    ...Object.fromEntries(law.titles.map((title, place) => [title, time(law.terms[place])])),
    ...(FORMULA.coversGpus ? {} : { "all-reduce of the gradients": allReduce }),
  };
};
const bar = (share, ends = null, kind = "") => {
  const width = (value) => `${100 * Math.max(0, Math.min(1, Number.isFinite(value) ? value : 0))}%`;
  const [outer, inner] = [element("span", { class: `bar ${kind}`, "aria-hidden": "true" }), element("i")];
  inner.style.width = width(share);
  outer.append(inner);
  if (ends) {
    const reach = element("b");
    reach.style.left = width(ends[0]);
    reach.style.width = `calc(${width(ends[1])} - ${width(ends[0])})`;
    outer.append(reach);
  }
  return outer;
};
const showNumbers = (result) => {
  const { features } = result;
  for (const place of document.querySelectorAll("[data-feature]")) {
    const feature = FORMULA.features[Number(place.dataset.feature)];
    place.textContent = quantity(features[feature.name], feature.unit);
    place.classList.toggle("fault", isOutside(result, feature.name));
  }
};
const showTerms = (result, formula) => {
  const times = timesOf(result);
  const known = Number.isFinite(result.seconds);
  const rows = [...document.querySelectorAll("[data-term]")].map((row) => ({
    row,
    time: (row.dataset.formula ?? formula) === formula ? times[row.dataset.term] : 0,
  }));
  for (const { row, time } of rows) {
    const share = time / result.seconds;
    row.hidden = !known || !(time > 0);
    row.dataset.seconds = String(time);
    row.querySelector(".share").textContent = `${duration(time)}, ${percent(100 * share)}`;
    row.querySelector(".bar").replaceWith(bar(share));
  }
  const there = rows.filter(({ row }) => !row.hidden).sort((one, other) => other.time - one.time);
  const smaller = there.slice(FEW_TERMS);
  const rest = smaller.reduce((sum, { time }) => sum + time, 0);
  const lists = [field("terms"), field("smaller-terms")];
  rows.filter(({ row }) => row.hidden).forEach(({ row }) => lists[1].append(row));
  there.forEach(({ row }, place) => lists[place < FEW_TERMS ? 0 : 1].append(row));
  field("smaller").hidden = !smaller.length;
  field("smaller-title").textContent =
    `${counted(smaller.length, "smaller share")}: ${duration(rest)}, ${percent((100 * rest) / result.seconds)}`;
  showNumbers(result);
};
