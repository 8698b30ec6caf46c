// Builds the page out of its data: the bar, the charts, the tables. The answer is in the document
// already, so that it shows at once and without a program.
import {chartCard} from './chart.js';
import {byId, debounced, element, isQuiet} from './dom.js';
import * as state from './state.js';
import {sheetCard} from './table.js';
import * as theme from './theme.js';
import {unpacked} from './unpack.js';

const cards = new Map();  // by id: {card, root, open(), search(text), redraw()}

const chosen = choice => {
  const value = state.get('choice.' + choice.name);
  return choice.values.includes(value) ? value : choice.values[choice.first || 0];
};

// Where no card fits all choices, the others follow the one that the reader made last.
function follow(made, data) {
  const conditional = data.cards.filter(card => card.when);
  if (conditional.some(card => card.when.some(one => one.choice === made.name) && fits(card, data))) return;
  const card = conditional.find(one => one.when.some(({choice, value}) => choice === made.name && value === chosen(made)));
  for (const {choice, value} of card ? card.when : []) choose(choice, value, data);
}

function choose(name, value, data) {
  state.set('choice.' + name, value);
  const select = byId('choice-' + data.choices.findIndex(one => one.name === name));
  if (select) select.value = value;
}

function fits(card, data) {
  return (card.when || []).every(({choice, value}) => {
    const known = data.choices.find(one => one.name === choice);
    return !known || chosen(known) === value;
  });
}

function showChosen(data) {
  for (const {card, root} of cards.values()) {
    const shown = fits(card, data);
    if (root.hidden === !shown) continue;
    root.hidden = !shown;
    if (shown) cards.get(card.id).redraw();
  }
  for (const group of document.querySelectorAll('.sheets'))
    group.hidden = ![...group.querySelectorAll('.sheet')].some(sheet => !sheet.hidden);
}

function chooser(choice, data) {
  const select = element('select', {id: 'choice-' + data.choices.indexOf(choice),
    onchange: event => { state.set('choice.' + choice.name, event.target.value); follow(choice, data); showChosen(data); }},
    ...choice.values.map(value => element('option', {value}, value)));
  select.value = chosen(choice);
  state.onChange(() => { select.value = chosen(choice); });
  return element('label', {}, choice.name, select);
}

function searchBox() {
  const find = debounced(150, text => {
    state.set('search', text);
    for (const card of cards.values()) card.search(text);
  });
  const input = element('input', {type: 'search', id: 'search', placeholder: 'Search the tables',
    'aria-label': 'Search the tables', oninput: event => find(event.target.value)});
  input.value = state.get('search');
  state.onChange(() => { input.value = state.get('search'); find(input.value); });
  return input;
}

function themeSwitch() {
  const button = element('button', {type: 'button', id: 'theme', onclick: theme.toggle});
  const label = () => { button.textContent = theme.isDark() ? 'Light' : 'Dark'; };
  label();
  theme.onTheme(label);
  return button;
}

function fillBar(data) {
  const bar = byId('bar').firstElementChild;
  bar.append(...data.choices.filter(choice => choice.values.length > 1)
      .map(choice => chooser(choice, data)));
  if (data.cards.some(card => card.kind === 'table')) bar.append(searchBox());
  bar.append(themeSwitch());
  const measure = () => document.documentElement.style.setProperty(
    '--header', getComputedStyle(byId('bar')).position === 'sticky' ? byId('bar').offsetHeight + 10 + 'px' : '10px');
  new ResizeObserver(measure).observe(byId('bar'));
}

function addCards(data) {
  const groups = {charts: byId('charts'), tables: byId('tables'), raw: byId('raw')};
  for (const card of data.cards) {
    const made = card.kind === 'table' ? sheetCard(card) : chartCard(card);
    cards.set(card.id, {card, ...made});
    groups[card.kind === 'table' ? (card.hidden ? 'raw' : 'tables') : 'charts'].append(made.root);
  }
}

// Shows a card that may be another choice's, opens it and goes there.
function goTo(id, data) {
  const target = cards.get(id);
  if (!target) return;
  for (const {choice, value} of target.card.when || []) choose(choice, value, data);
  showChosen(data);
  target.open();
  target.root.scrollIntoView({block: 'start'});
  const focus = target.root.querySelector('summary, .chart') || target.root;
  focus.focus({preventScroll: true});
}

async function start() {
  theme.start();
  const data = await unpacked('data');
  fillBar(data);
  addCards(data);
  showChosen(data);
  document.addEventListener('click', event => {
    const link = event.target.closest('a[href^="#card="]');
    if (!link) return;
    event.preventDefault();
    goTo(decodeURIComponent(link.getAttribute('href').slice(6)), data);
  });
  state.onChange(() => { showChosen(data); });
  if (state.get('search')) for (const card of cards.values()) card.search(state.get('search'));
  if (state.get('card')) goTo(state.get('card'), data);
  document.documentElement.dataset.ready = 'yes';
  window.assayPage = {isQuiet, cards};
}

start();
