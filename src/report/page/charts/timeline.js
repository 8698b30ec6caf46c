// One step of all ranks: lanes by rank, computation and communication in two rows, the critical path
// outlined.
import {tip} from '../dom.js';
import {microseconds, shortened, textWidth} from '../format.js';

// Of "void at::native::kernel<float>(int)" only "kernel" tells what runs.
function shortName(name) {
  const bare = name.replace(/^void /, '').split(/[<(]/)[0];
  return bare.split('::').filter(Boolean).at(-1) || name;
}

function fitting(name, width) {
  const text = shortName(name);
  if (textWidth(text, SMALL) <= width) return text;
  let keep = text.length - 1;
  while (keep > 5 && textWidth(text.slice(0, keep) + '\u2026', SMALL) > width) --keep;
  return keep > 5 ? text.slice(0, keep) + '\u2026' : '';
}

const FONT = '12px system-ui, sans-serif';
const SMALL = '11px system-ui, sans-serif';

// Sums the deltas that the page's data hold, once.
function spansOf(chart) {
  if (chart.unpacked) return chart.unpacked;
  chart.unpacked = chart.lanes.map(lane => lane.rows.map(row => {
    const start = new Float64Array(row.start.length);
    let at = 0;
    for (let i = 0; i < start.length; ++i) {
      at += row.start[i];
      start[i] = at;
    }
    return {start, length: row.length, name: row.name, critical: new Set(row.critical)};
  }));
  return chart.unpacked;
}

// The spans that a window shows, those too short to see joined with their neighbours of one row.
function visible(row, from, to, pixel) {
  const shown = [];
  let low = 0;
  let high = row.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.start[middle] + row.length[middle] < from) low = middle + 1;
    else high = middle;
  }
  for (let i = low; i < row.start.length && row.start[i] < to; ++i) {
    const [start, end] = [row.start[i], row.start[i] + row.length[i]];
    const last = shown.at(-1);
    const critical = row.critical.has(i);
    if (last && start - last.end < pixel && (end - start < 2 * pixel || last.end - last.start < 2 * pixel) && last.critical === critical && end - last.start < 12 * pixel) {
      last.end = Math.max(last.end, end);
      ++last.count;
      last.busy += end - start;
    } else {
      shown.push({start, end, i, count: 1, busy: end - start, critical});
    }
  }
  return shown;
}

export function timeline(chart, {width, narrow, colors, zoom}) {
  const lanes = spansOf(chart);
  const names = chart.lanes.map(lane => lane.name);
  const left = Math.min(width * 0.25, Math.max(...names.map(name => textWidth(name, FONT)))) + 12;
  const room = width - left - 14;
  const total = chart.length_us;
  const [from, to] = [total * zoom.x[0] / 100, total * zoom.x[1] / 100];
  const pixel = (to - from) / room;
  const half = names.length > 24 ? 7 : 13;
  const laneHeight = 2 * half + 6;
  const data = [];
  lanes.forEach((rows, lane) => rows.forEach((row, r) => {
    for (const span of visible(row, from, to, pixel)) data.push({lane, r, row, span});
  }));
  const kinds = chart.rows;
  const linesOf = ({lane, r, row, span}) => [span.count === 1 ? chart.names[row.name[span.i]] : `${span.count} kernels, ${microseconds(span.busy)} together; zoom in to see them`,
    `${names[lane]}, ${kinds[r].name}` + (span.critical ? ', on the critical path' : ''),
    `from ${microseconds(span.start)} to ${microseconds(span.end)}, ${microseconds(span.end - span.start)}`];
  const render = (params, api) => {
    const {lane, r, row, span} = data[params.dataIndex];
    const [x1] = api.coord([Math.max(span.start, from), lane]);
    const [x2, middle] = api.coord([Math.min(span.end, to), lane]);
    const y = middle + (r === 0 ? -half : 0);
    const gap = x2 - x1 > 4 ? 0.6 : 0;
    const shape = {x: x1, y: y + 1, width: Math.max(0.8, x2 - x1 - gap), height: half - 1};
    const children = [{type: 'rect', shape, style: {fill: kinds[r].color, opacity: span.count > 1 ? Math.max(0.35, Math.min(1, span.busy / (span.end - span.start))) : 1,
      ...(span.critical ? {stroke: colors.ink, lineWidth: 1.6} : {})}, emphasis: {style: {stroke: colors.focus, lineWidth: 2}}}];
    const name = span.count === 1 ? chart.names[row.name[span.i]] : '';
    if (half >= 12 && shape.width > 44 && name)
      children.push({type: 'text', silent: true, style: {text: fitting(name, shape.width - 6), x: x1 + 3, y: y + half / 2, verticalAlign: 'middle', font: SMALL, fill: kinds[r].ink}});
    return {type: 'group', children};
  };
  return {
    renderer: 'canvas', zoom: 'x', redrawsOnZoom: true, across: 1,
    height: names.length * laneHeight + 56,
    points: data.map((one, index) => ({series: 0, index, get lines() { return linesOf(one); }})),
    key: kinds.map(kind => ({name: kind.name, color: kind.color, quiet: true})),
    values: () => ({columns: ['rank', 'row', 'what', 'from', 'duration'], rows: data.map(one => {
      const [what, where] = linesOf(one);
      return [names[one.lane], kinds[one.r].name, what, microseconds(one.span.start), microseconds(one.span.busy), where].slice(0, 5);
    })}),
    option: {
      grid: {left, right: 14, top: 6, bottom: 50},
      xAxis: {type: 'value', min: 0, max: total, name: chart.axis, nameLocation: 'middle', nameGap: 28, splitNumber: narrow ? 3 : 7,
        nameTextStyle: {color: colors.quiet, fontSize: 12}, splitLine: {lineStyle: {color: colors.line}},
        axisLabel: {color: colors.quiet, fontSize: 12, hideOverlap: true, showMaxLabel: false,
          formatter: value => to - from > 20000 ? `${+(value / 1e3).toPrecision(6)}` : `${+(value / 1e3).toPrecision(8)}`}},
      yAxis: {type: 'category', inverse: true, data: names, axisTick: {show: false}, axisLine: {lineStyle: {color: colors.quiet}},
        axisLabel: {color: colors.ink, fontSize: 12, formatter: name => shortened(name, left - 10, FONT), interval: index => index % Math.ceil(14 / laneHeight) === 0}},
      tooltip: {formatter: params => tip(linesOf(data[params.dataIndex]))},
      series: [{type: 'custom', renderItem: render, clip: true, encode: {x: [0, 1], y: 2},
        data: data.map(({lane, span}) => [span.start, span.end, lane])}],
    },
  };
}
