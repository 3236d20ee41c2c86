import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InFreeFolder } from '../../testing/in-free-folder';
import { describeTimerDriver } from '../driver.contract';
import { WHEEL_ABILITIES } from './wheel.abilities';

let root: string;
beforeAll(() => (root = mkdtempSync(join(tmpdir(), 'lastcall-wheel-'))));
afterAll(() => rmSync(root, { recursive: true, force: true }));

// Its store is its own folder: kills, torn writes and changed records are in its spec.
describeTimerDriver('WheelDriver', {
  create: (wish) => new InFreeFolder(root, wish),
  abilities: WHEEL_ABILITIES,
});
