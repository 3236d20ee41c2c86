import { BundledInError } from '@app/timeout';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What stands beside our code.
 * @throws {BundledInError}
 */
export function readOwnFile(folder: string, name: string): string {
  const path = join(folder, name);
  if (!existsSync(path)) throw new BundledInError('@lastcall/orders', path);
  return readFileSync(path, 'utf8');
}
