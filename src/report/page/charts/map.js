// Maps: a colour for each place of a grid, in one panel or several with one scale.
import {tip} from '../dom.js';
import {digitsBetween, number, shortened, signed, textWidth} from '../format.js';
import {colorAt, readableOn} from '../paint.js';

const FONT = '12px system-ui, sans-serif';
const SMALL = '11px system-ui, sans-serif';
const NO_VALUE = 'no value';
const DECADES = 2;  // that a linear scale may span
const LEAST_SPAN = 0.02;  // of the values, so that noise does not take all colours

const VIRIDIS = ['#440154', '#482878', '#3e4989', '#31688e', '#26828e', '#1f9e89', '#35b779', '#6ece58', '#b5de2b', '#fde725'];
// From better to worse; the colours of verdicts.
const DIFFERENCE = ['#0072b2', '#7fb8d8', '#f7f7f7', '#eaae7e', '#d55e00'];

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(share * (sorted.length - 1))))];

const isSigned = chart => chart.scale === 'difference' || chart.scale === 'gain';

// How numbers become colours: {color(v), ticks: [[share, text]], colors}.
function scaleOf(chart) {
  const values = chart.panels.flatMap(panel => panel.values).filter(value => value !== null).sort((a, b) => a - b);
  if (!values.length) return null;
  if (isSigned(chart)) return differenceScale(chart, values);
  const more = Math.max(0, LEAST_SPAN * Math.abs(values[0] + values.at(-1)) / 2 - (values.at(-1) - values[0])) / 2;
  const [low, high] = [chart.low ?? values[0] - more, chart.high ?? values.at(-1) + more];
  const logarithmic = low > 0 && high / low > 10 ** DECADES;
  const place = logarithmic ? value => Math.log(value / low) / Math.log(high / low)
    : value => high > low ? (value - low) / (high - low) : 0.5;
  const back = share => logarithmic ? low * (high / low) ** share : low + (high - low) * share;
  const digits = digitsBetween(low, back(0.25));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(share => [share, number(back(share), digits)]);
  return marked({color: value => colorAt(VIRIDIS, place(value)), colors: VIRIDIS, ticks}, values, low, high);
}

// Differences about zero; beyond what nine in ten stay within, the scale ends and says so.
function differenceScale(chart, values) {
  const sizes = values.map(Math.abs).filter(size => size > 0).sort((a, b) => a - b);
  if (!sizes.length) sizes.push(1);
  const most = sizes.at(-1);
  const high = chart.high ?? (most > 4 * quantile(sizes, 0.9) ? quantile(sizes, 0.9) : most);
  const least = Math.max(quantile(sizes, 0.1), high / 1000);
  const logarithmic = high / least > 10 ** DECADES;
  const size = value => logarithmic ? Math.log1p(Math.min(Math.abs(value), high) / least) / Math.log1p(high / least)
    : Math.min(Math.abs(value), high) / high;
  const oneSided = values[0] >= 0;
  const place = value => oneSided ? 0.5 + size(value) / 2 : 0.5 + Math.sign(value) * size(value) / 2;
  const back = share => logarithmic ? least * (Math.exp(share * Math.log1p(high / least)) - 1) : share * high;
  const all = chart.scale === 'gain' ? [...DIFFERENCE].reverse() : DIFFERENCE;
  const list = oneSided ? all.slice(2) : all;
  const shares = oneSided ? [0, 0.25, 0.5, 0.75, 1] : [-1, -0.5, 0, 0.5, 1];
  const ticks = shares.map(share => [oneSided ? share : (share + 1) / 2, signed(Math.sign(share) * +back(Math.abs(share)).toPrecision(2))]);
  return marked({color: value => colorAt(all, place(value)), colors: list, ticks}, values, oneSided ? 0 : -high, high);
}

function marked(scale, values, low, high) {
  const last = scale.ticks.length - 1;
  if (values.at(-1) > high * (1 + 1e-9) && values.at(-1) > high) scale.ticks[last][1] = '\u2265\u2009' + scale.ticks[last][1];
  if (values[0] < low) scale.ticks[0][1] = '\u2264\u2009' + scale.ticks[0][1];
  return scale;
}

