// Curves over a logarithmic plane: measured points with their intervals, limits behind them.
import {tip} from '../dom.js';
import {bytes, number, textWidth, tick} from '../format.js';

const FONT = '12px system-ui, sans-serif';
const log = Math.log10;

// Places of the ticks: powers of two for bytes, 1, 2 and 5 times powers of ten otherwise.
function ticks(low, high, axis, most) {
  if (axis.bytes) {
    const all = [];
    for (let power = Math.ceil(Math.log2(low) - 1e-9); power <= Math.log2(high) + 1e-9; ++power) all.push(2 ** power);
    const step = Math.max(1, Math.ceil(all.length / most));
    return all.filter((_, i) => i % step === 0);
  }
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const all = [];
    for (let power = Math.floor(log(low)); power <= Math.ceil(log(high)); ++power)
      for (const step of steps) all.push(step * 10 ** power);
    const inside = all.filter(value => value >= low * 0.9999 && value <= high * 1.0001);
    if (inside.length <= most) return inside.length > 1 ? inside : evenTicks(low, high, most);
  }
  return evenTicks(low, high, most);
}

// Round numbers at equal distances, for a plane of less than a power of ten.
function evenTicks(low, high, most) {
  if (!(high > low)) return [low];
  const power = 10 ** Math.floor(log(high - low));
  for (const factor of [0.1, 0.2, 0.5, 1, 2, 5]) {
    const step = factor * power;
    const first = Math.ceil(low / step);
    const count = Math.floor(high / step) - first + 1;
    if (count <= most) return Array.from({length: count}, (_, i) => (first + i) * step);
  }
  return [low, high];
}

// There are more curves than colours that can be told apart, so that those of one colour and look differ in these.
const SHAPES = [{symbol: 'circle', dash: 'solid'}, {symbol: 'rect', dash: [10, 4]}, {symbol: 'triangle', dash: [3, 3]},
  {symbol: 'diamond', dash: [10, 3, 3, 3]}];

// Returns the shape of each curve by its name.
function shapesOf(allCurves) {
  const shapes = new Map();
  const used = new Map();
  for (const curve of allCurves) {
    if (curve.look === 'limit' || shapes.has(curve.name)) continue;
    const looks = curve.color + curve.look;
    const before = used.get(looks) || 0;
    used.set(looks, before + 1);
    shapes.set(curve.name, before % SHAPES.length);
  }
  return shapes;
}

const isHollow = curve => curve.look === 'reference' || curve.look === 'marks';

function keyLook(curve, shape) {
  if (curve.look === 'limit') return 'line dashed';
  const hollow = isHollow(curve);
  if (shape > 0) return `mark ${SHAPES[shape].symbol}${hollow ? ' hollow' : ''}`;
  return hollow ? 'ring' : 'line';
}

const textOf = (value, axis) => axis.bytes ? bytes(value) : tick(+value.toPrecision(3));

