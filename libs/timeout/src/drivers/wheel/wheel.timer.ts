import { join } from 'node:path';
import { z } from 'zod';
import type { TimerDriverKind } from '../../timer-driver-kind';
import { WHEEL_ABILITIES } from './wheel.abilities';

export const timer: TimerDriverKind = {
  name: 'wheel',
  summary: 'a hierarchical timing wheel in each worker, with a log',
  abilities: WHEEL_ABILITIES,
  needs: [],
  settings: { TIMER_WHEEL_FOLDER: z.string().min(1).optional() },
  async create({ settings, databaseClock, onError }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const { WheelDriver } = require('./wheel.driver') as typeof import('./wheel.driver');
    const { TIMER_WHEEL_FOLDER, LASTCALL_HOME } = settings as Record<string, string | undefined>;
    const folder = TIMER_WHEEL_FOLDER ?? join(LASTCALL_HOME ?? '.lastcall', 'wheel');
    return new WheelDriver({ folder, databaseClock, onError });
  },
};
