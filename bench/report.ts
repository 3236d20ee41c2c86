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

export function asMarkdown(
  about: readonly string[],
  found: ReadonlyMap<Question, Findings>,
): string {
  const parts = [
    '# Benchmarks',
    'Written by `npm run bench`; nothing here is typed by hand.',
    about.map((line) => `- ${line}`).join('\n'),
  ];
  for (const [{ name, asks }, { tables, charts = [], goals = [] }] of found) {
    parts.push(`## ${name}`, asks);
    for (const table of tables) parts.push(...tableParts(table));
    for (const chart of charts) parts.push(`![${chart.title}](${fileOf(chart)})`);
    if (goals.length > 0) parts.push(goals.map((goal) => `- ${goalLine(goal)}`).join('\n'));
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
  return `benchmarks-${name}.svg`;
}

function goalLine({ text, met, measured }: Goal): string {
  return `${met ? 'met' : 'NOT MET'}: ${text} (measured: ${measured})`;
}

function show(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  if (Number.isInteger(cell)) return cell.toLocaleString('en-US');
  return cell.toLocaleString('en-US', { maximumFractionDigits: Math.abs(cell) < 10 ? 2 : 1 });
}
