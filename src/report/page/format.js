// Numbers and texts as people read them.

// Returns as many significant digits as wanted; whole numbers stay whole.
export function number(value, digits = 3) {
  if (value === null || value === undefined || value === '') return '';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 100) return digits > 3 ? trimmed(value.toPrecision(digits)) : value.toFixed(0);
  if (size < 1e-4 || size >= 1e12) return value.toPrecision(3);
  return Number(value.toPrecision(digits)) === 0 ? '0' : trimmed(value.toPrecision(digits));
}

// Returns how many digits tell two numbers apart, three to six.
export function digitsBetween(low, high) {
  let digits = 3;
  while (low < high && digits < 6 && number(low, digits) === number(high, digits)) ++digits;
  return digits;
}

function trimmed(text) {
  return text.includes('e') ? String(Number(text)) : text;
}

export function withUnit(value, unit) {
  return unit ? `${number(value)}\u00a0${unit}` : number(value);
}

// A figure among others has three digits also where it happens to be whole.
export function figure(value) {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'number') return String(value);
  const size = Math.abs(value);
  return size >= 100 || value === 0 ? value.toFixed(0) : size < 1e-3 ? number(value) : value.toPrecision(3);
}

// Returns what writes the values of a column: where one number has a fraction, all are figures.
export const writerOf = values =>
  values.some(value => typeof value === 'number' && !Number.isInteger(value)) ? figure : number;

// A tick of an axis: no more digits than it needs.
export const tick = value => String(+value.toPrecision(6)).replace('-', '\u2212');

// Rounds a value that has not three digits before the end of the fourth one of the largest beside it.
export function roundedBeside(value, largest) {
  const first = 10 ** Math.floor(Math.log10(largest));
  if (!(largest > 0) || Math.abs(value) * 10 >= first) return value;
  return Math.round(value * 1000 / first) / (1000 / first) + 0;
}

export function signed(value) {
  return (value > 0 ? '+' : '') + number(value).replace('-', '\u2212');
}

// Writes the hyphens of negative numbers in a sentence as minus signs.
export const prose = text => text.replace(/(^|[ (])-(?=\d)/g, '$1\u2212');

export function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; ++unit) value /= 1024;
  return `${+value.toPrecision(4)} ${units[unit]}`;
}

// A time of microseconds in the unit that suits it.
export function microseconds(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${number(value / 1e6)} s`;
  if (size >= 1e3) return `${number(value / 1e3)} ms`;
  return `${number(value)} \u00b5s`;
}

const pen = document.createElement('canvas').getContext('2d');

export function textWidth(text, font) {
  pen.font = font;
  return pen.measureText(text).width;
}

// Breaks a text at spaces into lines of at most this width.
export function wrapped(text, width, font) {
  const lines = [];
  let line = '';
  for (const word of String(text).split(' ')) {
    const longer = line ? `${line} ${word}` : word;
    if (line && textWidth(longer, font) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  lines.push(line);
  return lines;
}

// Shortens a text in its middle, where names of one kind differ least.
export function shortened(text, width, font) {
  if (textWidth(text, font) <= width) return text;
  let keep = text.length - 1;
  const cut = () => text.slice(0, Math.ceil(keep / 2)) + '\u2026' + text.slice(text.length - Math.floor(keep / 2));
  while (keep > 2 && textWidth(cut(), font) > width) --keep;
  return cut();
}
