'use strict';
// Draws the figures of the data in #data: what each function gets is one "grid", the strategies'
// times of one benchmark file and fusion, rows of hidden sizes descending, columns of token counts.
const data = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 1100;

const VIEWS = {
  times: 'Times', best: 'Best strategy', difference: 'Difference from the best',
  regret: 'Fixed choices', latency: 'Latency',
};
const state = {grid: 0, view: 'times', hidden: 'all', box: null, cell: null};

// --- the data ---

const hasTime = point => point !== null && point !== undefined && point.time > 0;

function pointAt(grid, strategy, place) {
  const cell = grid.cells[strategy][place];
  if (!cell) return null;
  const [time, low, high, samples, outcome, reason] = cell;
  return {strategy, time, low, high, samples, outcome: outcome || 'ok', reason};
}

function ranked(grid, place) {
  return grid.strategies.filter(name => name !== 'AUTO')
      .map(name => pointAt(grid, name, place)).filter(hasTime).sort((a, b) => a.time - b.time);
}

function difference(grid, point, place) {
  const best = ranked(grid, place)[0];
  return hasTime(point) && best ? (point.time / best.time - 1) * 100 : null;
}

const isTie = order =>
  order.length > 1 && order[1].low !== null && order[0].high !== null && order[1].low <= order[0].high;

const places = grid => grid.hidden.length * grid.tokens.length;
const hiddenOf = (grid, place) => grid.hidden[Math.floor(place / grid.tokens.length)];
const tokensOf = (grid, place) => grid.tokens[place % grid.tokens.length];
const bytesOf = (grid, place) => hiddenOf(grid, place) * tokensOf(grid, place) * grid.element_bytes;

// --- words ---

const microseconds = value => value < 100 ? value.toPrecision(3) : value.toFixed(0);

function percentText(value) {
  if (value === 0) return '0';
  return Math.abs(value) < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

function bytesText(bytes) {
  const units = ['B', 'KB', 'MB', 'GB'];
  let unit = 0;
  for (; bytes >= 1024 && unit < 3; ++unit) bytes /= 1024;
  return `${+bytes.toPrecision(4)} ${units[unit]}`;
}

function pointText(point) {
  if (!point) return 'not measured';
  if (!hasTime(point)) return point.outcome + (point.reason ? `: ${point.reason}` : '');
  const interval = point.low === null ? 'no interval'
    : `95 % interval ${microseconds(point.low)} to ${microseconds(point.high)}`;
  const count = point.samples ? `, n = ${point.samples}` : '';
  return `${microseconds(point.time)} μs (${interval}${count})`;
}

function cellText(grid, place) {
  const order = ranked(grid, place);
  const lines = [`hidden_size ${hiddenOf(grid, place)}, num_tokens ${tokensOf(grid, place)}, ` +
                 bytesText(bytesOf(grid, place))];
  for (const name of grid.strategies) {
    const point = pointAt(grid, name, place);
    const slower = difference(grid, point, place);
    const mark = slower === 0 ? ', fastest' : slower === null ? '' : `, +${percentText(slower)} %`;
    lines.push(`${name}: ${pointText(point)}${mark.replace('+-', '-')}`);
  }
  if (isTie(order)) lines.push(`tie of ${order[0].strategy} and ${order[1].strategy}`);
  return lines.join('\n');
}

// --- colours ---

const channels = color => [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16));

function colorAt(colors, position) {
  const place = Math.min(Math.max(position, 0), 1) * (colors.length - 1);
  const below = Math.min(Math.floor(place), colors.length - 2);
  const [from, to] = [channels(colors[below]), channels(colors[below + 1])];
  return 'rgb(' + from.map((c, i) => Math.round(c + (to[i] - c) * (place - below))).join() + ')';
}

function readableOn(color) {
  const parts = color.startsWith('#') ? channels(color) : color.match(/\d+/g).map(Number);
  const [r, g, b] = parts.map(c => (c / 255) <= 0.04045 ? c / 255 / 12.92
    : Math.pow((c / 255 + 0.055) / 1.055, 2.4));
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  return light * light > 1.05 * 0.05 ? '#000' : '#fff';
}

// --- SVG ---

