// What the exported program takes names for: name, candidates, number of GPUs, instance, and what it asks.
import asked from "./asked.mjs";
import { meaningOf, questionOf } from "./law.mjs";
const answer = ([kind, text]) => {
  const { name, candidates, count, instance } = meaningOf(kind, text);
  return [name, candidates, count, instance, name ? "" : questionOf(kind, text)];
};
console.log(JSON.stringify(asked.map(answer)));
