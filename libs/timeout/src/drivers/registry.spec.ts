import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TimerDriverKind } from '../timer-driver-kind';
import {
  defaultTimerDriver,
  registerTimerDriver,
  timerDriverKind,
  timerDriverKinds,
} from './registry';

const DOC = join(__dirname, '../../../../docs/drivers.md');

const yes = (can: boolean): string => (can ? 'yes' : 'no');

function rows(kinds: readonly TimerDriverKind[]): string[][] {
  return kinds.map(({ name, summary, needs, abilities }) => [
    `\`${name}\``,
    summary,
    needs.map((setting) => `\`${setting}\``).join(', ') || 'nothing',
    abilities.scope,
    yes(abilities.durable),
    yes(abilities.dedupes),
    yes(abilities.disarms),
    yes(abilities.surveys),
    yes(abilities.noticesLoss),
    abilities.precisionMs < 1_000
      ? `${abilities.precisionMs} ms`
      : `${abilities.precisionMs / 1_000} s`,
  ]);
}

describe('timer drivers', () => {
  const kinds = [...timerDriverKinds().values()];

  it('are found by the names of their files, and offer what they are registered by', async () => {
    expect(kinds.map(({ name }) => name)).toEqual(expect.arrayContaining(['bullmq', 'memory']));
    for (const kind of kinds) expect(timerDriverKind(kind.name)).toBe(kind);
    expect(() => timerDriverKind('sundial')).toThrow(/No timer driver "sundial".*bullmq/);
    const [first] = kinds as [TimerDriverKind];
    expect(() => registerTimerDriver(first)).toThrow('already');
  });

  it('stand in docs/drivers.md as they are', () => {
    const lines = readFileSync(DOC, 'utf8').matchAll(/^\| (`[\w-]+` .*) \|$/gm);
    const written = [...lines].map(([, cells = '']) => cells.trim().split(/ *\| */));
    expect(written).toEqual(rows(kinds));
  });

  it('are chosen by what is set when nobody has chosen', () => {
    expect(defaultTimerDriver({ REDIS_URL: 'redis://127.0.0.1' })).toBe('bullmq');
    expect(defaultTimerDriver({})).toBe('postgres');
  });
});
