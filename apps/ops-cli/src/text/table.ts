import Table from 'cli-table3';
import { fittedWidths, naturalWidths, shortened } from './fit';
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

const GAP = '  ';

/**
 * Columns without lines between them: read by people, cut by `awk`. On a terminal that is too narrow
 * words are cut, and where that is not enough each row becomes a list of facts.
 */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const written = rows.map((row) => columns.map(({ value }) => cell(value(row))));
  const titles = columns.map(({ title }) => title);
  const { cells, colWidths } = fitted(titles, written);
  if (colWidths === undefined) return asLists(titles, written);
  const drawn = new Table({
    head: titles.map((title) => paint.heading(title)),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    colWidths,
    chars: { ...NO_LINES, middle: GAP },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  drawn.push(...cells);
  return trimEnds(drawn.toString());
}

/** As it is where it fits; else with shorter instants, and then with words cut. */
function fitted(
  titles: readonly string[],
  written: string[][],
): { readonly cells: string[][]; readonly colWidths: number[] | undefined } {
  const limit = terminalWidth() - GAP.length * (titles.length - 1);
  if (!Number.isFinite(limit)) return { cells: written, colWidths: [] };
  const widths = naturalWidths(titles, written);
  const fits = widths.reduce((a, b) => a + b, 0) <= limit;
  if (fits) return { cells: written, colWidths: [] };
  const cells = written.map((row) => row.map(shortened));
  return { cells, colWidths: fittedWidths(titles, cells, limit) };
}

/** Elsewhere than on a terminal nothing is cut. */
function terminalWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns || Infinity : Infinity;
}

function asLists(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const lists = rows.map((row) =>
    facts(titles.map((title, i) => [title.toLowerCase(), row[i] ?? null])),
  );
  return lists.join('\n\n');
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
