// Elements. Every text becomes a text node, so that no text can act as markup.

export const byId = id => document.getElementById(id);

// element('p', {class: 'note', onclick: f}, 'text', child…)
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

// A tooltip of lines; the first one is the heading.
export function tip(lines) {
  const [first, ...rest] = lines;
  return element('div', {class: 'tip'}, element('strong', {}, first),
    ...rest.map(line => element('div', {}, line)));
}

export function plainTable(columns, rows) {
  return element('table', {class: 'plain'},
    element('thead', {}, element('tr', {}, ...columns.map(text => element('th', {scope: 'col'}, text)))),
    element('tbody', {}, ...rows.map(row => element('tr', {}, ...row.map((text, i) =>
      i ? element('td', {}, text) : element('th', {scope: 'row'}, text))))));
}

let pending = 0;
export function debounced(milliseconds, action) {
  let timer = 0;
  return (...values) => {
    if (!timer) ++pending;
    clearTimeout(timer);
    timer = setTimeout(() => { timer = 0; --pending; action(...values); }, milliseconds);
  };
}
// For tests: whether something is still to come.
export const isQuiet = () => pending === 0;
