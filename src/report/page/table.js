// A table that may have 100,000 rows: sorted and filtered by its columns, searched from the bar.
import {FilterModule, FormatModule, FrozenColumnsModule, InteractionModule, ResizeColumnsModule,
        ResizeTableModule, SortModule, Tabulator} from 'tabulator-tables';
import {debounced, element} from './dom.js';
import {filterOf} from './filter.js';
import {textWidth, writerOf} from './format.js';
import * as state from './state.js';
import {unpacked} from './unpack.js';

Tabulator.registerModule([FilterModule, FormatModule, FrozenColumnsModule, InteractionModule,
  ResizeColumnsModule, ResizeTableModule, SortModule]);

const VERDICTS = {better: 'better', faster: 'better', shorter: '', worse: 'worse', slower: 'worse',
  unclear: 'unclear', unknown: 'unclear'};

export const verdictClass = text => {
  const word = String(text).toLowerCase().split(/[^a-z]/)[0];
  return 'verdict ' + (VERDICTS[word] ?? '');
};

const LONG_TEXT = 60;       // characters from which a text is wrapped
const MOST_WRAPPED = 500;   // rows; more have one height, which scrolling is fast with
const collator = new Intl.Collator('en', {numeric: true});

// Gives every text its place in the order of all, since comparing numbers is fast.
function placesOf(cells) {
  const places = new Map();
  [...new Set(cells.filter(value => typeof value === 'string'))].sort(collator.compare)
      .forEach((value, i) => places.set(value, i));
  return places;
}

// Sorts numbers before texts, and what is missing last in either direction.
function sorterOf(cells) {
  let places = null;
  return (a, b, rowA, rowB, column, direction) => {
    const none = direction === 'asc' ? 1 : -1;
    if (a === null || b === null) return a === b ? 0 : a === null ? none : -none;
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
    if (typeof a === 'boolean') return a - b;
    places ??= placesOf(cells);
    return places.get(a) - places.get(b);
  };
}

function sample(cells) {
  const step = Math.max(1, Math.floor(cells.length / 200));
  return cells.filter((_, i) => i % step === 0);
}

function headingOf(column) {
  return column.unit && !column.name.includes(column.unit) ? `${column.name} (${column.unit})` : column.name;
}

const CELL = '13px system-ui, sans-serif';
const HEAD = '700 13px system-ui, sans-serif';
const ARROW = 44;   // pixels of a heading's arrow and padding
const PADDING = 16;
const MOST = 300;

// No word of the heading is broken, nothing of a short cell is cut.
function widthOf(title, texts, wraps, extra) {
  if (wraps) return Math.min(460, innerWidth - 90);
  const widest = list => Math.max(0, ...list.map(([text, font]) => textWidth(text, font)));
  const words = title.split(/[ _]/).map(word => [word + '_', HEAD]);
  const lines = textWidth(title, HEAD) / 3;  // a heading may take some lines
  const content = widest(texts.map(text => [text.slice(0, 80), CELL])) + PADDING + extra;
  return Math.ceil(Math.min(MOST, Math.max(content, Math.min(170, widest(words)) + ARROW, Math.min(220, lines) + ARROW)));
}

function columnOf(column, i, data, id) {
  const cells = data.cells[i];
  const seen = sample(cells);
  const write = writerOf(cells);
  const texts = seen.map(write);
  const isNumber = seen.some(value => typeof value === 'number') && !seen.some(value => typeof value === 'string');
  const wraps = cells.length <= MOST_WRAPPED && texts.some(text => text.length > LONG_TEXT);
  const title = headingOf(column);
  return {
    title, field: 'c' + i, hozAlign: isNumber ? 'right' : 'left', headerWordWrap: true,
    width: widthOf(title, texts, wraps, i === data.verdict ? 24 : 0), frozen: i === 0 && data.columns.length > 5,
    sorter: sorterOf(cells), headerSortTristate: true, sorterParams: {},
    variableHeight: wraps, cssClass: wraps ? 'wraps' : '',
    formatter: cell => {
      const value = cell.getValue();
      if (i === data.verdict && value !== null && value !== '')
        return element('span', {class: verdictClass(value)}, String(value));
      const text = write(value);
      return wraps || text.length < 12 ? document.createTextNode(text) : element('span', {title: String(value)}, text);
    },
    headerFilter: (cell, onRendered, success) => filterBox(cell, success, id, column),
    headerFilterFunc: (wanted, value) => filterOf(wanted)(value),
    headerFilterLiveFilter: false,
    initial: state.get(`filter.${id}.${column.name}`),
  };
}

function filterBox(cell, success, id, column) {
  const apply = debounced(120, value => {
    state.set(`filter.${id}.${column.name}`, value);
    success(value);
  });
  const input = element('input', {type: 'search', 'aria-label': `Filter ${column.name}`,
    oninput: event => apply(event.target.value),
    onkeydown: event => event.stopPropagation(),
    title: 'text, !text, =text, >1, <=2, 1..2'});
  input.value = cell.getValue() ?? '';
  return input;
}

function rowsOf(data) {
  const count = data.cells.length ? data.cells[0].length : 0;
  const rows = new Array(count);
  for (let r = 0; r < count; ++r) {
    const row = {};
    for (let c = 0; c < data.cells.length; ++c) row['c' + c] = data.cells[c][r];
    rows[r] = row;
  }
  return rows;
}

function csvOf(data, rows) {
  const quoted = value => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [data.columns.map(column => quoted(column.name)).join()];
  for (const row of rows) lines.push(data.columns.map((_, i) => quoted(row['c' + i])).join());
  return lines.join('\r\n') + '\r\n';
}

