import type { Cell } from './question';
import type { Measured } from './report';

type Kept = Readonly<Record<string, Measured>>;

const [BEGIN, END] = ['<!-- benchmarks: written by npm run bench -->', '<!-- /benchmarks -->'];

/** The README with its few lines of figures anew: what a reader asks first, and where it was measured. */
export function withSummary(readme: string, kept: Kept): string {
  const [before, rest] = readme.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`no ${BEGIN} in the README`);
  return `${before}${BEGIN}\n\n${summary(kept)}\n\n${END}${after}`;
}

function summary(kept: Kept): string {
  const ours = 'lastcall (slots)';
  const burst = figures(kept, 'burst');
  const even = figures(kept, 'punctuality');
  const placing = figures(kept, 'placing');
  return [
    `- Closing ${burst(ours, 'orders')} orders due in the same second: ${burst(ours, 'orders/s')} a second, ` +
      `the last ${burst(ours, 'last, ms')} ms late. With a BullMQ job, a lock and a transaction an order: ` +
      `${burst('BullMQ, a job, a lock and a transaction an order', 'orders/s')} a second.`,
    `- Closing 1,000 orders a second as they come due: ${even(ours, 'earliest, ms')} ms after the deadline at ` +
      `the earliest, ${even(ours, 'p50, ms')} ms in the middle, ${even(ours, 'p99, ms')} ms at p99.`,
    `- Placing over HTTP, durably: ${placing('groups, 1,000 SKUs', 'orders/s')} orders a second; in one ` +
      `transaction each: ${placing('one order a transaction, 1,000 SKUs', 'orders/s')}.`,
    '',
    `Measured with load generator and databases on the same cores: ${whereMeasured(kept)}.`,
  ].join('\n');
}

/** Questions are asked on different days, and machines. */
function whereMeasured(kept: Kept): string {
  const where = new Map<string, string[]>();
  for (const question of ['burst', 'punctuality', 'placing']) {
    const { on, about } = kept[question] as Measured;
    const run = `on ${on}, ${about[0]}`;
    where.set(run, [...(where.get(run) ?? []), question]);
  }
  return [...where].map(([run, questions]) => `${questions.join(' and ')} ${run}`).join('; ');
}

/** Looks up a cell of a question's first table by its row and its column. */
function figures(kept: Kept, question: string): (row: string, column: string) => string {
  const table = kept[question]?.findings.tables[0];
  return (row, column) => {
    const at = table?.columns.indexOf(column) ?? -1;
    const cell: Cell | undefined = table?.rows.find(([name]) => name === row)?.[at];
    if (cell === undefined) throw new Error(`${question} has no "${column}" of "${row}"`);
    return typeof cell === 'number' ? Math.round(cell).toLocaleString('en-US') : cell;
  };
}