function add(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function newFigure(height, label) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', `0 0 ${WIDTH} ${height}`);
  svg.setAttribute('tabindex', '0');
  svg.setAttribute('role', 'application');
  svg.setAttribute('aria-label', label);
  const hatch = add(add(svg, 'defs'), 'pattern',
    {id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse',
     patternTransform: 'rotate(45)'});
  add(hatch, 'rect', {width: 6, height: 6, style: 'fill:var(--none)'});
  add(hatch, 'line', {x1: 0, y1: 0, x2: 0, y2: 6, style: 'stroke:var(--hatch)'});
  return svg;
}

function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const step of [1, 2, 5]) ticks.push(step * 10 ** power);
  const inside = ticks.filter(tick => tick >= low * 0.999 && tick <= high * 1.001);
  return inside.length < 2 ? [low, high] : inside;
}

// --- heat maps ---

// A panel: {title, cell(place) -> {color, text}}; no color: hatched.
function drawHeatmap(grid, panels, bar, label) {
  const left = 62, top = 30, right = 160, gap = 16;
  const across = panels.length > 3 ? Math.ceil(panels.length / 2)
    : panels.length > 2 && grid.tokens.length > 8 ? 2 : panels.length;
  const down = Math.ceil(panels.length / across);
  const width = (WIDTH - left - right - gap * (across - 1)) / across;
  const cellWidth = Math.min(64, width / grid.tokens.length);
  const cellHeight = Math.min(34, Math.max(18, cellWidth * 0.85));
  const block = top + cellHeight * grid.hidden.length + 54;
  const height = Math.max(block * down, 320) + 46;
  const svg = newFigure(height, label);
  panels.forEach((panel, i) => {
    const x = left + (i % across) * (cellWidth * grid.tokens.length + gap);
    const y = top + Math.floor(i / across) * block;
    drawPanel(svg, grid, panel, x, y, cellWidth, cellHeight, i % across === 0);
  });
  const end = left + across * (cellWidth * grid.tokens.length + gap);
  drawBar(svg, bar, end + 8, top, Math.min(280, height - 80));
  add(svg, 'text', {x: 14, y: height - 12, 'font-size': 12, class: 'quiet'},
    'across: num_tokens; down: hidden_size; hatched: no data; ×: wrong result, error or hang');
  return svg;
}

function drawPanel(svg, grid, panel, x, y, cellWidth, cellHeight, labelled) {
  const columns = grid.tokens.length;
  add(svg, 'text', {x: x + cellWidth * columns / 2, y: y - 9, 'text-anchor': 'middle',
                    'font-size': 13, 'font-weight': 600}, panel.title);
  for (let place = 0; place < places(grid); ++place) {
    const {color, text} = panel.cell(place);
    const cx = x + (place % columns) * cellWidth;
    const cy = y + Math.floor(place / columns) * cellHeight;
    add(svg, 'rect', {x: cx + 0.4, y: cy + 0.4, width: cellWidth - 0.8, height: cellHeight - 0.8,
                      fill: color || 'url(#hatch)', 'data-place': place});
    if (!text) continue;
    const size = Math.min(12, cellHeight * 0.6, cellWidth * 0.92 / (0.6 * text.length));
    const ink = color && !color.startsWith('var') ? readableOn(color) : 'var(--ink)';
    add(svg, 'text', {x: cx + cellWidth / 2, y: cy + cellHeight / 2 + size * 0.35, 'font-size': size,
                      'text-anchor': 'middle', style: `fill:${ink};pointer-events:none`}, text);
  }
  const under = y + cellHeight * grid.hidden.length + 13;
  grid.tokens.forEach((tokens, i) => {
    const cx = x + (i + 0.5) * cellWidth + 4;
    add(svg, 'text', {x: cx, y: under, 'font-size': 11, 'text-anchor': 'end',
                      transform: `rotate(-45 ${cx} ${under})`}, tokens);
  });
  if (!labelled) return;
  grid.hidden.forEach((hidden, i) => add(svg, 'text', {
    x: x - 6, y: y + (i + 0.5) * cellHeight + 4, 'font-size': 11, 'text-anchor': 'end'}, hidden));
}

