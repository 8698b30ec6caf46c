// What a reader types above a column: text, !text, =text, >1, >=1, <1, <=1, 1..2.

let last = null;
let test = null;

export function filterOf(wanted) {
  if (wanted === last && test) return test;
  last = wanted;
  test = made(String(wanted).trim());
  return test;
}

function made(text) {
  const range = /^(-?[\d.]+(?:e[-+]?\d+)?)\s*\.\.\s*(-?[\d.]+(?:e[-+]?\d+)?)$/i.exec(text);
  if (range) return numbers(value => value >= +range[1] && value <= +range[2]);
  const bound = /^(>=|<=|>|<)\s*(-?[\d.]+(?:e[-+]?\d+)?)$/i.exec(text);
  if (bound) {
    const limit = +bound[2];
    const compare = {'>': v => v > limit, '<': v => v < limit, '>=': v => v >= limit, '<=': v => v <= limit};
    return numbers(compare[bound[1]]);
  }
  const low = text.toLowerCase();
  const has = part => value => value !== null && String(value).toLowerCase().includes(part);
  if (low.startsWith('=')) return value => value !== null && String(value).toLowerCase() === low.slice(1).trim();
  if (low.startsWith('!')) {
    const without = has(low.slice(1).trim());
    return value => !without(value);
  }
  return has(low);
}

const numbers = compare => value => typeof value === 'number' && compare(value);