// Where the panels and their cells lie, at this width.
function layOut(chart, width) {
  const {rows, columns, panels} = chart;
  const font = rows.length > 40 ? SMALL : FONT;
  const names = Math.min(width * 0.3, Math.max(0, ...rows.map(name => textWidth(name, font)))) + 12;
  const titleRoom = chart.y_title ? 20 : 0;
  const left = titleRoom + names;
  const wantedCell = panels.length > 1 ? 34 : 26;
  const most = Math.max(1, Math.floor((width - left) / (columns.length * wantedCell + 14)));
  const across = Math.min(panels.length, most, panels.length > 4 ? Math.ceil(panels.length / 2) : panels.length);
  const panelWidth = (width - left - 8 - 14 * (across - 1)) / across;
  const cellWidth = Math.min(panelWidth / columns.length, 84);
  const least = chart.y_title ? (textWidth(chart.y_title, FONT) + 6) / rows.length : 0;
  const cellHeight = rows.length > 64 ? Math.max(3, 900 / rows.length) : rows.length > 24 ? 16 : Math.max(least, Math.min(30, Math.max(22, cellWidth * 0.7)));
  const columnText = Math.max(...columns.map(name => textWidth(name, FONT)));
  const turned = columnText + 6 > cellWidth && columns.length * (columnText + 8) > cellWidth * columns.length * 2.2 && columnText > 26;
  const below = (turned ? Math.min(columnText, 90) + 10 : 22) + (chart.x_title ? 20 : 0);
  const top = panels.some(panel => panel.title) ? 24 : 8;
  const block = top + cellHeight * rows.length + below;
  return {left, titleRoom, names, across, cellWidth, cellHeight, top, block, turned, font,
    at: i => ({x: left + (i % across) * (cellWidth * columns.length + 14), y: Math.floor(i / across) * (block + 8) + top}),
    height: Math.ceil(panels.length / across) * (block + 8)};
}

