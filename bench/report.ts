import type { Cell, Chart, Findings, Goal, Question, Table } from './question';

/** For the terminal: columns aligned, a goal a line. */
export function asText({ tables, goals = [] }: Findings): string {
  const lines = tables.flatMap(({ title, columns, rows, note }) => {
    const cells = [columns, ...rows.map((row) => row.map(show))];
    const widths = columns.map((_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)));
    const aligned = cells.map((row) =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))),
    );
    return ['', title, ...aligned.map((row) => row.join('  ')), ...(note ? [note] : [])];
  });
  return [...lines, '', ...goals.map(goalLine)].join('\n');
}

/** What a question's last run has found, and on what. */
export interface Measured {
  readonly on: string;
  readonly about: readonly string[];
  readonly findings: Findings;
}

const HOW_TO_READ =
  'No goal of speed hangs on an absolute figure: the same commit did 21,580 orders/s and, an hour later elsewhere, 59,478. A goal is ' +
  'a ratio of what was measured in turns in one run, its median over the rounds (each of them in brackets), or CPU time of ' +
  'Node, Postgres and Redis for a piece of work. A second and milliseconds stand beside them and tell of the machine; ' +
  'how late orders are that come due evenly is judged in milliseconds, as it hangs on when they are looked for.';

/** The document: a section for each question that has been measured, in their order. */
export function asMarkdown(
  questions: readonly Question[],
  kept: Readonly<Record<string, Measured>>,
): string {
  const parts = [
    '# Benchmarks',
    'Written by `npm run bench`, a section by its question (`-- --only NAME`); no figure here is typed by hand.',
    HOW_TO_READ,
  ];
  for (const { name, asks } of questions) {
    const measured = kept[name];
    if (!measured) continue;
    const { tables, charts = [], goals = [] } = measured.findings;
    parts.push(`## ${name}`, asks);
    for (const table of tables) parts.push(...tableParts(table));
    for (const chart of charts) parts.push(`![${chart.title}](${fileOf(chart)})`);
    if (goals.length > 0) parts.push(goals.map((goal) => `- ${goalLine(goal)}`).join('\n'));
    parts.push([`Measured on ${measured.on}`, ...measured.about].join('. ').replaceAll('..', '.'));
  }
  return `${parts.join('\n\n')}\n`;
}

function tableParts({ title, columns, rows, note }: Table): string[] {
  const line = (cells: readonly Cell[]): string => `| ${cells.map(show).join(' | ')} |`;
  const rule = `| ${columns.map((_, i) => (i === 0 ? '---' : '--:')).join(' | ')} |`;
  const table = [line(columns), rule, ...rows.map(line)].join('\n');
  return [`**${title}**`, table, ...(note ? [note] : [])];
}

function fileOf({ name }: Chart): string {
  return `generated/benchmarks-${name}.svg`;
}

function goalLine({ text, met, measured }: Goal): string {
  return `${met ? 'met' : 'NOT MET'}: ${text} (measured: ${measured})`;
}

function show(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  if (Number.isInteger(cell)) return cell.toLocaleString('en-US');
  return cell.toLocaleString('en-US', { maximumFractionDigits: Math.abs(cell) < 10 ? 2 : 1 });
}
