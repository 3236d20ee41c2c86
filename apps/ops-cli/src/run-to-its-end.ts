import { Errors, run, settings } from '@oclif/core';
import type { Writable } from 'node:stream';
import { EXIT } from './exit-code';

/** Runs the command that this process was started for, and ends the process once its last word is out. */
export async function runToItsEnd(folder: string): Promise<void> {
  settings.enableAutoTranspile = false;
  // What a command has begun it ends, whether or not it can say so: oclif would throw in the midst of it.
  process.stdout.removeAllListeners('error').once('error', tellUnwritten);
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  await run(process.argv.slice(2), folder).catch(Errors.handle);
  // As long as the reader takes: a pipe holds little of a long list.
  await Promise.all([process.stdout, process.stderr].map(isWritten));
  // Connections that are slow to close must not keep a finished command from ending.
  process.exit();
}

/** Who reads no more, as `head` at its end, is no failure of the command; a full disk is one. */
function tellUnwritten({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') return;
  process.exitCode = EXIT.dependencyDown;
  process.stderr.write(
    `Error: The result could not be written\nWhy:   ${message}\n` +
      'Next:  the command has gone on to its end; see what it has changed before it is run again\n',
  );
}

/** Also when it could not be written. */
const isWritten = (stream: Writable): Promise<void> =>
  new Promise((done) => void stream.write('', () => done()));
