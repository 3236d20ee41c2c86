// npm run demo: the story of lastcall in the terminal, on a scaled clock and throw-away services.
// Exit code 0 only if every promise held. `--json` prints the table as JSON.
import { once } from 'node:events';
import { ALONE, TOGETHER } from './demo/steps.mjs';
import { SCALED_SETTINGS, Rig } from './demo/rig.mjs';
import { runScript } from './run-script.mjs';
import { setUp } from './set-up.mjs';

/** @typedef {import('./run-script.mjs').Script} Script */
/** @typedef {{ name: string, held: boolean, detail: string }} Row */

const asJson = process.argv.includes('--json');

await runScript(async (script) => {
  const rows = await tell(script);
  print(rows);
  return rows.length > 0 && rows.every(({ held }) => held) ? 0 : 1;
});

/**
 * @param {Script} script
 * @returns {Promise<Row[]>}
 */
async function tell({ signal, say }) {
  await setUp({ signal, say });
  const rig = new Rig();
  try {
    say('Starting Postgres, Redis, the sandbox provider and lastcall');
    await rig.open(say);
    signal.throwIfAborted();
    const { PAYMENT_WINDOW, PAYMENT_GRACE } = SCALED_SETTINGS;
    say(`On a scaled clock: a payment window of ${PAYMENT_WINDOW} and ${PAYMENT_GRACE} of grace`);
    const sayMeanwhile = (/** @type {string} */ line) => {
      if (!signal.aborted) say(line);
    };
    const interrupted = once(signal, 'abort').then(() => Promise.reject(signal.reason));
    // Steps that are given up end by themselves when the rig is closed.
    return await Promise.race([runSteps(rig, { signal, say: sayMeanwhile }), interrupted]);
  } finally {
    await rig.close();
  }
}

/**
 * @param {Rig} rig
 * @param {Script} script
 * @returns {Promise<Row[]>}
 */
async function runSteps(rig, { signal, say }) {
  const rows = await Promise.all(TOGETHER.map((step) => runStep(rig, step, say)));
  for (const step of ALONE) {
    if (signal.aborted) break;
    rows.push(await runStep(rig, step, say));
  }
  return rows;
}

/**
 * @param {Rig} rig
 * @param {import('./demo/steps.mjs').Step} step
 * @param {Script['say']} say
 * @returns {Promise<Row>}
 */
async function runStep(rig, { name, run }, say) {
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
