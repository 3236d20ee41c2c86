import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { HandlesDeadline } from '@app/timeout/module';
import type { Type } from '@nestjs/common';

/**
 * The handlers of all kinds of deadlines: the `@HandlesKind` classes of every `<kind>.deadline.ts`
 * below this folder, so that a listing of these files is the list of kinds. A kind without a
 * handler, and a handler without a kind, stop the start (docs/adr/0021).
 */
export function findDeadlineHandlers(): Type[] {
  return readdirSync(__dirname, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.deadline\.[jt]s$/.test(path))
    .sort()
    .flatMap((path) => Object.values(load(join(__dirname, path))))
    .filter((exported): exported is Type => isHandler(exported));
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- which files there are is known at run time
const load = (path: string): Record<string, unknown> => require(path) as Record<string, unknown>;

const isHandler = (exported: unknown): boolean =>
  typeof exported === 'function' && Reflect.hasMetadata(HandlesDeadline.KEY, exported);
