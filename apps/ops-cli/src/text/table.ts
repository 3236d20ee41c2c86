import Table from 'cli-table3';
import { paint } from './paint';
import { printableCell } from './printable';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | null | undefined;
  readonly align?: 'left' | 'right';
}

const NO_LINES = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ].map((name) => [name, '']),
);

/** Columns without lines between them: read by people, cut by `awk`. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const drawn = new Table({
    head: columns.map(({ title }) => paint.heading(title)),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    chars: { ...NO_LINES, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of rows) drawn.push(columns.map(({ value }) => cell(value(row))));
  return trimEnds(drawn.toString());
}

/** Names with their values, one a line. */
export function facts(pairs: readonly (readonly [string, string | number | null])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs
    .map(([name, value]) => `${paint.faint(name.padEnd(width))}  ${cell(value)}`)
    .join('\n');
}

function cell(value: string | number | null | undefined): string {
  if (value === null || value === undefined || value === '') return '-';
  return printableCell(String(value));
}

function trimEnds(text: string): string {
  return text.replace(/[ \t]+$/gm, '');
}
