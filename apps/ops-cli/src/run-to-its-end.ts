import { Errors, run, settings } from '@oclif/core';
import type { Writable } from 'node:stream';

/** Runs the command that this process was started for, and ends the process once its last word is out. */
export async function runToItsEnd(folder: string): Promise<void> {
  settings.enableAutoTranspile = false;
  // Who reads no more, as `head` at its end, is no failure of the command; oclif minds stdout alone.
  process.stderr.on('error', ignoreGoneReader);
  await run(process.argv.slice(2), folder).catch(Errors.handle);
  // As long as the reader takes: a pipe holds little of a long list.
  await Promise.all([process.stdout, process.stderr].map(isWritten));
  // Connections that are slow to close must not keep a finished command from ending.
  process.exit();
}

function ignoreGoneReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/** Also when it could not be written. */
const isWritten = (stream: Writable): Promise<void> =>
  new Promise((done) => void stream.write('', () => done()));