// colors from the bottom; ticks: [position from the bottom, text, more text]
function drawBar(svg, bar, x, y, height) {
  const step = height / bar.colors.length;
  add(svg, 'text', {x, y: y - 9, 'font-size': 12}, bar.title);
  bar.colors.forEach((color, i) => add(svg, 'rect', {
    x, y: y + height - (i + 1) * step, width: 16, height: step + 0.3, fill: color}));
  for (const [position, text, more] of bar.ticks) {
    const at = y + height * (1 - position) + (more ? -3 : 4);
    add(svg, 'text', {x: x + 22, y: at, 'font-size': 11}, text);
    if (more) add(svg, 'text', {x: x + 22, y: at + 14, 'font-size': 11, class: 'quiet'}, more);
  }
}

const steps = (colors, count) => Array.from({length: count}, (_, i) =>
  colorAt(colors, (i + 0.5) / count));

function cellWithout(point) {
  return {text: point && !['ok', 'unsupported'].includes(point.outcome) ? '×' : ''};
}

function timesFigure(grid) {
  const times = grid.strategies.flatMap(name =>
    grid.cells[name].map((_, place) => pointAt(grid, name, place)).filter(hasTime).map(p => p.time));
  let [low, high] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))];
  if (low === high) [low, high] = [low * 0.9, high * 1.1];
  const position = time => Math.log(time / low) / Math.log(high / low);
  const panels = grid.strategies.map(name => ({title: name, cell: place => {
    const point = pointAt(grid, name, place);
    return hasTime(point) ? {color: colorAt(data.time_colors, position(point.time))}
      : cellWithout(point);
  }}));
  const ticks = logTicks(low, high).map(tick => [position(tick), String(+tick.toPrecision(3))]);
  return drawHeatmap(grid, panels,
    {title: 'Time (μs)', colors: steps(data.time_colors, 64), ticks}, 'Times of each strategy');
}

function shares(grid) {
  const counts = {};
  let all = 0;
  for (let place = 0; place < places(grid); ++place) {
    const best = ranked(grid, place)[0];
    if (!best) continue;
    counts[best.strategy] = (counts[best.strategy] || 0) + 1;
    ++all;
  }
  return grid.strategies.filter(name => name !== 'AUTO').map(name => (
    {name, cells: counts[name] || 0, percent: 100 * (counts[name] || 0) / Math.max(all, 1)}));
}

function bestFigure(grid) {
  const panel = {title: 'fastest strategy of each cell; •: tie', cell: place => {
    const order = ranked(grid, place);
    if (!order.length) return {};
    return {color: data.strategy_colors[order[0].strategy], text: isTie(order) ? '•' : ''};
  }};
  const all = shares(grid).reverse();
  const ticks = all.map((share, i) => [(i + 0.5) / all.length, share.name,
                                       `${share.cells} cells, ${share.percent.toFixed(1)} %`]);
  return drawHeatmap(grid, [panel], {title: 'Best strategy', ticks,
    colors: all.map(share => data.strategy_colors[share.name])}, 'Fastest strategy of each cell');
}

// panels: {title, point(place)}
function percentFigure(grid, panels, label) {
  let high = 0.1;
  for (const panel of panels)
    for (let place = 0; place < places(grid); ++place)
      high = Math.max(high, difference(grid, panel.point(place), place) || 0);
  const end = Math.min(high, 100);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(part => [part, (high > 100 && part === 1 ? '≥ ' : '') +
    String(+(end * part).toPrecision(2))]);
  const drawn = panels.map(panel => ({title: panel.title, cell: place => {
    const point = panel.point(place);
    const percent = difference(grid, point, place);
    if (percent === null) return cellWithout(point);
    return {color: colorAt(data.difference_colors, percent / end), text: percentText(percent)};
  }}));
  return drawHeatmap(grid, drawn,
    {title: 'Difference (%)', colors: steps(data.difference_colors, 64), ticks}, label);
}

function differenceFigure(grid) {
  return percentFigure(grid, grid.strategies.map(name => (
    {title: name, point: place => pointAt(grid, name, place)})), 'Difference from the fastest');
}

function regretFigure(grid) {
  return percentFigure(grid, grid.choices.map(choice => ({title: choice.name, point: place => {
    const name = choice.strategies[place];
    return name && grid.cells[name] ? pointAt(grid, name, place) : null;
  }})), 'Time lost by fixed choices');
}

// --- latency ---

