// Asks what has changed, and writes it to .changeset: npm run change
import { spawnSync } from 'node:child_process';
import { installTools } from './tools.mjs';

const { status } = spawnSync(installTools().bin('changeset'), ['add'], { stdio: 'inherit' });
process.exitCode = status ?? 1;