export function map(chart, {width, colors, zoom}) {
  const {rows, columns, panels} = chart;
  const place = layOut(chart, width);
  const scale = chart.scale === 'categories' ? null : scaleOf(chart);
  const category = new Map(chart.categories.map(one => [one.name, one.color]));
  const seenColumns = Math.max(1, columns.length * (zoom.x[1] - zoom.x[0]) / 100);
  const cellWidth = place.cellWidth * columns.length / seenColumns;
  const cellHeight = place.cellHeight * 100 / Math.max(0.05, zoom.y[1] - zoom.y[0]);
  const known = panels.flatMap(panel => panel.values).filter(value => value !== null && value !== undefined).sort((a, b) => a - b);
  const digits = digitsBetween(known[0], known.at(-1));
  const textOf = (panel, at) => {
    if (panel.texts && panel.texts[at]) return panel.texts[at];
    const value = panel.values[at];
    return value === null || value === undefined ? '' : isSigned(chart) ? signed(value) : number(value, digits);
  };
  const colorOf = (panel, at) => chart.scale === 'categories' ? category.get(panel.names[at]) ?? null
    : panel.values[at] === null || panel.values[at] === undefined || !scale ? null : scale.color(panel.values[at]);
  const linesOf = (panel, at) => {
    const row = Math.floor(at / columns.length);
    const column = at % columns.length;
    const note = panel.notes && panel.notes[at];
    const value = chart.scale === 'categories' ? panel.names[at] || 'none'
      : colorOf(panel, at) === null ? textOf(panel, at) || NO_VALUE : `${textOf(panel, at)} ${chart.unit}`;
    return [`${chart.y_title || 'row'} ${rows[row]}, ${chart.x_title || 'column'} ${columns[column]}`,
      (panel.title ? panel.title + ': ' : '') + value, ...neighbours(panel, row, column), ...(note ? note.split('\n') : [])];
  };
  const neighbours = (panel, row, column) => {
    if (chart.scale !== 'magnitude' || panels.length > 1) return [];
    const near = [['before', row, column - 1], ['after', row, column + 1], ['above', row - 1, column], ['below', row + 1, column]]
        .filter(([, r, c]) => r >= 0 && r < rows.length && c >= 0 && c < columns.length)
        .map(([word, r, c]) => [word, panel.values[r * columns.length + c]]).filter(([, value]) => value !== null);
    return near.length ? [near.map(([word, value]) => `${word} ${number(value, digits)}`).join(', ')] : [];
  };
  const widest = Math.max(0, ...panels.flatMap(panel => panel.values.length || panel.texts ? rows.flatMap((_, r) => columns.map((__, c) => textWidth(textOf(panel, r * columns.length + c), SMALL))) : []));
  const isBlank = (panel, at) => colorOf(panel, at) === null && !textOf(panel, at);
  const blank = panels.some(panel => rows.some((_, r) => columns.some((__, c) => isBlank(panel, r * columns.length + c))))
    ? [{name: NO_VALUE, color: colors.same, look: 'blank'}] : [];
  const points = [];
  const series = panels.map((panel, p) => ({
    type: 'custom', xAxisIndex: p, yAxisIndex: p, clip: true, encode: {x: 0, y: 1},
    data: rows.flatMap((_, r) => columns.map((__, c) => [c, r])),
    renderItem: (params, api) => {
      const at = params.dataIndex;
      const [c, r] = [at % columns.length, Math.floor(at / columns.length)];
      const [x, y] = api.coord([c, r]);
      const [w, h] = api.size([1, 1]);
      const gap = Math.min(w, h) > 8 ? 1 : 0;
      const color = colorOf(panel, at);
      const shape = {x: x - w / 2 + gap / 2, y: y - h / 2 + gap / 2, width: w - gap, height: h - gap};
      const children = [{type: 'rect', shape, style: {fill: color ?? colors.none},
        emphasis: {style: {stroke: colors.focus, lineWidth: 3}}}];
      const text = textOf(panel, at);
      if (color === null && !text && w > 8 && h > 8)
        children.push({type: 'line', silent: true, shape: {x1: shape.x + 2, y1: shape.y + shape.height - 2, x2: shape.x + shape.width - 2, y2: shape.y + 2},
          style: {stroke: colors.same, lineWidth: 1}});
      // A value stands in its cell only where all can be read, a mark of none where it can itself.
      const room = color === null ? textWidth(text, SMALL) : widest;
      if (text && cellHeight >= 15 && room + 4 <= cellWidth)
        children.push({type: 'text', silent: true, style: {text, x, y, align: 'center', verticalAlign: 'middle', font: SMALL,
          fill: color ? readableOn(color) : colors.ink}});
      return {type: 'group', children};
    }}));
  for (let at = 0; at < rows.length * columns.length; ++at)
    panels.forEach((panel, p) => { if (p === 0) points.push({series: 0, index: at,
      lines: panels.length > 1 ? [linesOf(panel, at)[0], ...panels.map(one => linesOf(one, at)[1])] : linesOf(panel, at)}); });
  const xEvery = Math.max(1, Math.ceil((Math.max(...columns.map(name => textWidth(name, FONT))) + 6) / cellWidth));
  return {
    renderer: rows.length * columns.length * panels.length > 1500 ? 'canvas' : 'svg',
    zoom: columns.length * rows.length > 60 ? 'xy' : '', redrawsOnZoom: true, across: columns.length, points,
    height: place.height + (scale ? 46 : 4),
    key: [...chart.categories, ...blank].map(one => ({...one, quiet: true})),
    values: () => ({columns: [chart.y_title || '', chart.x_title || '', ...panels.map(panel => (panel.title || 'value') + (chart.unit ? ` (${chart.unit})` : ''))],
      rows: rows.flatMap((row, r) => columns.map((column, c) => [row, column, ...panels.map(panel =>
        chart.scale === 'categories' ? panel.names[r * columns.length + c] || '' : textOf(panel, r * columns.length + c))]))}),
    option: {
      grid: panels.map((_, p) => ({left: place.at(p).x, top: place.at(p).y, width: place.cellWidth * columns.length, height: place.cellHeight * rows.length})),
      xAxis: panels.map((_, p) => ({type: 'category', gridIndex: p, data: columns, name: chart.x_title, nameLocation: 'middle',
        nameGap: place.turned ? Math.min(90, Math.max(...columns.map(name => textWidth(name, FONT)))) + 18 : 26,
        nameTextStyle: {color: colors.quiet, fontSize: 12}, axisTick: {show: false}, axisLine: {show: false},
        axisLabel: {color: colors.quiet, fontSize: 12, rotate: place.turned ? 90 : 0, interval: place.turned ? 0 : (index => index % xEvery === 0)}})),
      yAxis: panels.map((_, p) => ({type: 'category', gridIndex: p, data: rows, inverse: true, name: p % place.across === 0 ? chart.y_title : '',
        nameLocation: 'middle', nameRotate: 90, nameGap: place.names, nameTextStyle: {color: colors.quiet, fontSize: 12},
        axisTick: {show: false}, axisLine: {show: false},
        axisLabel: {show: p % place.across === 0, color: colors.ink, fontSize: place.font === SMALL ? 11 : 12,
          interval: index => index % Math.max(1, Math.ceil(14 / cellHeight)) === 0, formatter: name => shortened(name, place.names - 8, place.font)}})),
      tooltip: {formatter: params => tip(linesOf(panels[params.seriesIndex] || panels[0], params.dataIndex))},
      series: series.concat(panelTitles(panels, place, colors, width, columns), scale ? scaleBar(scale, chart, place, width, colors) : []),
    },
  };
}

