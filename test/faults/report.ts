import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { format, resolveConfig } from 'prettier';
import type { Fault, Outcome } from './fault';

const REPORT = 'docs/faults.md';

export function line({ area, name }: Fault, outcome: Outcome): string {
  const { held, seen, healedMs, inFlight, orders, lost, experience: calls } = outcome;
  const head = `${held ? 'held  ' : 'BROKEN'}  ${area}: ${name}`;
  const facts =
    `${orders} orders, ${inFlight} in flight, healed in ${seconds(healedMs)}; slowest accepted ` +
    `${calls.slowestAcceptedMs} ms, ${calls.refused} refused (slowest ${calls.slowestRefusedMs} ms), ` +
    `${calls.unanswered} unanswered`;
  const broken = lost.slice(0, 8).map((one) => `\n          LOST ${one}`);
  return `${head}\n        ${seen}\n        ${facts}${broken.join('')}`;
}

/** Only what this run has seen. */
export async function writeReport(
  played: readonly { readonly fault: Fault; readonly outcome: Outcome }[],
  { startedAt, seed }: { readonly startedAt: Date; readonly seed: number },
): Promise<void> {
  const minutes = Math.round((Date.now() - startedAt.getTime()) / 60_000);
  const held = played.filter(({ outcome }) => outcome.held).length;
  const rows = played.map(({ fault, outcome }) => {
    const { inFlight, orders, healedMs, seen, lost, experience: calls } = outcome;
    const cells = [
      `${fault.area}: ${fault.name}`,
      seen,
      `${orders} / ${inFlight}`,
      seconds(healedMs),
      `${calls.slowestAcceptedMs} ms`,
      calls.refused === 0 ? '0' : `${calls.refused} (${calls.slowestRefusedMs} ms)`,
      lost.length === 0 ? 'nothing' : `**${lost.slice(0, 3).join('; ')}**`,
    ];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  });
  const text = `# What faults do to lastcall

Written by \`npm run test:faults\`; ${played.length} faults, ${held} held, in ${minutes} minutes on
${startedAt.toISOString().slice(0, 10)}, seed ${seed}, Node ${process.version}, ${cpus().length} cores that others used as well.

One API and two workers (unless the row says otherwise), the sandbox provider, Postgres with fsync and
Redis, each a process of its own, with a TCP proxy before each dependency. Customers place 25 orders a
second throughout and abandon, pay, pay around the deadline, fail to pay, cancel, have shipped or
place twice; they repeat calls that broke, as good clients do. The clock is scaled: a payment window of
3 s, 1 s of grace, a sweep every 2 s.

After each fault: all twelve invariants are 0 over the whole database within two sweeps of healing
(while load goes on), then everything is left to come to rest, and every acknowledged order, cancelling
and payment is looked up, and the provider's ledger compared with ours to the cent.

- _Orders_: placed during the row / open when the fault struck.
- _Healed_: from mending to the first look at which every invariant was 0.
- _Slowest accepted_, _refused_: calls of customers from the moment the fault struck; refused is 502 or 503,
  with the slowest such answer.

| fault | what was seen | orders | healed | slowest accepted | refused | lost |
| --- | --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
  const options = { ...(await resolveConfig(REPORT)), parser: 'markdown' };
  await writeFile(REPORT, await format(text, options));
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
