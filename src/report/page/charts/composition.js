// Stacked bars: of what a step consists, by rank or setting.
import {tip} from '../dom.js';
import {figure, number, shortened, textWidth, withUnit} from '../format.js';
import {readableOn} from '../paint.js';

const FONT = '12px system-ui, sans-serif';

export function composition(chart, {width, narrow, colors, off}) {
  const {parts, bars, unit} = chart;
  const shown = parts.map((part, i) => ({...part, i})).filter(part => !off.has(part.name));
  const nameRoom = Math.min(width * 0.38, Math.max(...bars.map(bar => textWidth(bar.name, FONT))) + 12);
  const most = Math.max(...bars.map(bar => bar.values.reduce((a, b) => a + (b || 0), 0)));
  const room = width - nameRoom - 56;
  const height = bars.length > 40 ? 12 : bars.length > 16 ? 18 : 26;
  const linesOf = bar => [bar.name, ...parts.map((part, i) => `${part.name}: ${withUnit(bar.values[i], unit)}`),
    `together: ${withUnit(bar.values.reduce((a, b) => a + (b || 0), 0), unit)}`];
  return {
    renderer: 'svg', zoom: '', across: 1, height: bars.length * height + 62,
    points: bars.map((bar, index) => ({series: 0, index, lines: linesOf(bar)})),
    key: parts.map(part => ({name: part.name, color: part.color})),
    values: () => ({columns: ['', ...parts.map(part => `${part.name} (${unit})`)],
      rows: bars.map(bar => [bar.name, ...bar.values.map(number)])}),
    option: {
      grid: {left: nameRoom, right: 56, top: 6, bottom: 52},
      xAxis: {type: 'value', min: 0, name: chart.axis, nameLocation: 'middle', nameGap: 28,
        nameTextStyle: {color: colors.quiet, fontSize: 12}, splitNumber: narrow ? 3 : 7,
        axisLabel: {color: colors.quiet, fontSize: 12, hideOverlap: true}, splitLine: {lineStyle: {color: colors.line}}},
      yAxis: {type: 'category', inverse: true, data: bars.map(bar => bar.name),
        axisLabel: {color: colors.ink, fontSize: 12, formatter: name => shortened(name, nameRoom - 10, FONT)},
        axisTick: {show: false}, axisLine: {lineStyle: {color: colors.quiet}}},
      tooltip: {formatter: params => tip(linesOf(bars[params.dataIndex]))},
      series: shown.map(part => ({
        type: 'bar', stack: 'all', name: part.name, barCategoryGap: '18%', itemStyle: {color: part.color},
        data: bars.map(bar => {
          const value = bar.values[part.i] || 0;
          const text = figure(value);
          const fits = height > 16 && value / most * room > textWidth(text, FONT) + 6;
          return {value, label: {show: fits, formatter: text, color: readableOn(part.color), fontSize: 12}};
        }),
      })).concat(totals(bars, shown, colors, height)),
    },
  };
}

// The sum of the parts, behind the end of each bar.
function totals(bars, shown, colors, height) {
  return {type: 'bar', stack: 'all', silent: true, itemStyle: {color: 'transparent'},
    data: bars.map(bar => {
      const sum = shown.reduce((a, part) => a + (bar.values[part.i] || 0), 0);
      return {value: 0, label: {show: height > 16, position: 'right', formatter: figure(sum), color: colors.ink, fontSize: 12}};
    })};
}
