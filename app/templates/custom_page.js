"use strict";
const byId = (name) => document.getElementById(name);
const show = (value, digits = 3) => Number.isFinite(value) ? value.toLocaleString("en-US", {maximumFractionDigits: digits}) : "not defined";
const inputs = () => Object.fromEntries(LAW.features.map((name, index) => [name, Number(byId(`input-${index}`).value)]));
const labels = () => Object.fromEntries(LAW.keys.map((name, index) => [name, byId(`group-${index}`).value]));
function update() {
  const features = inputs();
  const wrong = LAW.features.filter((name, index) => byId(`input-${index}`).value === "" || !Number.isFinite(features[name]) || features[name] < LAW.low[index]);
  LAW.features.forEach((name, index) => byId(`input-${index}`).setAttribute("aria-invalid", wrong.includes(name)));
  const value = wrong.length ? NaN : LAW.predict(features, labels());
  const outside = LAW.features.filter((name) => LAW.ranges[name] && (features[name] < LAW.ranges[name][0] || features[name] > LAW.ranges[name][1]));
  byId("fault").textContent = wrong.length ? `enter ${wrong.join(", ")} as a number in its range` : outside.length ? `${outside.join(", ")} outside the range of the formula` : "";
  byId("time").textContent = Number.isFinite(value) ? `${show(value / LAW.shown[1], 2)} ${LAW.shown[0]}` : "not defined";
  byId("unit").textContent = Number.isFinite(value) ? LAW.shown[1] === 1 ? "" : `${show(value, LAW.shown[1] < 1 ? 6 : 1)} ${LAW.unit}` : "";
}
function take(index) {
  if (index === "") return;
  LAW.features.forEach((name, place) => { byId(`input-${place}`).value = LAW.cases[index][name]; });
  LAW.keys.forEach((name, place) => { byId(`group-${place}`).value = LAW.cases[index][name]; });
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
  const all = [...LAW.keys, ...LAW.features];
  const differs = (name) => LAW.cases.length === 1 || LAW.cases.some((item) => item[name] !== LAW.cases[0][name]);
  const columns = all.filter(differs);
  byId("fixed").textContent = all.filter((name) => !differs(name)).map((name) => `${name} ${LAW.cases[0][name]}`).join(", ");
  const published = LAW.cases.every((item) => LAW.published in item);
  cells(byId("cases").tHead.insertRow(), "th", [...columns, `computed, ${LAW.shown[0]}`, ...(published ? ["published, min", "difference, min"] : [])]);
  LAW.cases.forEach((item, index) => {
    const shown = LAW.predict(item, item) / LAW.shown[1];
    const stated = published ? [item[LAW.published], shown - item[LAW.published]] : [];
    const row = byId("cases").tBodies[0].insertRow();
    row.dataset.time = shown;
    cells(row, "td", [...columns.map((name) => item[name]), shown, ...stated]);
    const option = document.createElement("option");
    option.value = index;
    option.textContent = columns.map((name) => `${name} ${item[name]}`).join(", ");
    byId("case").append(option);
  });
  byId("case").addEventListener("change", (event) => take(event.target.value));
  byId("form").addEventListener("input", (event) => { if (event.target.id !== "case") { byId("case").value = ""; update(); } });
  byId("form").addEventListener("submit", (event) => event.preventDefault());
  byId("case").value = "0";
  take("0");
}
start();
