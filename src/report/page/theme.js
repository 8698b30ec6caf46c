// Light and dark: the reader's setting, or what the switch says. Charts take their colours from the
// styles of the page.

const KEY = 'assay-theme';
const media = matchMedia('(prefers-color-scheme: dark)');
const listeners = [];
let printing = false;

function stored() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}

export function isDark() {
  if (printing) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : media.matches;
}

export function colors() {
  const style = getComputedStyle(document.documentElement);
  const names = ['page', 'ink', 'quiet', 'line', 'none', 'better', 'worse', 'same', 'focus', 'band'];
  return Object.fromEntries(names.map(name => [name, style.getPropertyValue('--' + name).trim()]));
}

export const onTheme = listener => listeners.push(listener);
const tell = () => listeners.forEach(listener => listener());

export function toggle() {
  const next = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem(KEY, next); } catch { /* Nothing is remembered where storage is off. */ }
  tell();
}

export function start() {
  const chosen = stored();
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
  media.addEventListener('change', tell);
  addEventListener('beforeprint', () => {
    printing = true;
    document.documentElement.classList.add('printing');
    tell();
  });
  addEventListener('afterprint', () => {
    printing = false;
    document.documentElement.classList.remove('printing');
    tell();
  });
}

export const isPrinting = () => printing;
