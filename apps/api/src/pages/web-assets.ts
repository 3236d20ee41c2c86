import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LastcallError } from '@app/orders';
import { Injectable } from '@nestjs/common';

/** What scripts/build-web.mjs has written beside the build of the servers. */
const FOLDER = join('dist', 'web');
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

export interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

/** A page's texts by their keys, in one language. */
export type Messages = Readonly<Record<string, string>>;

interface Build {
  readonly files: ReadonlyMap<string, Asset>;
  readonly names: Readonly<Record<string, string>>;
  readonly messages: Readonly<Record<string, Messages>>;
}

/**
 * Scripts, styles and texts of the pages: a few kilobytes, read by the first request and kept. The rest
 * of the API does without them, as where only the servers were built.
 */
@Injectable()
export class WebAssets {
  #kept: Build | undefined;

  /** False where only the servers were built: all that follows is `unavailable` then. */
  get areBuilt(): boolean {
    return this.#kept !== undefined || findBuild(__dirname) !== undefined;
  }

  /** @throws {LastcallError} not_found, unavailable */
  file(name: string): Asset {
    const asset = this.#build.files.get(name);
    if (!asset) throw new LastcallError('not_found', 'There is nothing at this address');
    return asset;
  }

  /** The address of a script or style, by its name without the hash: `checkout.js`. */
  urlOf(name: string): string {
    const hashed = this.#build.names[name];
    if (hashed === undefined) throw new Error(`The build of the pages has no ${name}`);
    return `/assets/${hashed}`;
  }

  get languages(): readonly string[] {
    return Object.keys(this.#build.messages);
  }

  messages(language: string): Messages {
    const { messages } = this.#build;
    return messages[language] ?? messages.en ?? {};
  }

  get #build(): Build {
    return (this.#kept ??= readBuild(__dirname));
  }
}

function readBuild(from: string): Build {
  const folder = findBuild(from);
  if (!folder) {
    const message = 'The pages are not built here: `npm run build` builds them';
    throw new LastcallError('unavailable', message);
  }
  const read = <T>(name: string): T => JSON.parse(readFileSync(join(folder, name), 'utf8')) as T;
  const files = new Map<string, Asset>();
  for (const name of readdirSync(folder)) {
    const type = TYPES[name.slice(name.lastIndexOf('.'))];
    if (type) files.set(name, { type, body: readFileSync(join(folder, name)) });
  }
  return { files, names: read('manifest.json'), messages: read('messages.json') };
}

/** Compiled or not, the build is in the folder of the project that this file is in. */
function findBuild(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const build = join(folder, FOLDER);
    if (existsSync(join(build, 'manifest.json'))) return build;
    if (dirname(folder) === folder) return undefined;
  }
}
