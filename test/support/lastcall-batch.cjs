// Runs commands of the built `lastcall` one after the other in this one process: starting a process
// for each takes longer than what they do. Reads a JSON list of argument lists from stdin, writes
// one JSON line for each with its exit code and what it said.
'use strict';
const { join } = require('node:path');

process.removeAllListeners('warning');
const { Config, run, settings } = require('@oclif/core');
settings.enableAutoTranspile = false;

const root = join(__dirname, '..', '..');
const answer = process.stdout.write.bind(process.stdout);
let said = '';
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (chunk) => {
    said += String(chunk);
    return true;
  };
}

async function main() {
  let input = '';
  for await (const chunk of process.stdin) input += chunk;
  const config = await Config.load({ root });
  for (const args of JSON.parse(input)) {
    said = '';
    process.exitCode = 0;
    let code;
    try {
      await run(args, config);
      code = process.exitCode;
    } catch (thrown) {
      const error = /** @type {Error & { oclif?: { exit?: number } }} */ (thrown);
      code = error.oclif?.exit ?? 1;
      said += error.message;
    }
    answer(`${JSON.stringify({ args, code, said })}\n`);
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    answer(`${JSON.stringify({ args: [], code: 1, said: String(error?.stack) })}\n`);
    process.exit(1);
  },
);
