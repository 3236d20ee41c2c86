import { ClaimedBatch } from './claimed-batch';
import type { DueDeadline } from '../deadlines/deadline-handler';
import type { Lock } from '../lock';
import { lockBatch } from './lock-batch';
import { silentTelemetry } from '../telemetry';
import { subject } from '../testing/deadline-store';
import type { Transaction } from '../database/transaction';

const NOW_MS = 1_000_000;
const KEY = 'lock:1';

const due = (index: number): DueDeadline => ({
  ...{ kind: 'payment', subjectId: subject(index), dueAt: new Date(0) },
  ...{ version: 1, failures: 0 },
});

/** How much later a subject is due again that somebody has held for so long. */
async function putOffMs(busyForMs: number): Promise<number> {
  const release = async (): Promise<void> => undefined;
  const held = { keys: new Set<string>(), busyForMs: new Map([[KEY, busyForMs]]), release };
  const lock: Pick<Lock, 'acquireFree'> = {
    acquireFree: async () => ({ ...held, outcome: 'contended' }),
  };
  const { mine, contended } = await lockBatch(
    ClaimedBatch.of([due(1)]),
    { lockKey: () => KEY },
    {
      lock: lock as Lock,
      clock: { nowMs: () => NOW_MS },
      telemetry: silentTelemetry,
    },
    {} as Transaction,
  );
  expect(mine.each).toEqual([]);
  return (contended[0] as DueDeadline).dueAt.getTime() - NOW_MS;
}

describe('what somebody else has locked', () => {
  it('is looked at again soon, and later the longer they have had it', async () => {
    // So that who died with its locks is outlived in a few steps, whoever looks.
    expect([await putOffMs(0), await putOffMs(300), await putOffMs(5_000)]).toEqual([
      100, 300, 800,
    ]);
  });
});
