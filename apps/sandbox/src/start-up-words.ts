import { ConfigError } from './config';
import { LedgerError } from './journal';

const NOT_LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: 'SANDBOX_PORT is taken by another process',
  EADDRNOTAVAIL: 'SANDBOX_HOST is no address of this machine',
  EACCES: 'SANDBOX_PORT is one that this user may not listen on',
};

/** Why the sandbox does not start, for who has set it up; undefined for an error that nobody expected. */
export function startUpWords(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof ConfigError || error instanceof LedgerError) return error.message;
  const { syscall, code = '', path, message } = error as NodeJS.ErrnoException;
  if (syscall === 'listen') return NOT_LISTENING[code];
  if (path !== undefined) return `SANDBOX_DATA is no folder that can be written to: ${message}`;
  return undefined;
}
