// Tools that judge, document and release the packages: installed where they are asked for, and by nobody else.
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OUT } from './build.mjs';
import { INSTALL, run } from './install-host.mjs';

const here = join(dirname(fileURLToPath(import.meta.url)), 'tools');
const FILES = ['package.json', 'package-lock.json'];

/** Whether anybody is promised anything of an entry. */
const isPromised = (/** @type {string} */ entry) =>
  entry !== './package.json' && !/^\.\/internal(\/|$)/.test(entry);

/** Installs them, unless they are there by this lock file; answers with how to find one. */
export function installTools() {
  const folder = join(OUT, 'tools');
  // npm writes it when it is done: where an install was cut off there is none.
  const isWhole = existsSync(join(folder, 'node_modules', '.package-lock.json'));
  const isSame =
    isWhole &&
    FILES.every(
      (file) => readFileSync(join(folder, file), 'utf8') === readFileSync(join(here, file), 'utf8'),
    );
  if (!isSame) {
    mkdirSync(folder, { recursive: true });
    for (const file of FILES) copyFileSync(join(here, file), join(folder, file));
    run('npm', ['ci', ...INSTALL], { cwd: folder });
  }
  return {
    require: createRequire(join(folder, 'package.json')),
    bin: (/** @type {string} */ name) => join(folder, 'node_modules', '.bin', name),
  };
}

/**
 * What a package offers, by its built `package.json`: each entry's name and its declarations. Of the
 * packages beside it, it finds those that it names.
 * @param {string} folder
 */
export function entriesOf(folder) {
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8');
  const { name, exports, dependencies = {} } = JSON.parse(manifest);
  for (const other of Object.keys(dependencies).filter((one) => one.startsWith('@lastcall/'))) {
    const link = join(folder, 'node_modules', other);
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(join(OUT, other.slice('@lastcall/'.length)), link);
  }
  return Object.entries(exports)
    .filter(([entry]) => isPromised(entry))
    .map(([entry, { types }]) => ({
      name: join(name, entry),
      declarations: join(folder, types),
    }));
}
