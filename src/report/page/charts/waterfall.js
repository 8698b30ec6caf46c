// From one setting's step to the other's: parts that add up.
import {tip} from '../dom.js';
import {number, roundedBeside, shortened, signed, textWidth, tick, withUnit, wrapped} from '../format.js';

const FONT = '13px system-ui, sans-serif';
const BOLD = '600 13px system-ui, sans-serif';

export function waterfall(chart, {width, narrow, colors}) {
  const {from, to, parts, unit} = chart;
  const rows = [{name: from.name, start: 0, end: from.value, total: true}];
  let at = from.value;
  for (const part of parts) {
    rows.push({...part, start: at, end: at + part.value});
    at += part.value;
  }
  rows.push({name: to.name, start: 0, end: to.value, total: true});
  const change = to.value - from.value;
  // A small part has no digits that a large one lacks.
  const largest = Math.max(Math.abs(change), ...parts.map(part => Math.abs(part.value)));
  const amount = value => roundedBeside(value, largest);
  const share = value => roundedBeside(100 * value / change, 100);
  const textOf = row => row.total ? withUnit(row.end, unit)
    : `${signed(amount(row.value))}\u00a0${unit}` + (change ? ` (${number(share(row.value)).replace('-', '\u2212')}\u00a0%)` : '');
  const linesOf = row => [row.name, textOf(row), ...(row.note ? [row.note] : [])];
  const nameWidth = Math.max(...rows.map(row => textWidth(row.name, BOLD)));
  const textRoom = Math.max(...rows.map(row => textWidth(textOf(row), FONT)));
  const beside = nameWidth + textRoom + 40 < width * 0.55;
  const left = beside ? nameWidth + 16 : 10;
  const right = beside ? textRoom + 20 : 10;
  const rowHeight = beside ? 32 : 48;
  const axisLines = wrapped(chart.axis, width - 20, '12px system-ui, sans-serif');
  // Bars from zero hide a small change; the axis then begins near the ends.
  const ends = rows.flatMap(row => row.total ? [row.end] : [row.start, row.end]);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const cut = least > 0 && most - least < 0.35 * most;
  const low = cut ? least - (most - least || most) * 0.25 : Math.min(0, least);
  const render = (params, api) => {
    const i = params.dataIndex;
    const row = rows[i];
    const [, middle] = api.coord([0, i]);
    const y = beside ? middle : middle + rowHeight / 2 - 12;
    const x1 = api.coord([row.total ? Math.max(low, 0) : row.start, i])[0];
    const x2 = api.coord([row.end, i])[0];
    const color = row.total ? colors.same : row.value > 0 ? colors.worse : colors.better;
    // A whole step is a mark where the axis does not begin at zero: a bar would lie about its length.
    const mark = row.total && cut;
    const children = [{type: 'rect', shape: {x: mark ? x2 - 3 : Math.min(x1, x2), y: y - 9,
      width: mark ? 6 : Math.max(1.5, Math.abs(x2 - x1)), height: 18}, style: {fill: color}}];
    const next = rows[i + 1];
    if (next) children.push({type: 'line', silent: true, shape: {x1: x2, y1: y + 9, x2, y2: y + rowHeight - 9},
      style: {stroke: colors.quiet, lineWidth: 1, lineDash: [3, 3]}});
    const label = (text, x, top, align, font) => children.push({type: 'text', silent: true,
      style: {text, x, y: top, align, verticalAlign: 'middle', font, fill: colors.ink}});
    if (beside) {
      label(row.name, left - 10, y, 'right', row.total ? BOLD : FONT);
      label(textOf(row), width - right + 12, y, 'left', FONT);
    } else {
      const top = middle - rowHeight / 2 + 11;
      const room = width - textWidth(textOf(row), FONT) - 20;
      label(shortened(row.name, room, row.total ? BOLD : FONT), 2, top, 'left', row.total ? BOLD : FONT);
      label(textOf(row), width - 2, top, 'right', FONT);
    }
    return {type: 'group', children};
  };
  return {
    renderer: 'svg', zoom: '', across: 1, height: rows.length * rowHeight + 40 + 16 * axisLines.length,
    points: rows.map((row, index) => ({series: 0, index, lines: linesOf(row)})),
    linkOf: event => rows[event.dataIndex]?.link,
    values: () => ({columns: ['', `value (${unit})`, 'share of the change (%)'],
      rows: rows.map(row => [row.name, number(row.total ? row.end : amount(row.value)), row.total || !change ? '' : number(share(row.value))])}),
    option: {
      grid: {left, right, top: 6, bottom: 28 + 16 * axisLines.length},
      xAxis: {type: 'value', min: low, max: most + (most - low) * 0.04, name: axisLines.join('\n'),
        nameLocation: 'middle', nameGap: 26, nameTextStyle: {color: colors.quiet, fontSize: 12, lineHeight: 16, verticalAlign: 'top'},
        splitNumber: narrow ? 4 : 8, axisLabel: {color: colors.quiet, fontSize: 12, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: tick},
        splitLine: {lineStyle: {color: colors.line}}, axisLine: {lineStyle: {color: colors.quiet}}},
      yAxis: {type: 'category', inverse: true, data: rows.map((_, i) => i), axisLabel: {show: false}, axisTick: {show: false}, axisLine: {show: false}},
      tooltip: {formatter: params => tip(linesOf(rows[params.dataIndex]))},
      series: [{type: 'custom', renderItem: render, data: rows.map((row, i) => [row.end, i]), encode: {x: 0, y: 1}, clip: false}],
    },
  };
}
