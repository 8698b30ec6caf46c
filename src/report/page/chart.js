// A card with one chart: drawing it again when its width, the theme or the zoom changes, the keyboard,
// and the table of the same values.
import {BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart} from 'echarts/charts';
import {DataZoomInsideComponent, GridComponent, MarkAreaComponent, MarkLineComponent,
        TooltipComponent, VisualMapComponent} from 'echarts/components';
import * as echarts from 'echarts/core';
import {CanvasRenderer, SVGRenderer} from 'echarts/renderers';
import {element, plainTable} from './dom.js';
import {prose} from './format.js';
import * as state from './state.js';
import * as theme from './theme.js';
import {composition} from './charts/composition.js';
import {curves} from './charts/curves.js';
import {map} from './charts/map.js';
import {ranking} from './charts/ranking.js';
import {timeline} from './charts/timeline.js';
import {waterfall} from './charts/waterfall.js';

echarts.use([BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart, DataZoomInsideComponent,
  GridComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent, VisualMapComponent,
  CanvasRenderer, SVGRenderer]);

// A kind is a function (chart, {width, narrow, colors, dark, zoom, off}) → {option, height,
// renderer, points: [{series, index, lines}], across, values: {columns, rows}, key, zoom: 'x'|'xy'|''}.
const KINDS = {ranking, composition, curves, map, timeline, waterfall};

const PRINT_WIDTH = 660;  // CSS pixels of A4 within its margins
const WHOLE = {x: [0, 100], y: [0, 100]};

function zoomOf(text) {
  const parts = text.split(',').map(Number);
  if (parts.length < 2 || parts.some(Number.isNaN)) return WHOLE;
  return {x: parts.slice(0, 2), y: parts.length === 4 ? parts.slice(2) : [0, 100]};
}

const isWhole = zoom => [...zoom.x, ...zoom.y].every((part, i) => part === (i % 2 ? 100 : 0));

// A range of shares after zooming by a factor about its middle, or moving by a share of itself.
function scaled([low, high], factor, move = 0) {
  const size = Math.min(100, Math.max(0.05, (high - low) * factor));
  const middle = (low + high) / 2 + (high - low) * move;
  const start = Math.min(Math.max(0, middle - size / 2), 100 - size);
  return [start, start + size];
}

class ChartCard {
  constructor(card) {
    this.card = card;
    this.zoom = zoomOf(state.get('zoom.' + card.id));
    this.off = new Set();  // names of what the key switched off
    this.current = -1;
    this.holder = element('div', {class: 'chart', tabindex: 0, role: 'application',
      'aria-roledescription': 'chart', 'aria-label': card.title, onkeydown: event => this.onKey(event)});
    this.key = element('div', {class: 'key'});
    this.reading = element('p', {class: 'reading', role: 'status', 'aria-live': 'polite'});
    this.values = element('div', {class: 'values', hidden: true});
    this.tools = element('div', {class: 'tools'});
    this.root = element('section', {class: 'card', id: 'card-' + card.id, 'aria-label': card.title},
      element('div', {class: 'head'}, element('h2', {}, prose(card.title)), this.tools),
      ...(card.notes || []).map(text => element('p', {class: 'note'}, text)),
      this.key, this.holder, this.reading, this.values);
    new ResizeObserver(() => {
      if (this.root.hidden || theme.isPrinting() || this.holder.clientWidth === this.width) return;
      this.draw();
    }).observe(this.holder);
    theme.onTheme(() => { if (!this.root.hidden) this.draw(); });
    state.onChange(() => { this.zoom = zoomOf(state.get('zoom.' + card.id)); this.redraw(); });
  }

  redraw() { if (!this.root.hidden && this.root.isConnected) this.draw(); }

  draw() {
    this.width = theme.isPrinting() ? PRINT_WIDTH : this.holder.clientWidth;
    if (!this.width) return;
    const view = KINDS[this.card.chart.kind](this.card.chart, {
      width: this.width, narrow: this.width < 560, colors: theme.colors(), dark: theme.isDark(),
      zoom: this.zoom, off: this.off, print: theme.isPrinting()});
    this.view = view;
    if (this.instance && this.renderer !== view.renderer) {
      this.instance.dispose();
      this.instance = null;
    }
    this.holder.style.height = view.height + 'px';
    const size = {width: this.width, height: view.height};
    if (!this.instance) this.start(view, size);
    else this.instance.resize(size);
    this.instance.setOption(this.optionOf(view), true);
    this.showTools();
    this.showKey();
  }

  start(view, size) {
    this.renderer = view.renderer;
    this.instance = echarts.init(this.holder, null, {renderer: view.renderer, ...size,
      devicePixelRatio: Math.max(2, devicePixelRatio)});
    this.instance.on('datazoom', () => this.onZoom());
    this.instance.on('click', event => {
      const link = this.view.linkOf && this.view.linkOf(event);
      if (link) document.querySelector(`a[href="#card=${CSS.escape(link)}"]`)?.click();
    });
  }