function latencyCurves(grid) {
  const median = values => {
    values.sort((a, b) => a - b);
    const half = values.length >> 1;
    return values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
  };
  return grid.strategies.map(name => {
    const sizes = new Map();
    for (let place = 0; place < places(grid); ++place) {
      const point = pointAt(grid, name, place);
      const shown = state.hidden === 'all' || +state.hidden === hiddenOf(grid, place);
      if (!hasTime(point) || !shown) continue;
      const bytes = bytesOf(grid, place);
      if (!sizes.has(bytes)) sizes.set(bytes, []);
      sizes.get(bytes).push({...point, place});
    }
    const points = [...sizes].sort((a, b) => a[0] - b[0]).map(([bytes, same]) => ({
      bytes, time: median(same.map(p => p.time)), place: same[0].place, shapes: same.length,
      low: Math.min(...same.map(p => p.low === null ? p.time : p.low)),
      high: Math.max(...same.map(p => p.high === null ? p.time : p.high))}));
    return {name, color: data.strategy_colors[name], points};
  }).filter(curve => curve.points.length);
}

function limitsOf(grid) {
  if (grid.sm !== data.limit.sm) return [];
  const n = grid.tp;
  return data.limit.gbps.flatMap((gbps, i) => {
    const speed = `${gbps} GB/s${i ? ' usable' : ''}`;
    const one = {name: `${n > 2 ? 'one-shot ' : ''}link limit, ${speed}`, factor: n - 1};
    const two = {name: `two-shot link limit, ${speed}`, factor: 2 * (n - 1) / n};
    return (n > 2 ? [one, two] : [one]).map(limit => (
      {...limit, time: bytes => limit.factor * bytes / (gbps * 1e3), dash: i ? '3 4' : '9 4'}));
  });
}

// state.box is the part of the plane that shows, in logarithms: [x low, x high, y low, y high].
function latencyFigure(grid) {
  const curves = latencyCurves(grid), limits = limitsOf(grid);
  const all = curves.flatMap(curve => curve.points);
  const height = 620, left = 66, right = 285, top = 18, bottom = 52;
  const svg = newFigure(height, 'Time over message size');
  if (!all.length) {
    add(svg, 'text', {x: 40, y: 60}, 'no times at this hidden size');
    return svg;
  }
  const whole = [Math.log(Math.min(...all.map(p => p.bytes))) - 0.3,
                 Math.log(Math.max(...all.map(p => p.bytes))) + 0.3,
                 Math.log(Math.min(...all.map(p => p.low))) - 0.5,
                 Math.log(Math.max(...all.map(p => p.high))) + 0.3];
  const box = state.box || whole;
  svg.whole = whole;
  svg.plane = {left, right, top, bottom, height, box};
  const x = bytes => left + (Math.log(bytes) - box[0]) / (box[1] - box[0]) * (WIDTH - left - right);
  const y = time =>
    height - bottom - (Math.log(time) - box[2]) / (box[3] - box[2]) * (height - top - bottom);
  drawAxes(svg, {x, y, left, right, top, bottom, height, box});
  add(add(svg.querySelector('defs'), 'clipPath', {id: 'plane'}), 'rect',
    {x: left, y: top, width: WIDTH - left - right, height: height - top - bottom});
  const plane = add(svg, 'g', {'clip-path': 'url(#plane)'});
  for (const limit of limits) {
    const ends = [Math.exp(box[0]), Math.exp(box[1])];
    add(plane, 'path', {d: 'M' + ends.map(b => `${x(b)} ${y(limit.time(b))}`).join('L'),
                        fill: 'none', style: 'stroke:var(--quiet)', 'stroke-dasharray': limit.dash,
                        'stroke-width': limit.factor > 2 ? 1 : 1.8});
  }
  for (const curve of curves) drawCurve(plane, curve, x, y);
  drawKey(svg, curves, limits, WIDTH - right + 16, top + 12);
  return svg;
}

