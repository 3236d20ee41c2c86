// npm run demo: the story of lastcall in the terminal, on a scaled clock and throw-away services.
// Exit code 0 only if every promise held. `--json` prints the table as JSON.
import { ALONE, TOGETHER } from './demo/steps.mjs';
import { SCALED_SETTINGS, Rig } from './demo/rig.mjs';
import { interruption } from './run-command.mjs';
import { setUp } from './set-up.mjs';

/** @typedef {{ name: string, held: boolean, detail: string }} Row */

const asJson = process.argv.includes('--json');
const say = (/** @type {string} */ line) => console.error(line);

const rows = await tell();
print(rows);
process.exitCode = rows.length > 0 && rows.every(({ held }) => held) ? 0 : 1;

/** @returns {Promise<Row[]>} */
async function tell() {
  await setUp({ signal: interruption(), say });
  const rig = new Rig();
  try {
    say('Starting Postgres, Redis, the sandbox provider and lastcall');
    await rig.open(say);
    const { PAYMENT_WINDOW, PAYMENT_GRACE } = SCALED_SETTINGS;
    say(`On a scaled clock: a payment window of ${PAYMENT_WINDOW} and ${PAYMENT_GRACE} of grace`);
    const together = await Promise.all(TOGETHER.map((step) => runStep(rig, step)));
    /** @type {Row[]} */
    const alone = [];
    for (const step of ALONE) alone.push(await runStep(rig, step));
    return [...together, ...alone];
  } finally {
    await rig.close();
  }
}

/**
 * @param {Rig} rig
 * @param {import('./demo/steps.mjs').Step} step
 * @returns {Promise<Row>}
 */
async function runStep(rig, { name, run }) {
  /** @type {Row} */
  let row;
  try {
    row = { name, ...(await run(rig)) };
  } catch (error) {
    row = { name, held: false, detail: error instanceof Error ? error.message : String(error) };
  }
  say(`  ${row.held ? 'held  ' : 'BROKEN'}  ${name}`);
  return row;
}

/** @param {Row[]} rows */
function print(rows) {
  if (asJson) {
    console.log(JSON.stringify(rows, null, 2));
    return;
  }
  const width = Math.max(...rows.map(({ name }) => name.length));
  console.log();
  for (const { name, held, detail } of rows) {
    console.log(`${held ? '✓' : '✗'} ${name.padEnd(width)}  ${detail}`);
  }
}