  optionOf(view) {
    const moves = !isWhole(this.zoom);
    const zoom = ['x', 'y'].filter(axis => view.zoom.includes(axis)).map(axis => ({
      type: 'inside', [axis + 'AxisIndex']: 'all', start: this.zoom[axis][0], end: this.zoom[axis][1],
      filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: moves, moveOnMouseWheel: false,
      preventDefaultMouseMove: false, minSpan: 0.05}));
    return {animation: false, textStyle: {fontFamily: 'system-ui, sans-serif'},
      ...view.option, dataZoom: zoom,
      tooltip: {trigger: 'item', confine: true, renderMode: 'html', transitionDuration: 0,
        backgroundColor: theme.colors().page, borderColor: theme.colors().quiet,
        textStyle: {color: theme.colors().ink}, ...view.option.tooltip}};
  }

  onZoom() {
    const zooms = this.instance.getOption().dataZoom;
    const axes = ['x', 'y'].filter(axis => this.view.zoom.includes(axis));
    const before = isWhole(this.zoom);
    const next = {...WHOLE};
    axes.forEach((axis, i) => { next[axis] = [zooms[i].start, zooms[i].end]; });
    this.zoom = next;
    this.keepZoom();
    // What depends on the zoom is drawn when the hand rests.
    cancelAnimationFrame(this.frame);
    if (this.view.redrawsOnZoom || before !== isWhole(next)) this.frame = requestAnimationFrame(() => this.draw());
  }

  keepZoom() {
    const round = value => +value.toFixed(3);
    const {x, y} = this.zoom;
    state.set('zoom.' + this.card.id, isWhole(this.zoom) ? ''
      : [...x, ...(y[0] === 0 && y[1] === 100 ? [] : y)].map(round).join());
  }

  setZoom(zoom) {
    this.zoom = zoom;
    this.keepZoom();
    this.draw();
  }

  zoomBy(factor, moveX = 0, moveY = 0) {
    const axes = this.view.zoom;
    this.setZoom({x: axes.includes('x') ? scaled(this.zoom.x, factor, moveX) : [0, 100],
      y: axes.includes('y') ? scaled(this.zoom.y, factor, moveY) : [0, 100]});
  }

  showTools() {
    if (this.tools.childElementCount) return;
    const button = (label, title, action) =>
      element('button', {type: 'button', title, 'aria-label': title, onclick: action}, label);
    if (this.view.zoom)
      this.tools.append(button('+', 'Zoom in (+)', () => this.zoomBy(0.6)),
        button('\u2212', 'Zoom out (\u2212)', () => this.zoomBy(1 / 0.6)),
        button('All', 'Show all (0)', () => this.setZoom(WHOLE)));
    this.tools.append(element('button', {type: 'button', 'aria-expanded': 'false',
      onclick: event => this.showValues(event.target)}, 'Values'));
  }

  showValues(button) {
    const shown = this.values.hidden;
    this.values.hidden = !shown;
    button.setAttribute('aria-expanded', String(shown));
    if (!shown) return;
    const {columns, rows} = this.view.values();
    const most = 2000;
    this.values.replaceChildren(plainTable(columns, rows.slice(0, most)),
      rows.length > most ? element('p', {class: 'note'}, `${rows.length - most} more rows are in the tables below.`) : '');
  }

  showKey() {
    const buttons = (this.view.key || []).map(({name, color, look, quiet}) => {
      const swatch = element('span', {class: 'swatch ' + (look || '')});
      if (look) swatch.style.color = swatch.style.borderColor = color;
      else swatch.style.background = color;
      const pressed = !this.off.has(name);
      if (quiet) return element('span', {class: 'named'}, swatch, ' ', name);
      return element('button', {type: 'button', 'aria-pressed': String(pressed), onclick: () => {
        if (pressed) this.off.add(name);
        else this.off.delete(name);
        this.draw();
        [...this.key.children].find(child => child.textContent === name)?.focus();
      }}, swatch, name);
    });
    this.key.replaceChildren(...buttons);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (this.view.zoom && (event.key === '+' || event.key === '=')) this.zoomBy(0.6);
    else if (this.view.zoom && event.key === '-') this.zoomBy(1 / 0.6);
    else if (this.view.zoom && event.key === '0') this.setZoom(WHOLE);
    else if (arrow && event.shiftKey && this.view.zoom) this.zoomBy(1, arrow[0] * 0.2, -arrow[1] * 0.2);
    else if (arrow) this.move(...arrow);
    else if (event.key === 'Escape') this.instance.dispatchAction({type: 'hideTip'});
    else return;
    event.preventDefault();
  }

  // Moves from value to value; `across` values are a row.
  move(right, down) {
    const {points, across} = this.view;
    if (!points.length) return;
    const step = right + down * (across || 1);
    const next = this.current < 0 ? 0 : this.current + step;
    if (next < 0 || next >= points.length) return;
    const before = points[this.current];
    this.current = next;
    const point = points[next];
    if (before) this.instance.dispatchAction({type: 'downplay', seriesIndex: before.series, dataIndex: before.index});
    this.instance.dispatchAction({type: 'highlight', seriesIndex: point.series, dataIndex: point.index});
    this.instance.dispatchAction({type: 'showTip', seriesIndex: point.series, dataIndex: point.index});
    this.reading.textContent = point.lines.join('; ');
  }
}

export function chartCard(card) {
  const made = new ChartCard(card);
  return {root: made.root, chart: made, open: () => {}, search: () => {}, redraw: () => made.redraw()};
}
