// Numbers from text: DIGITS hold digits with base BASE, then last characters with a decimal digit and a power of 16;
// in parentheses as decimals.
const unpacked = (text) => {
  const values = [];
  let whole = 0;
  for (const [, decimal, digit] of text.matchAll(/\((.*?)\)|(.)/g)) {
    const place = DIGITS.indexOf(digit);
    const last = place - BASE;
    if (decimal || last >= 0) {
      values.push(decimal ? Number(decimal) : (whole * 10 + (last % 10)) * 16 ** Math.floor(last / 10));
      whole = 0;
    } else whole = whole * BASE + place;
  }
  return values;
};
// Counts of a CNN per square image of any size, by the numbers of its rule; null where its layers do not fit it.
const countsAt = ({ shift, columns, classes: ofClasses, kinds, largest: ofLargest }, rule, pixels, classes) => {
  let at = 0;
  const next = () => rule[at++];
  const times = (act) => {
    for (let left = next(); left > 0; left--) act();
  };
  const [heights, areas, counts] = [[pixels, 1], [pixels ** 2, 1], columns.map(() => 0)];
  let fits = true;
  times(() => {
    const [parent, kind, more, stride, rest, equal] = [next(), next(), next(), next(), next(), next()];
    const room = (kind % 2) * heights[parent] + more - shift;
    const whole = Math.floor(room / stride) + 1;
    const isCut = rest > 0 && room % stride > 0 && whole * stride < heights[parent] + rest - 1;
    const height = room < 0 ? 0 : whole + (isCut ? 1 : 0);
    fits &&= height > 0 && (equal === 0 || heights[equal - 1] === height);
    heights.push(height);
    areas.push(height ** 2 * (kind > 1 ? classes : 1));
  });
  if (!fits) return null;
  for (const area of areas)
    times(() => {
      const place = next();
      counts[place] += next() * area;
    });
  times(() => {
    const [first, second] = [next(), next()];
    let amount = 0;
    times(() => {
      amount += next();
      const elements = amount * areas[first] + (second > 0 ? next() * areas[second - 1] : 0);
      const [convolutions, light, largest] = kinds[next()];
      for (const [place, isLight, least, most] of ofClasses)
        if (elements >= least && elements < most) counts[place] += elements * (isLight ? light : convolutions);
      ofLargest.forEach((place, bit) => {
        if ((largest >> bit) % 2) counts[place] = Math.max(counts[place], elements);
      });
    });
  });
  return counts;
};