function drawAxes(svg, {x, y, left, right, top, bottom, height, box}) {
  const far = WIDTH - right;
  const first = Math.ceil(box[0] / Math.LN2), last = Math.floor(box[1] / Math.LN2);
  const step = Math.max(1, Math.ceil((last - first) / 10));
  for (let power = first; power <= last; power += step) {
    const at = x(2 ** power);
    add(svg, 'line', {x1: at, x2: at, y1: top, y2: height - bottom, class: 'grid'});
    add(svg, 'text', {x: at, y: height - bottom + 18, 'font-size': 11, 'text-anchor': 'middle'},
      bytesText(2 ** power));
  }
  const ticks = logTicks(Math.exp(box[2]), Math.exp(box[3]));
  for (const tick of ticks) {
    const decade = Number.isInteger(Math.round(Math.log10(tick) * 1e6) / 1e6);
    if (ticks.length > 12 && !decade) continue;
    add(svg, 'line', {x1: left, x2: far, y1: y(tick), y2: y(tick), class: 'grid'});
    add(svg, 'text', {x: left - 8, y: y(tick) + 4, 'font-size': 11, 'text-anchor': 'end'},
      String(+tick.toPrecision(3)));
  }
  add(svg, 'path', {d: `M${left} ${top}V${height - bottom}H${far}`, fill: 'none', class: 'axis'});
  add(svg, 'text', {x: (left + far) / 2, y: height - 12, 'text-anchor': 'middle',
                    'font-size': 12}, 'message size (bytes)');
  add(svg, 'text', {x: 16, y: (top + height - bottom) / 2, 'text-anchor': 'middle', 'font-size': 12,
                    transform: `rotate(-90 16 ${(top + height - bottom) / 2})`}, 'time (μs)');
}

function drawCurve(plane, curve, x, y) {
  const up = curve.points.map(p => `${x(p.bytes)} ${y(p.high)}`);
  const back = curve.points.map(p => `${x(p.bytes)} ${y(p.low)}`).reverse();
  add(plane, 'path', {d: 'M' + up.concat(back).join('L') + 'Z', fill: curve.color, opacity: 0.22});
  add(plane, 'path', {d: 'M' + curve.points.map(p => `${x(p.bytes)} ${y(p.time)}`).join('L'),
                      fill: 'none', stroke: curve.color, 'stroke-width': 2});
  for (const p of curve.points)
    add(plane, 'circle', {cx: x(p.bytes), cy: y(p.time), r: 4, fill: curve.color,
      'data-text': `${curve.name}, ${bytesText(p.bytes)}\n${microseconds(p.time)} μs, 95 % limits ` +
        `${microseconds(p.low)} to ${microseconds(p.high)}\n${p.shapes} ` +
        (p.shapes > 1 ? 'shapes of this size' : 'shape of this size')});
}

function drawKey(svg, curves, limits, x, y) {
  const line = (text, attributes, width) => {
    add(svg, 'line', {x1: x, x2: x + 30, y1: y, y2: y, 'stroke-width': width, ...attributes});
    add(svg, 'text', {x: x + 38, y: y + 4, 'font-size': 11.5}, text);
    y += 22;
  };
  for (const curve of curves) line(curve.name, {stroke: curve.color}, 3);
  for (const limit of limits)
    line(limit.name, {style: 'stroke:var(--quiet)', 'stroke-dasharray': limit.dash},
      limit.factor > 2 ? 1 : 1.8);
}

// --- numbers under the figure ---

function showNumbers(grid) {
  const all = shares(grid);
  const rows = grid.strategies.map(name => {
    const percents = [];
    for (let place = 0; place < places(grid); ++place) {
      const percent = difference(grid, pointAt(grid, name, place), place);
      if (percent !== null) percents.push(percent);
    }
    const share = all.find(one => one.name === name);
    const mean = percents.reduce((a, b) => a + b, 0) / percents.length;
    return [name, percents.length, share ? share.cells : '', share ? share.percent.toFixed(1) : '',
            percents.length ? mean.toFixed(1) : '',
            percents.length ? percents.reduce((a, b) => Math.max(a, b)).toFixed(1) : ''];
  });
  const table = byId('numbers');
  table.replaceChildren();
  const addRow = (cells, kind) => {
    const row = table.insertRow();
    cells.forEach((text, i) => {
      const cell = document.createElement(kind);
      if (i === 0 && kind === 'td') {
        const swatch = document.createElement('span');
        swatch.className = 'swatch';
        swatch.style.background = data.strategy_colors[text];
        cell.append(swatch);
      }
      cell.append(String(text));
      row.append(cell);
    });
  };
  addRow(['strategy', 'cells', 'best in', 'share (%)', 'average slower (%)', 'worst (%)'], 'th');
  rows.forEach(row => addRow(row, 'td'));
}

