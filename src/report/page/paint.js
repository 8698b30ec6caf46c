// Colours of magnitudes and what is readable on them.

export const channels = color => color.startsWith('#') ? [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16))
  : color.match(/\d+/g).slice(0, 3).map(Number);

// Returns the colour at a share of a list of colours, which lie at even distances.
export function colorAt(list, share) {
  const place = Math.min(Math.max(share, 0), 1) * (list.length - 1);
  const below = Math.min(Math.floor(place), list.length - 2);
  const [from, to] = [channels(list[below]), channels(list[below + 1])];
  return 'rgb(' + from.map((c, i) => Math.round(c + (to[i] - c) * (place - below))).join() + ')';
}

// Returns black or white by the contrast of WCAG.
export function readableOn(color) {
  const [r, g, b] = channels(color).map(c => c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  return light * light > 1.05 * 0.05 ? '#000' : '#fff';
}
