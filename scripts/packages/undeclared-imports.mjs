// What a package's built files import has to stand in its package.json: a host gives it nothing else.
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { relative } from 'node:path';
import ts from 'typescript';

/**
 * Peers are declared whether they are optional or not: who loads one of those does so only where it is used.
 * @param {string} folder of the package
 * @param {readonly string[]} files JavaScript and declarations of types
 * @param {{name: string, dependencies?: object, peerDependencies?: object}} manifest
 * @returns {string[]} each package that is not declared, and a file that imports it
 */
export function undeclaredImports(folder, files, { name, dependencies, peerDependencies }) {
  const declared = new Set([name, ...Object.keys({ ...dependencies, ...peerDependencies })]);
  /** @type {Map<string, string>} */
  const undeclared = new Map();
  for (const file of files) {
    for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8'), true, true)
      .importedFiles) {
      if (fileName.startsWith('.') || isBuiltin(fileName)) continue;
      const [imported = ''] = /^(@[^/]+\/)?[^/]+/.exec(fileName) ?? [];
      if (!declared.has(imported)) undeclared.set(imported, relative(folder, file));
    }
  }
  return [...undeclared].sort().map(([imported, file]) => `${imported} (${file})`);
}
