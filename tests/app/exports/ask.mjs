// What the exported program says of each question: its figures, null where it has no time, or why it refuses.
import asked from "./asked.mjs";
import { predict } from "./law.mjs";
const answer = ([cnn, gpu, batch, precision, layout, tuned, host_launch_s, pixels, classes, more = {}]) => {
  try {
    const options = { layout, tuned, host_launch_s, pixels, classes, ...more };
    const found = predict(cnn, gpu, batch, precision, options);
    return [found.time_s, found.low_s, found.high_s, found.precision, found.warnings, found.cost ?? null];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return error.message.includes("not defined here") ? null : error.message;
  }
};
console.log(JSON.stringify(asked.map(answer)));
