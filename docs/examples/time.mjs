import { predict } from "./law.mjs";

const found = predict("resnet50", "T4", 64, "amp", { layout: "channels_last", pixels: 224 });
console.log(found.time_s, found.precision);
