"use strict";
const byId = (name) => document.getElementById(name);
const show = (value, digits = 3) => Number.isFinite(value) ? value.toLocaleString("en-US", {maximumFractionDigits: digits}) : "not defined";
const inputs = () => Object.fromEntries(FORMULA.features.map((name, index) => [name, Number(byId(`input-${index}`).value)]));
const labels = () => Object.fromEntries(FORMULA.keys.map((name, index) => [name, byId(`group-${index}`).value]));
function update() {
  const features = inputs();
  const wrong = FORMULA.features.filter((name, index) => byId(`input-${index}`).value === "" || !Number.isFinite(features[name]) || features[name] < FORMULA.low[index]);
  FORMULA.features.forEach((name, index) => byId(`input-${index}`).setAttribute("aria-invalid", wrong.includes(name)));
  const value = wrong.length ? NaN : FORMULA.predict(features, labels());
  const outside = FORMULA.features.filter((name) => FORMULA.ranges[name] && (features[name] < FORMULA.ranges[name][0] || features[name] > FORMULA.ranges[name][1]));
  byId("fault").textContent = wrong.length ? `enter ${wrong.join(", ")} as a number in its range` : outside.length ? `${outside.join(", ")} outside the range of the formula` : "";
  byId("time").textContent = Number.isFinite(value) ? `${show(value / FORMULA.shown[1], 2)} ${FORMULA.shown[0]}` : "not defined";
  byId("unit").textContent = Number.isFinite(value) ? FORMULA.shown[1] === 1 ? "" : `${show(value, FORMULA.shown[1] < 1 ? 6 : 1)} ${FORMULA.unit}` : "";
}
function take(index) {
  if (index === "") return;
  FORMULA.features.forEach((name, place) => { byId(`input-${place}`).value = FORMULA.cases[index][name]; });
  FORMULA.keys.forEach((name, place) => { byId(`group-${place}`).value = FORMULA.cases[index][name]; });
  update();
}
function cells(row, kind, values) {
  for (const value of values) {
    const cell = document.createElement(kind);
    cell.textContent = typeof value === "number" ? show(value) : value;
    if (typeof value === "number") cell.className = "n";
    row.append(cell);
  }
}
function start() {
  const all = [...FORMULA.keys, ...FORMULA.features];
  const differs = (name) => FORMULA.cases.length === 1 || FORMULA.cases.some((item) => item[name] !== FORMULA.cases[0][name]);
  const columns = all.filter(differs);
  byId("fixed").textContent = all.filter((name) => !differs(name)).map((name) => `${name} ${FORMULA.cases[0][name]}`).join(", ");
  const published = FORMULA.cases.every((item) => FORMULA.published in item);
  cells(byId("cases").tHead.insertRow(), "th", [...columns, `computed, ${FORMULA.shown[0]}`, ...(published ? ["published, min", "difference, min"] : [])]);
  FORMULA.cases.forEach((item, index) => {
    const shown = FORMULA.predict(item, item) / FORMULA.shown[1];
    const stated = published ? [item[FORMULA.published], shown - item[FORMULA.published]] : [];
    const row = byId("cases").tBodies[0].insertRow();
    row.dataset.time = shown;
    cells(row, "td", [...columns.map((name) => item[name]), shown, ...stated]);
    const option = document.createElement("option");
    option.value = index;
    option.textContent = columns.map((name) => `${name} ${item[name]}`).join(", ");
    byId("case").append(option);
  });
  const [body] = byId("cases").tBodies;
  [...byId("cases").tHead.rows[0].cells].forEach((cell, place) => { cell.className = body.rows[0].cells[place].className; });
  byId("case").addEventListener("change", (event) => take(event.target.value));
  byId("form").addEventListener("input", (event) => { if (event.target.id !== "case") { byId("case").value = ""; update(); } });
  byId("form").addEventListener("submit", (event) => event.preventDefault());
  byId("case").value = "0";
  take("0");
}
start();