export function curves(chart, {width, narrow, colors, zoom, off}) {
  const curvesShown = chart.curves.filter(curve => !off.has(curve.name));
  const all = chart.curves.flatMap(curve => curve.look === 'limit' ? [] : curve.points);
  const positive = values => values.filter(value => value > 0);
  const xs = positive(all.map(point => point.x));
  const ys = positive(all.flatMap(point => [point.y, point.low, point.high]));
  if (!xs.length) return empty(width);
  const span = (values, pad) => {
    const [low, high] = [log(Math.min(...values)), log(Math.max(...values))];
    const more = Math.max((high - low) * pad, 0.12);
    return [low - more, high + more];
  };
  const limits = chart.curves.filter(curve => curve.look === 'limit');
  const x = span(xs, 0.06);
  // A limit far from what was measured does not stretch the axis.
  const [lowest, highest] = [Math.min(...ys), Math.max(...ys)];
  const near = limits.flatMap(curve => curve.points.map(point => point.y)).filter(value => value >= lowest && value <= 10 * highest);
  const y = span(ys.concat(near), 0.08);
  const seen = (range, [from, to]) => [range[0] + (range[1] - range[0]) * from / 100, range[0] + (range[1] - range[0]) * to / 100];
  const [seenX, seenY] = [seen(x, zoom.x), seen(y, zoom.y)];
  const xTicks = ticks(10 ** seenX[0], 10 ** seenX[1], chart.x, narrow ? 4 : 9).map(log);
  const yTicks = ticks(10 ** seenY[0], 10 ** seenY[1], chart.y, 9).map(log);
  const noted = all.some(point => point.note);
  const named = curvesShown.length < 6 && !narrow;
  const right = named ? Math.min(width * 0.34, Math.max(...curvesShown.map(curve => textWidth(curve.name, FONT))) + 24) : 14;
  const yRoom = Math.max(...yTicks.map(tick => textWidth(textOf(10 ** tick, chart.y), FONT))) + 34;
  const points = [];
  const series = [];
  const shapes = shapesOf(chart.curves);
  for (const curve of curvesShown) {
    const limit = curve.look === 'limit';
    const color = limit ? colors.same : curve.color;
    const shape = SHAPES[shapes.get(curve.name) || 0];
    const data = curve.points.filter(point => point.x > 0 && point.y > 0);
    const linesOf = point => [curve.name, `${chart.x.title}: ${textOf(point.x, chart.x)}`, `${chart.y.title}: ${number(point.y)}` +
      (point.low === null ? '' : ` (${number(point.low)} to ${number(point.high)})`), ...(point.note ? [point.note] : [])];
    const bands = data.filter(point => point.low > 0 && point.high > point.low);
    if (bands.length)
      series.push({type: 'custom', silent: true, clip: true, z: 1,
        data: bands.map(point => [log(point.x), log(point.low), log(point.high)]), encode: {x: 0, y: [1, 2]},
        renderItem: (params, api) => {
          const [a, b] = [api.coord([api.value(0), api.value(1)]), api.coord([api.value(0), api.value(2)])];
          return {type: 'line', shape: {x1: a[0], y1: a[1], x2: b[0], y2: b[1]}, style: {stroke: color, lineWidth: 5, opacity: 0.3}};
        }});
    data.forEach((point, index) => { if (!limit) points.push({series: series.length, index, lines: linesOf(point)}); });
    series.push({type: 'line', name: curve.name, data: data.map(point => ({value: [log(point.x), log(point.y)], lines: linesOf(point)})),
      symbol: limit ? 'none' : isHollow(curve) ? 'empty' + shape.symbol[0].toUpperCase() + shape.symbol.slice(1) : shape.symbol, symbolSize: data.length > 12 ? 5 : isHollow(curve) ? 11 : 9, showAllSymbol: true, clip: true, z: limit ? 0 : 2,
      // A line between two sizes that are far apart would claim what nobody measured.
      lineStyle: {color, width: limit ? 1.5 : data.length > 2 && curve.look !== 'marks' ? 2 : 0, type: limit ? 'dashed' : shape.dash}, itemStyle: {color}, emphasis: {scale: 1.5}});
  }
  return {
    renderer: 'svg', zoom: 'xy', redrawsOnZoom: true, across: 1, points,
    height: narrow ? 320 : 400,
    key: named ? [] : firstOfEachName(chart.curves).map(curve => ({name: curve.name, color: curve.look === 'limit' ? colors.same : curve.color,
      look: keyLook(curve, shapes.get(curve.name))})),
    values: () => ({columns: ['', chart.x.title, chart.y.title, 'low', 'high', ...(noted ? ['what'] : [])],
      rows: chart.curves.flatMap(curve => curve.points.map(point =>
        [curve.name, textOf(point.x, chart.x), number(point.y), number(point.low), number(point.high), ...(noted ? [point.note || ''] : [])]))}),
    option: {
      grid: {left: yRoom, right, top: 12, bottom: 50},
      xAxis: axis(chart.x, x, xTicks, colors, {nameGap: 28, nameLocation: 'middle'}),
      yAxis: axis(chart.y, y, yTicks, colors, {nameGap: yRoom - 18, nameLocation: 'middle', nameRotate: 90}),
      tooltip: {formatter: params => params.data.lines ? tip(params.data.lines) : ''},
      series: named ? series.concat(endNames(curvesShown, seenX, seenY, colors)) : series,
    },
  };
}

function axis(given, [min, max], at, colors, more) {
  return {type: 'value', min, max, name: given.title, nameTextStyle: {color: colors.quiet, fontSize: 12},
    axisLabel: {color: colors.quiet, fontSize: 12, customValues: at, formatter: value => textOf(10 ** value, given), hideOverlap: true,
      showMinLabel: true, showMaxLabel: true},
    axisTick: {show: true, customValues: at}, axisLine: {show: true, onZero: false, lineStyle: {color: colors.quiet}},
    splitLine: {show: true, lineStyle: {color: colors.line}}, ...more};
}

// Names beside the curves' last visible points, moved apart where they would overlap.
function endNames(curvesShown, seenX, seenY, colors) {
  return {type: 'custom', silent: true, clip: false, data: [[seenX[1], seenY[1]]],
    renderItem: (params, api) => {
      const box = params.coordSys;
      const labels = curvesShown.map(curve => {
        const inside = curve.points.filter(point => point.y > 0 && log(point.x) <= seenX[1] && log(point.x) >= seenX[0]);
        const last = inside.at(-1);
        return last && {curve, from: api.coord([log(last.x), log(last.y)])};
      }).filter(Boolean).sort((a, b) => a.from[1] - b.from[1]);
      let free = box.y + 6;
      for (const label of labels) {
        label.y = Math.max(free, Math.min(label.from[1], box.y + box.height));
        free = label.y + 16;
      }
      const over = free - 16 - (box.y + box.height);
      if (over > 0) labels.forEach(label => { label.y -= over; });
      const x = box.x + box.width + 14;
      return {type: 'group', children: labels.flatMap(({curve, from, y}) => {
        const color = curve.look === 'limit' ? colors.same : curve.color;
        return [{type: 'line', shape: {x1: Math.min(from[0], box.x + box.width) + 5, y1: from[1], x2: x - 3, y2: y}, style: {stroke: color, lineWidth: 1, opacity: 0.6}},
          {type: 'text', style: {text: curve.name, x, y, verticalAlign: 'middle', fill: colors.ink, font: FONT}}];
      })};
    }};
}

// Curves with one name are shown and hidden together.
const firstOfEachName = curves => curves.filter((curve, i) => curves.findIndex(one => one.name === curve.name) === i);

const empty = () => ({renderer: 'svg', zoom: '', height: 20, points: [], key: [], values: () => ({columns: ['no values'], rows: []}), option: {series: []}});
