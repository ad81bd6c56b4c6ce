// Whether times alone, of rows and of one, are those of predictions; and how a wrong batch is refused.
import rows from "./asked.mjs";
import { predict, predictMany, seconds } from "./law.mjs";
const timeOf = (...row) => { try { return predict(...row).time_s; } catch { return null; } };
const near = (one, other) => (one === null ? Number.isNaN(other) : Math.abs(other / one - 1) < 1e-12);
const options = { n_gpus: 16, n_nodes: 4, layout: "channels_last" };
const many = predictMany(...[0, 1, 2].map((place) => rows.map((row) => row[place])), "fp32");
const same = rows.every((row, place) => near(timeOf(...row, "fp32"), many[place]));
const one = ["resnet50", "T4", 64, null, options];
let refusal = "";
try { seconds("resnet50", "T4", 0); } catch (error) { refusal = error.message; }
console.log(JSON.stringify([same && seconds(...one) === predict(...one).time_s, refusal]));
