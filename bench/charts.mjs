// Draws the charts of docs/benchmarks.md from the figures that the runs have left. Plain
// JavaScript, as Vega comes as ES modules only.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, View } from 'vega';

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
/** @typedef {import('vega').Spec} Spec */

const GENERATED = join('docs', 'generated');
const WIDTH = 520;
const OURS = '#2f6f4e';
const THEIRS = '#8a9199';

/** @type {Record<string, { findings: { charts?: Chart[] } }>} */
const kept = JSON.parse(readFileSync(join(GENERATED, 'benchmarks.json'), 'utf8'));
for (const chart of Object.values(kept).flatMap(({ findings }) => findings.charts ?? [])) {
  const view = new View(parse(chart.kind === 'bars' ? bars(chart) : lines(chart)), {
    renderer: 'none',
  });
  writeFileSync(join(GENERATED, `benchmarks-${chart.name}.svg`), `${await view.toSVG()}\n`);
  view.finalize();
}

/** @param {Chart} chart @returns {Spec} */
function base({ title, points }) {
  return {
    $schema: 'https://vega.github.io/schema/vega/v6.json',
    background: 'white',
    padding: 10,
    width: WIDTH,
    title: { text: title, anchor: 'start' },
    data: [{ name: 'points', values: points }],
  };
}

/** Ours stand out; on a logarithmic axis bars begin at 1. @param {Chart} chart @returns {Spec} */
function bars(chart) {
  const { yTitle, logarithmic, points } = chart;
  return {
    ...base(chart),
    height: 28 * points.length,
    scales: [
      {
        name: 'x',
        range: 'width',
        domain: { data: 'points', field: 'y' },
        ...(logarithmic ? { type: 'log', domainMin: 1 } : { type: 'linear', zero: true }),
      },
      {
        name: 'y',
        type: 'band',
        range: 'height',
        padding: 0.25,
        domain: points.map(({ x }) => x),
      },
    ],
    axes: [
      { scale: 'x', orient: 'bottom', title: yTitle, format: '~s', tickCount: 5 },
      { scale: 'y', orient: 'left', labelLimit: 360, ticks: false },
    ],
    marks: [
      {
        type: 'rect',
        from: { data: 'points' },
        encode: {
          enter: {
            y: { scale: 'y', field: 'x' },
            height: { scale: 'y', band: 1 },
            x: { scale: 'x', value: logarithmic ? 1 : 0 },
            x2: { scale: 'x', field: 'y' },
            fill: [{ test: 'test(/^(lastcall|groups)/, datum.x)', value: OURS }, { value: THEIRS }],
          },
        },
      },
      {
        type: 'text',
        from: { data: 'points' },
        encode: {
          enter: {
            y: { scale: 'y', field: 'x', band: 0.5 },
            x: { scale: 'x', field: 'y', offset: 4 },
            baseline: { value: 'middle' },
            text: { signal: 'format(datum.y, ",.0f")' },
          },
        },
      },
    ],
  };
}

/** @param {Chart} chart @returns {Spec} */
function lines(chart) {
  const { xTitle, yTitle, logarithmic } = chart;
  const type = logarithmic ? 'log' : 'linear';
  /** @type {import('vega').EncodeEntry} */
  const place = {
    x: { scale: 'x', field: 'x' },
    y: { scale: 'y', field: 'y' },
    stroke: { scale: 'color', field: 'series' },
  };
  return {
    ...base(chart),
    height: 260,
    scales: [
      { name: 'x', type, range: 'width', domain: { data: 'points', field: 'x' } },
      { name: 'y', type, range: 'height', nice: true, domain: { data: 'points', field: 'y' } },
      {
        name: 'color',
        type: 'ordinal',
        range: [OURS, THEIRS],
        domain: { data: 'points', field: 'series' },
      },
    ],
    axes: [
      { scale: 'x', orient: 'bottom', title: xTitle, format: '~s', tickCount: 5 },
      { scale: 'y', orient: 'left', title: yTitle, format: '~g', tickCount: 5 },
    ],
    legends: [{ stroke: 'color', symbolType: 'stroke', orient: 'bottom' }],
    marks: [
      {
        type: 'group',
        from: { facet: { name: 'series', data: 'points', groupby: 'series' } },
        marks: [
          {
            type: 'line',
            from: { data: 'series' },
            encode: { enter: { ...place, strokeWidth: { value: 2 } } },
          },
          {
            type: 'symbol',
            from: { data: 'series' },
            encode: { enter: { ...place, fill: { value: 'white' } } },
          },
        ],
      },
    ],
  };
}