function panelTitles(panels, place, colors, width, columns) {
  if (!panels.some(panel => panel.title)) return [];
  return [{type: 'custom', coordinateSystem: 'none', silent: true, data: [0], renderItem: () => ({type: 'group',
    children: panels.map((panel, p) => ({type: 'text', style: {text: shortened(panel.title, place.cellWidth * columns.length, '600 12px system-ui, sans-serif'),
      x: place.at(p).x, y: place.at(p).y - 12, verticalAlign: 'middle', font: '600 12px system-ui, sans-serif', fill: colors.ink}}))})}];
}

function scaleBar(scale, chart, place, width, colors) {
  const x = place.left;
  const room = Math.min(360, width - x - 14);
  const title = chart.scale_title || chart.unit;
  const y = place.height + 4;
  const children = [];
  const steps = 60;
  for (let i = 0; i < steps; ++i)
    children.push({type: 'rect', shape: {x: x + room * i / steps, y, width: room / steps + 0.6, height: 11}, style: {fill: colorAt(scale.colors, (i + 0.5) / steps)}});
  const named = scale.ticks.map(([share, text], i) => [share, i === scale.ticks.length - 1 ? `${text} ${title}` : text]);
  // The outer ticks end with the bar, the others are centred.
  const after = i => textWidth(named[i][1], FONT) / (i === 0 ? 1 : 2);
  const ahead = i => textWidth(named[i][1], FONT) / (i === named.length - 1 ? 1 : 2);
  const last = named.length - 1;
  const all = named.map((_, i) => i);
  const apart = places => places.every((at, i) => !i || after(places[i - 1]) + ahead(at) + 8 < room / (places.length - 1));
  const places = [all, all.filter(i => i % 2 === 0), [0, last]].find(apart) ?? [0, last];
  const ticks = places.map(i => named[i]);
  ticks.forEach(([share, text], i) => children.push({type: 'text', style: {text,
    x: x + room * share, y: y + 21, align: i === 0 ? 'left' : i === ticks.length - 1 ? 'right' : 'center', verticalAlign: 'middle', fill: colors.quiet, font: FONT}}));
  return [{type: 'custom', coordinateSystem: 'none', silent: true, data: [0], renderItem: () => ({type: 'group', children})}];
}
