import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { format, resolveConfig } from 'prettier';
import type { Fault, Outcome } from './fault';
import { FAULTS } from './faults';

const REPORT = 'docs/faults.md';
const RESULTS = 'docs/generated/faults.json';

export function line(fault: Fault, outcome: Outcome): string {
  const { held, seen, healedMs, inFlight, orders, lost, experience: calls } = outcome;
  const head = `${held ? 'held  ' : 'BROKEN'}  ${nameOf(fault)}`;
  const facts =
    `${orders} orders, ${inFlight} in flight, healed in ${seconds(healedMs)}; slowest accepted ` +
    `${calls.slowestAcceptedMs} ms, ${calls.refused} refused (slowest ${calls.slowestRefusedMs} ms), ` +
    `${calls.unanswered} unanswered; load ${outcome.slowness}`;
  const broken = lost.slice(0, 8).map((one) => `\n          LOST ${one}`);
  return `${head}\n        ${seen}\n        ${facts}${broken.join('')}`;
}

/** A row as its latest run in full length with this seed left it. */
interface Row {
  readonly name: string;
  readonly seed: number;
  readonly ranAt: string;
  readonly outcome: Outcome;
}

/** Keeps what was run now beside the latest of the other rows and seeds, and writes the page anew. */
export async function writeReport(
  outcomes: readonly { readonly fault: Fault; readonly outcome: Outcome }[],
  seed: number,
): Promise<void> {
  const before = await readFile(RESULTS, 'utf8').catch(() => '[]');
  const rows = new Map((JSON.parse(before) as Row[]).map((row) => [keyOf(row), row]));
  const ranAt = new Date().toISOString().slice(0, 16);
  for (const { fault, outcome } of outcomes) {
    const name = nameOf(fault);
    const { experience } = outcome;
    const wrong = experience.wrong.slice(0, 5);
    const row = {
      name,
      seed,
      ranAt,
      outcome: { ...outcome, experience: { ...experience, wrong } },
    };
    rows.set(keyOf(row), row);
  }
  const names = FAULTS.map(nameOf);
  const known = [...rows.values()]
    .filter(({ name }) => names.includes(name))
    .sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name) || a.seed - b.seed);
  await write(RESULTS, JSON.stringify(known), 'json');
  await write(REPORT, page(known), 'markdown');
}

const keyOf = ({ name, seed }: Row): string => `${name} ${seed}`;

/** What a fault is called: on the console, in docs/faults.md, and by `--only`. */
export const nameOf = ({ area, name }: Fault): string => `${area}: ${name}`;

async function write(path: string, text: string, parser: string): Promise<void> {
  await writeFile(path, await format(text, { ...(await resolveConfig(path)), parser }));
}

function page(runs: readonly Row[]): string {
  const faults = [...new Set(runs.map(({ name }) => name))].map((name) =>
    runs.filter((run) => run.name === name),
  );
  const held = faults.filter((ofOne) => ofOne.every(hasHeld)).length;
  return `# What faults do to lastcall

Written by \`npm run test:faults\`: ${faults.length} of ${FAULTS.length} rows have been run in full length,
${held} held with each seed they were run with. A row is from its latest run, or from one that broke, on ${cpus().length} cores that others used
as well, Node ${process.version}; its last column has the latest run with each seed.

One API and two workers (unless the row says otherwise), the sandbox provider, Postgres with fsync and
Redis, each a process of its own, with a TCP proxy before each dependency. Customers place 21 orders a
second throughout and abandon, pay, pay around the deadline, fail to pay, cancel, have shipped or
place twice; they repeat calls that broke, as good clients do. The clock is scaled: a payment window of
3 s, 1 s of grace, a sweep every 2 s.

After each fault: all invariants are 0 over the whole database within two sweeps of healing
(while load goes on), then everything is left to come to rest, and every acknowledged order, cancelling
and payment is looked up, and the provider's ledger compared with ours to the cent.

- _Orders_: placed during the row / open when the fault struck.
- _Healed_: from mending to the first look at which every invariant was 0.
- _Load_: how many processes wanted each core as the row ended. The limits (10 s to heal, of which two
  sweeps are 4; where Redis is in trouble, 3 s to accept; where Postgres is, 3.5 s to accept or refuse) are for
  a machine of one's own, and are multiplied by it, those of healing and of Postgres by three at the most.
- _Slowest accepted_, _refused_: all calls of the API from the moment the fault struck, but the provider's;
  refused is 502 or 503, with the slowest such answer.
- _Burst_: without proxies, which would take their share of the cores; three bursts. Of their 99th
  percentiles the median may be twice that of the calm before, or 100 ms where that is more.

| fault | what was seen | orders | healed | slowest accepted | refused | lost | load | runs |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
${faults.map(tableRow).join('\n')}
`;
}

function tableRow(runs: readonly Row[]): string {
  const newestFirst = runs.toSorted((a, b) => b.ranAt.localeCompare(a.ranAt));
  const { name, outcome } = (newestFirst.find((run) => !hasHeld(run)) ?? newestFirst[0]) as Row;
  const { inFlight, orders, healedMs, seen, lost, experience: calls } = outcome;
  const cells = [
    name,
    seen,
    `${orders} / ${inFlight}`,
    seconds(healedMs),
    `${calls.slowestAcceptedMs} ms`,
    calls.refused === 0 ? '0' : `${calls.refused} (${calls.slowestRefusedMs} ms)`,
    lost.length === 0 ? 'nothing' : `**${lost.slice(0, 3).join('; ').slice(0, 300)}**`,
    `${outcome.slowness}`,
    newestFirst.map(runText).join('; '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}

const hasHeld = ({ outcome }: Row): boolean => outcome.held;

const runText = (run: Row): string =>
  `${run.ranAt}, seed ${run.seed}${hasHeld(run) ? '' : ' **broken**'}`;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