// --- what the user does ---

const FIGURES = {times: timesFigure, best: bestFigure, difference: differenceFigure,
                 regret: regretFigure, latency: latencyFigure};

function show() {
  const grid = data.grids[state.grid];
  const focused = document.activeElement && document.activeElement.tagName === 'svg';
  byId('title').textContent = `${VIEWS[state.view]}: ${grid.fusion}, TP ${grid.tp}, SM ${grid.sm}, ` +
    `${grid.dtype}, ${grid.launch === 'graph' ? 'CUDA graph' : 'eager launches'}`;
  byId('hidden-choice').hidden = state.view !== 'latency';
  const svg = FIGURES[state.view](grid);
  byId('figure').replaceChildren(svg);
  if (state.view !== 'latency' && state.box) svg.setAttribute('viewBox', state.box.join(' '));
  listen(svg);
  if (focused) svg.focus();
  markCell(svg);
  showNumbers(grid);
}

// Around a place given in shares of the figure; factor below 1 zooms in.
function zoom(svg, factor, shareX, shareY) {
  if (state.view === 'latency') {
    const [a, b, c, d] = state.box || svg.whole;
    const x = a + (b - a) * shareX, y = d - (d - c) * shareY;
    state.box = [x - (x - a) * factor, x + (b - x) * factor,
                 y - (y - c) * factor, y + (d - y) * factor];
  } else {
    const [x, y, width, height] = svg.viewBoxNow();
    const next = Math.min(width * factor, WIDTH);
    const part = next / width;
    state.box = next === WIDTH ? null
      : [x + width * (1 - part) * shareX, y + height * (1 - part) * shareY, next, height * part];
  }
  show();
}

function pan(svg, shareX, shareY) {
  if (state.view === 'latency') {
    const [a, b, c, d] = state.box || svg.whole;
    const [x, y] = [(b - a) * shareX, (d - c) * shareY];
    state.box = [a + x, b + x, c - y, d - y];
  } else {
    if (!state.box) return;
    const [x, y, width, height] = state.box;
    state.box = [x + width * shareX, y + height * shareY, width, height];
  }
  show();
}

function shareOf(svg, event) {
  const frame = svg.getBoundingClientRect();
  let x = (event.clientX - frame.left) / frame.width, y = (event.clientY - frame.top) / frame.height;
  if (svg.plane) {
    const {left, right, top, bottom, height} = svg.plane;
    x = (x * WIDTH - left) / (WIDTH - left - right);
    y = (y * height - top) / (height - top - bottom);
  }
  return [Math.min(Math.max(x, 0), 1), Math.min(Math.max(y, 0), 1)];
}

function showTip(text, x, y) {
  const tip = byId('tip');
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const frame = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - frame.width - 6)) + 'px';
  tip.style.top = (y + 18 + frame.height > innerHeight ? y - frame.height - 10 : y + 18) + 'px';
}

function markCell(svg) {
  if (state.cell === null || state.view === 'latency') return;
  const grid = data.grids[state.grid];
  for (const rect of svg.querySelectorAll(`[data-place="${state.cell}"]`)) {
    const copy = rect.cloneNode();
    copy.removeAttribute('data-place');
    copy.removeAttribute('fill');
    copy.setAttribute('class', 'current');
    copy.style.pointerEvents = 'none';
    svg.append(copy);
  }
  byId('reading').textContent = cellText(grid, state.cell).replaceAll('\n', '; ');
}

function moveCell(svg, right, down) {
  const grid = data.grids[state.grid], columns = grid.tokens.length;
  let place = state.cell === null ? 0 : state.cell;
  if (state.cell !== null) {
    const column = Math.min(Math.max(place % columns + right, 0), columns - 1);
    const row = Math.min(Math.max(Math.floor(place / columns) + down, 0), grid.hidden.length - 1);
    place = row * columns + column;
  }
  state.cell = place;
  show();
}

const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

