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

/** Scripts, styles and texts of the pages: a few kilobytes, read once and kept. */
@Injectable()
export class WebAssets {
  readonly #folder = findBuild(__dirname);
  readonly #files = new Map<string, Asset>();
  readonly #names = this.#read<Record<string, string>>('manifest.json');
  readonly #messages = this.#read<Record<string, Messages>>('messages.json');

  constructor() {
    for (const name of readdirSync(this.#folder)) {
      const type = TYPES[name.slice(name.lastIndexOf('.'))];
      if (type) this.#files.set(name, { type, body: readFileSync(join(this.#folder, name)) });
    }
  }

  /** @throws {LastcallError} not_found */
  file(name: string): Asset {
    const asset = this.#files.get(name);
    if (!asset) throw new LastcallError('not_found', 'There is nothing at this address');
    return asset;
  }

  /** The address of a script or style, by its name without the hash: `checkout.js`. */
  urlOf(name: string): string {
    const hashed = this.#names[name];
    if (hashed === undefined) throw new Error(`The build of the pages has no ${name}`);
    return `/assets/${hashed}`;
  }

  get languages(): readonly string[] {
    return Object.keys(this.#messages);
  }

  messages(language: string): Messages {
    return this.#messages[language] ?? this.#messages.en ?? {};
  }

  #read<T>(name: string): T {
    return JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as T;
  }
}

/** Compiled or not, the build is in the folder of the project that this file is in. */
function findBuild(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const build = join(folder, FOLDER);
    if (existsSync(join(build, 'manifest.json'))) return build;
    if (dirname(folder) === folder) {
      throw new Error(`${FOLDER} is missing: \`npm run build\` makes it`);
    }
  }
}
