// Runs commands of the built `lastcall` one after the other in this one process: starting a process
// for each takes longer than what they do. Takes { args, env, terminal } as messages, answers each
// with its exit code and what it said. `terminal` has stdout and stderr be one stream that is a
// terminal as far as a program can ask.
'use strict';
const { join } = require('node:path');
const { WriteStream } = require('node:tty');

process.removeAllListeners('warning');
const { Config, run, settings } = require('@oclif/core');
settings.enableAutoTranspile = false;

const loading = Config.load({ root: join(__dirname, '..', '..') });
const said = { stdout: '', stderr: '' };
let isTerminal = false;
for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
  process[name].write = (/** @type {unknown} */ chunk) => {
    said[isTerminal ? 'stdout' : name] += String(chunk);
    return true;
  };
}

/** @param {boolean} terminal */
function play(terminal) {
  isTerminal = terminal;
  for (const stream of [process.stdout, process.stderr]) {
    stream.isTTY = terminal;
    stream.columns = 200;
    stream.hasColors = WriteStream.prototype.hasColors;
    stream.getColorDepth = WriteStream.prototype.getColorDepth;
  }
}

/** @param {Record<string, string>} env */
function settle(env) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
}

/** @param {string[]} args */
async function exitCodeOf(args) {
  process.exitCode = 0;
  try {
    await run(args, await loading);
    return process.exitCode;
  } catch (thrown) {
    const error = /** @type {Error & { oclif?: { exit?: number } }} */ (thrown);
    if (error.oclif?.exit === undefined) said.stderr += error.stack;
    return error.oclif?.exit ?? 1;
  }
}

process.on('message', async ({ args, env, terminal }) => {
  settle(env);
  play(terminal);
  const code = await exitCodeOf(args);
  process.send?.({ code, ...said });
  Object.assign(said, { stdout: '', stderr: '' });
});
process.on('disconnect', () => process.exit(0));
