// What a package's built files import has to stand in its package.json: a host gives it nothing else.
import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const MODULES = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules');

/**
 * Peers are declared whether they are optional or not: who loads one of those does so only where it is used. What is
 * installed with us brings its types, which our declarations name, or has them in a package of their own.
 * @param {string} folder of the package
 * @param {readonly string[]} files JavaScript and declarations of types
 * @param {{name: string, dependencies?: object, peerDependencies?: object}} manifest
 * @returns {string[]} each package that is not declared, and a file that imports it
 */
export function undeclaredImports(folder, files, { name, dependencies = {}, peerDependencies }) {
  const declared = new Set([name, ...Object.keys({ ...dependencies, ...peerDependencies })]);
  /** @type {Map<string, string>} */
  const undeclared = new Map();
  for (const file of files) {
    for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8'), true, true)
      .importedFiles) {
      if (fileName.startsWith('.') || isBuiltin(fileName)) continue;
      const [imported = ''] = /^(@[^/]+\/)?[^/]+/.exec(fileName) ?? [];
      const types = file.endsWith('.d.ts') && imported in dependencies ? typesOf(imported) : [];
      for (const one of [imported, ...types]) {
        if (!declared.has(one)) undeclared.set(one, relative(folder, file));
      }
    }
  }
  return [...undeclared].sort().map(([imported, file]) => `${imported} (${file})`);
}

/** Of what has its types in a package of their own, that one's name. @param {string} imported */
function typesOf(imported) {
  const types = `@types/${imported.replace('@', '').replace('/', '__')}`;
  return existsSync(join(MODULES, types)) ? [types] : [];
}
