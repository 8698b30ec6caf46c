// What the reader chose, kept in the address so that a view can be sent: a flat map of texts, such
// as "sort.Answer" or "zoom.timeline".

const values = new Map(new URLSearchParams(location.hash.slice(1)));
const listeners = [];

export const get = key => values.get(key) ?? '';

export function set(key, value) {
  const text = value === null || value === undefined ? '' : String(value);
  if (text === get(key)) return;
  if (text) values.set(key, text);
  else values.delete(key);
  write();
}

export const keys = prefix => [...values.keys()].filter(key => key.startsWith(prefix));

export const onChange = listener => listeners.push(listener);

let own = location.hash;

function write() {
  const text = new URLSearchParams([...values].sort()).toString();
  own = text ? '#' + text : '';
  // The path alone would keep the old hash.
  history.replaceState(null, '', own || location.pathname + location.search);
}

addEventListener('hashchange', () => {
  if (location.hash === own) return;
  own = location.hash;
  values.clear();
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) values.set(key, value);
  listeners.forEach(listener => listener());
});
