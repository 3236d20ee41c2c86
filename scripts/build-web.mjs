// The pages' scripts and styles, made by esbuild: names with a hash of what is in them, a list of
// those names, and the texts in all languages.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { projectFolder } from './services/folders.mjs';

const WEB = join(projectFolder, 'apps', 'web');
const ENTRIES = ['checkout/checkout.tsx', 'shop/shop.tsx', 'console/console.tsx'];

/** @param {string} folder what it writes into; emptied before */
async function buildWeb(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: projectFolder,
    entryPoints: [...ENTRIES, 'checkout/checkout.css', 'console/console.css'].map((entry) =>
      join(WEB, entry),
    ),
    outdir: folder,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    metafile: true,
    logLevel: 'warning',
  });
  const names = Object.keys(metafile.outputs).map((path) => basename(path));
  const manifest = Object.fromEntries(
    names.map((name) => [name.replace(/-[A-Z0-9]{8}(?=\.)/, ''), name]),
  );
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  const texts = readdirSync(join(WEB, 'messages')).filter((name) => name.endsWith('.json'));
  const messages = Object.fromEntries(
    texts.map((name) => [
      basename(name, '.json'),
      JSON.parse(readFileSync(join(WEB, 'messages', name), 'utf8')),
    ]),
  );
  writeFileSync(join(folder, 'messages.json'), JSON.stringify(messages));
}

const [, , folder = join(projectFolder, 'dist', 'web')] = process.argv;
await buildWeb(folder);
