// Draws the charts of docs/benchmarks.md from the figures that the last full run has left beside
// it. Plain JavaScript, as Vega comes as ES modules only.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, View } from 'vega';
import { compile } from 'vega-lite';

/** @typedef {{ series: string, x: string | number, y: number }} Point */
/**
 * @typedef {object} Chart
 * @property {string} name
 * @property {string} title
 * @property {'bars' | 'lines'} kind
 * @property {string} xTitle
 * @property {string} yTitle
 * @property {boolean} [logarithmic]
 * @property {Point[]} points
 */

const DOCS = 'docs';
const OURS = '#2f6f4e';
const THEIRS = '#b9bec4';

/** @type {Chart[]} */
const charts = JSON.parse(readFileSync(join(DOCS, 'benchmarks.charts.json'), 'utf8'));
for (const chart of charts) {
  const { spec } = compile(chart.kind === 'bars' ? bars(chart) : lines(chart));
  const view = new View(parse(spec), { renderer: 'none' });
  writeFileSync(join(DOCS, `benchmarks-${chart.name}.svg`), `${await view.toSVG()}\n`);
  view.finalize();
}

/** @param {Chart} chart @returns {import('vega-lite').TopLevelSpec} */
function bars({ title, yTitle, logarithmic, points }) {
  const isOurs = { test: '/^(lastcall|groups)/.test(datum.x)', value: OURS };
  const x = { field: 'y', type: /** @type {const} */ ('quantitative') };
  return {
    title,
    background: 'white',
    width: 520,
    height: { step: 26 },
    data: { values: points },
    encoding: {
      y: { field: 'x', type: 'nominal', sort: null, title: null, axis: { labelLimit: 320 } },
      x: { ...x, title: yTitle, scale: { type: logarithmic ? 'log' : 'linear' } },
    },
    layer: [
      { mark: 'bar', encoding: { color: { condition: isOurs, value: THEIRS } } },
      {
        mark: { type: 'text', align: 'left', dx: 4 },
        encoding: { text: { ...x, format: ',.0f' } },
      },
    ],
  };
}

/** @param {Chart} chart @returns {import('vega-lite').TopLevelSpec} */
function lines({ title, xTitle, yTitle, logarithmic, points }) {
  const type = logarithmic ? 'log' : 'linear';
  return {
    title,
    background: 'white',
    width: 520,
    height: 260,
    data: { values: points },
    mark: { type: 'line', point: true },
    encoding: {
      x: {
        field: 'x',
        type: 'quantitative',
        title: xTitle,
        scale: { type },
        axis: { format: '~s' },
      },
      y: { field: 'y', type: 'quantitative', title: yTitle, scale: { type } },
      color: { field: 'series', type: 'nominal', title: null },
    },
  };
}
