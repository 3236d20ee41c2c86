// The installed command, where a host's own packages are.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../scripts/packages/install-host.mjs';

/**
 * Commands that start the host's own Nest, where the shop has run.
 * @param {string} folder @param {string} node @param {Record<string, string>} env
 */
export function runCommands(folder, node, env) {
  const lastcall = join(folder, 'node_modules', 'lastcall', 'bin', 'run.js');
  const call = (/** @type {string[]} */ ...args) =>
    JSON.parse(run(node, [lastcall, ...args, '--json'], { cwd: folder, env }));
  call('stats');
  writeFileSync(join(folder, 'products.csv'), 'sku,name,unitPrice,currency\nTEA-1,Tea,500,EUR\n');
  const { lines } = call('products', 'import', 'products.csv', '--reason', 'list', '--dry-run');
  if (lines !== 1) throw new Error(`lastcall products import has read ${lines} lines of one`);
}
