// A dot with its interval for each setting against a reference at zero, and the tolerance as a band.
import {tip} from '../dom.js';
import {number, signed, textWidth, wrapped} from '../format.js';

const FONT = '13px system-ui, sans-serif';
const BOLD = '600 13px system-ui, sans-serif';

const colorOf = (verdict, colors) =>
  /^(better|faster)/i.test(verdict) ? colors.better : /^(worse|slower)/i.test(verdict) ? colors.worse : colors.same;

const detailOf = item => item.value === null ? (item.verdict || 'no value')
  : [signed(item.value) + '\u00a0%', item.low === null ? '' : `(${signed(item.low)} to ${signed(item.high)})`,
     item.verdict].filter(Boolean).join(' ');

const isReference = item => item.value === 0 && item.low === null;

const linesOf = (item, headings) => [item.name,
  ...item.texts.map((text, i) => text && `${headings[i]}: ${text}`).filter(Boolean)];

export function ranking(chart, {width, colors}) {
  const {items} = chart;
  const details = items.map(item => isReference(item) ? item.verdict : detailOf(item));
  const nameWidth = Math.max(...items.map(item => textWidth(item.name, BOLD)));
  const detailWidth = Math.max(...details.map(text => textWidth(text, FONT)));
  // Beside the dots where that leaves them half of the width, above them otherwise.
  const beside = nameWidth + detailWidth + 40 < width / 2;
  const rows = items.map((item, i) => textWidth(item.name, BOLD) + textWidth(details[i], FONT) + 14 < width ? 1 : 2);
  const rowHeight = beside ? 34 : rows.includes(2) ? 64 : 48;
  const axisLines = wrapped(chart.axis, width - 20, '12px system-ui, sans-serif');
  const left = beside ? nameWidth + 16 : 14;
  const right = beside ? detailWidth + 18 : 14;
  const bottom = 34 + 16 * axisLines.length;
  const values = items.flatMap(item => [item.value, item.low, item.high]).filter(value => value !== null);
  values.push(0, chart.tolerance, -chart.tolerance);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const pad = (most - least || 1) * 0.05;
  const render = (params, api) => {
    const i = params.dataIndex;
    const item = items[i];
    const [, middle] = api.coord([0, i]);
    const y = beside ? middle : middle + rowHeight / 2 - 13;
    const color = colorOf(item.verdict, colors);
    const x = value => api.coord([value, i])[0];
    const children = [];
    const text = (value, at, top, align, font, fill) => children.push({type: 'text', silent: true,
      style: {text: value, x: at, y: top, align, verticalAlign: 'middle', font, fill,
        backgroundColor: colors.page, padding: [1, 2]}});
    if (beside) {
      text(item.name, left - 10, y, 'right', BOLD, colors.ink);
      text(details[i], width - right + 12, y, 'left', FONT, colors.ink);
    } else {
      const top = middle - rowHeight / 2 + 11;
      text(item.name, 4, top, 'left', BOLD, colors.ink);
      text(details[i], rows[i] === 1 ? width - 4 : 4, rows[i] === 1 ? top : top + 17, rows[i] === 1 ? 'right' : 'left', FONT, colors.ink);
    }
    const line = (x1, y1, x2, y2) => children.push({type: 'line', shape: {x1, y1, x2, y2},
      style: {stroke: color, lineWidth: 2.5}});
    if (item.low !== null) {
      line(x(item.low), y, x(item.high), y);
      line(x(item.low), y - 5, x(item.low), y + 5);
      line(x(item.high), y - 5, x(item.high), y + 5);
    }
    if (item.value !== null)
      children.push({type: 'circle', shape: {cx: x(item.value), cy: y, r: 5.5},
        style: {fill: /^un/i.test(item.verdict) ? colors.page : color, stroke: color, lineWidth: 2}});
    return {type: 'group', children};
  };
  return {
    renderer: 'svg', zoom: '', height: 12 + items.length * rowHeight + bottom,
    points: items.map((item, index) => ({series: 0, index, lines: linesOf(item, chart.headings)})),
    across: 1,
    values: () => ({columns: ['', 'value (%)', 'low (%)', 'high (%)', ...chart.headings],
      rows: items.map(item => [item.name, number(item.value), number(item.low), number(item.high), ...item.texts])}),
    option: {
      grid: {left, right, top: 10, bottom},
      xAxis: {type: 'value', min: least - pad, max: most + pad, name: axisLines.join('\n'),
        nameLocation: 'middle', nameGap: 26, nameTextStyle: {color: colors.quiet, fontSize: 12, lineHeight: 16, verticalAlign: 'top'},
        axisLabel: {color: colors.quiet, fontSize: 12, formatter: value => signed(+value.toPrecision(6)), hideOverlap: true,
          showMinLabel: false, showMaxLabel: false},
        splitNumber: width < 560 ? 4 : 8,
        splitLine: {lineStyle: {color: colors.line}}, axisLine: {lineStyle: {color: colors.quiet}}},
      yAxis: {type: 'category', inverse: true, data: items.map((_, i) => i), axisLabel: {show: false},
        axisTick: {show: false}, axisLine: {show: false}},
      tooltip: {formatter: params => tip(linesOf(items[params.dataIndex], chart.headings))},
      series: [{type: 'custom', renderItem: render, data: items.map((item, i) => [item.value ?? 0, i]),
        encode: {x: 0, y: 1}, clip: false, z: 6,
        markLine: {silent: true, symbol: 'none', label: {show: false}, data: [{xAxis: 0}],
          lineStyle: {color: colors.ink, type: 'solid', width: 1.5}},
        markArea: {silent: true, itemStyle: {color: colors.band},
          data: [[{xAxis: -chart.tolerance}, {xAxis: chart.tolerance}]]}}],
    },
  };
}