function onKey(svg, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key];
  if (event.key === '+' || event.key === '=') zoom(svg, 0.8, 0.5, 0.5);
  else if (event.key === '-') zoom(svg, 1.25, 0.5, 0.5);
  else if (event.key === '0') { state.box = null; show(); }
  else if (arrow && (event.shiftKey || state.view === 'latency')) pan(svg, arrow[0] * 0.1, arrow[1] * 0.1);
  else if (arrow) moveCell(svg, ...arrow);
  else return;
  event.preventDefault();
}

let drag = null;

function listen(svg) {
  const whole = svg.getAttribute('viewBox').split(' ').map(Number);
  svg.viewBoxNow = () => state.box || whole;
  svg.addEventListener('keydown', event => onKey(svg, event));
  svg.addEventListener('wheel', event => {
    event.preventDefault();
    zoom(svg, event.deltaY < 0 ? 0.85 : 1 / 0.85, ...shareOf(svg, event));
  }, {passive: false});
  svg.addEventListener('pointerdown', event => { drag = [event.clientX, event.clientY]; });
  svg.addEventListener('pointermove', event => {
    const target = event.target;
    if (target.dataset.place) {
      showTip(cellText(data.grids[state.grid], +target.dataset.place), event.clientX, event.clientY);
    } else {
      showTip(target.dataset.text, event.clientX, event.clientY);
    }
  });
  svg.addEventListener('pointerleave', () => showTip(''));
}

addEventListener('pointermove', event => {
  const svg = document.querySelector('#figure svg');
  if (!drag || !svg) return;
  const frame = svg.getBoundingClientRect();
  const [x, y] = [drag[0] - event.clientX, drag[1] - event.clientY];
  if (Math.abs(x) + Math.abs(y) < 3) return;
  drag = [event.clientX, event.clientY];
  pan(svg, x / frame.width, y / frame.height);
});
addEventListener('pointerup', () => { drag = null; });

// --- the controls ---

function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) =>
    new Option(text, value, false, value === chosen)));
}

function chooseGrid() {
  const name = byId('benchmark').value;
  const wanted = byId('fusion').value;
  const here = data.grids.filter(grid => grid.name === name);
  const grid = here.find(one => one.fusion === wanted) || here[0];
  fill(byId('fusion'), here.map(one => [one.fusion, one.fusion]), grid.fusion);
  fill(byId('hidden'), [['all', 'all'], ...grid.hidden.map(h => [String(h), String(h)])], 'all');
  Object.assign(state, {grid: data.grids.indexOf(grid), box: null, cell: null, hidden: 'all'});
  byId('reading').textContent = '';
  keepInAddress();
  show();
}

// The address tells what shows, so that it can be passed on.
function keepInAddress() {
  const grid = data.grids[state.grid];
  history.replaceState(null, '', '#' + [grid.name, grid.fusion, state.view].join('/'));
}

function start() {
  const [name, fusion, view] = decodeURIComponent(location.hash.slice(1)).split('/');
  const names = [...new Set(data.grids.map(grid => grid.name))];
  fill(byId('benchmark'), names.map(one => [one, one.replace(/^benchmark\./, '')]), name);
  fill(byId('fusion'), [[fusion || '', fusion || '']], fusion || '');
  if (VIEWS[view]) state.view = view;
  for (const [key, text] of Object.entries(VIEWS)) {
    const label = document.createElement('label');
    const radio = document.createElement('input');
    Object.assign(radio, {type: 'radio', name: 'view', value: key, checked: key === state.view});
    radio.addEventListener('change', () => {
      Object.assign(state, {view: key, box: null});
      keepInAddress();
      show();
    });
    label.append(radio, ' ', text);
    byId('views').append(label);
  }
  byId('benchmark').addEventListener('change', chooseGrid);
  byId('fusion').addEventListener('change', chooseGrid);
  byId('hidden').addEventListener('change', event => {
    Object.assign(state, {hidden: event.target.value, box: null});
    show();
  });
  const figure = () => document.querySelector('#figure svg');
  byId('larger').addEventListener('click', () => zoom(figure(), 0.8, 0.5, 0.5));
  byId('smaller').addEventListener('click', () => zoom(figure(), 1.25, 0.5, 0.5));
  byId('whole').addEventListener('click', () => { state.box = null; show(); });
  byId('controls').addEventListener('submit', event => event.preventDefault());
  chooseGrid();
}

start();