// Returns a test of whether a row has a text in any cell.
function searchOf(text) {
  const wanted = text.toLowerCase();
  return row => Object.values(row).some(value => value !== null && String(value).toLowerCase().includes(wanted));
}

class Sheet {
  constructor(card) {
    this.card = card;
    this.count = element('span', {class: 'count'});
    this.body = element('div', {});
    this.root = element('details', {class: 'sheet', id: 'card-' + card.id, ontoggle: () => this.toggled()},
      element('summary', {}, card.title, this.count), this.body);
    this.showCount(card.rows);
    const opened = state.get('open').split(' ');
    if (card.open || opened.includes(card.id)) this.root.open = true;
  }

  showCount(shown) {
    const all = this.card.rows;
    const rows = all === 1 ? 'row' : 'rows';
    this.count.textContent = shown === all ? `${all} ${rows}` : `${shown} of ${all} ${rows}`;
  }

  async load() {
    this.loading ??= (async () => {
      this.data = await unpacked(this.card.table);
      this.rows = rowsOf(this.data);
    })();
    await this.loading;
  }

  async toggled() {
    if (!this.card.open) {
      const opened = new Set(state.get('open').split(' ').filter(Boolean));
      if (this.root.open) opened.add(this.card.id);
      else opened.delete(this.card.id);
      state.set('open', [...opened].join(' '));
    }
    if (!this.root.open || this.root.hidden || this.grid) return;
    await this.load();
    if (!this.grid) this.build();
  }

  build() {
    const {card, data} = this;
    const holder = element('div', {class: 'grid'});
    const copy = element('button', {type: 'button', onclick: () => this.copy(copy)}, 'Copy as CSV');
    this.body.replaceChildren(...(card.notes || []).map(text => element('p', {class: 'note'}, text)),
      element('div', {class: 'tools'}, copy,
        element('button', {type: 'button', onclick: () => this.save()}, 'Save as CSV'),
        element('button', {type: 'button', onclick: () => this.reset()}, 'Show all')), holder);
    const columns = data.columns.map((column, i) => columnOf(column, i, data, card.id));
    this.grid = new Tabulator(holder, {
      data: this.rows, columns: columns.map(({initial, ...column}) => column),
      nestedFieldSeparator: false, layout: 'fitDataFill', columnHeaderVertAlign: 'bottom',
      height: this.rows.length > 14 ? Math.min(460, Math.max(300, innerHeight - 220)) : false,
      renderHorizontal: columns.length > 40 ? 'virtual' : 'basic',
      initialHeaderFilter: columns.filter(column => column.initial)
          .map(column => ({field: column.field, value: column.initial})),
      initialSort: this.sortFromState(), placeholder: 'No row has these values.',
      rowHeight: columns.some(column => column.variableHeight) ? false : 27,
    });
    this.grid.on('tableBuilt', () => {
      this.built = true;
      this.makeHeadersReachable();
      if (this.text) this.applySearch();
    });
    this.grid.on('dataSorted', sorters => this.keepSort(sorters));
    this.grid.on('dataFiltered', (filters, rows) => this.showCount(rows.length));
  }

  sortFromState() {
    return state.get('sort.' + this.card.id).split(',').filter(Boolean).map(text => {
      const [name, dir] = [text.slice(0, text.lastIndexOf(':')), text.slice(text.lastIndexOf(':') + 1)];
      const at = this.data.columns.findIndex(column => column.name === name);
      return {column: 'c' + at, dir: dir === 'desc' ? 'desc' : 'asc'};
    }).filter(one => one.column !== 'c-1');
  }

  keepSort(sorters) {
    if (!this.built) return;
    state.set('sort.' + this.card.id,
      sorters.map(one => `${this.data.columns[+one.field.slice(1)].name}:${one.dir}`).join());
  }

  makeHeadersReachable() {
    this.grid.getColumns().forEach((column, i) => {
      const header = column.getElement();
      header.title = this.data.columns[i].description;
      header.tabIndex = 0;
      header.addEventListener('keydown', event => {
        if (event.target !== header || (event.key !== 'Enter' && event.key !== ' ')) return;
        event.preventDefault();
        header.click();
      });
    });
  }

  reset() {
    for (const column of this.data.columns) state.set(`filter.${this.card.id}.${column.name}`, '');
    this.grid.clearHeaderFilter();
    for (const input of this.body.querySelectorAll('.tabulator-header-filter input')) input.value = '';
    this.grid.clearSort();
    state.set('sort.' + this.card.id, '');
  }

  csv() { return csvOf(this.data, this.grid.getData('active')); }

  async copy(button) {
    const text = this.csv();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages from a file may lack the clipboard's permission: the old way needs none.
      const area = element('textarea', {});
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
      button.focus();
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy as CSV'; }, 1500);
  }

  save() {
    const url = URL.createObjectURL(new Blob([this.csv()], {type: 'text/csv'}));
    const link = element('a', {href: url, download: this.card.id + '.csv'});
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  applySearch() {
    if (this.text) this.grid.setFilter(searchOf(this.text));
    else this.grid.clearFilter(false);
  }

  async search(text) {
    this.text = text;
    await this.load();
    if (this.text !== text) return;
    const test = searchOf(text);
    const found = text ? this.rows.reduce((sum, row) => sum + (test(row) ? 1 : 0), 0) : this.rows.length;
    this.root.classList.toggle('unmatched', found === 0 && text !== '');
    this.showCount(found);
    if (this.built) this.applySearch();
  }
}

export function sheetCard(card) {
  const sheet = new Sheet(card);
  return {root: sheet.root, sheet, open: () => { sheet.root.open = true; },
    search: text => sheet.search(text), redraw: () => { if (sheet.root.open) sheet.toggled(); }};
}
