import { randomUUID } from 'node:crypto';
import { openWorld, silentDriver } from '../../../../test/support/world';
import { alarmFor } from './alarm-for';
import type { Alarm } from '../timer-driver';

const inMs = (ms: number): Date => new Date(Date.now() + ms);

it.each(['order', '100ms'])('tells alarms apart at a granularity of %s', async (granularity) => {
  const alarms: Alarm[] = [];
  const survey = async () => ({
    generation: 'one',
    alarms: async function* () {
      yield* alarms;
    },
  });
  const disarm = async (ids: readonly string[]) => {
    const left = alarms.filter(({ id }) => !ids.includes(id));
    alarms.splice(0, alarms.length, ...left);
  };
  const world = await openWorld({
    ...{
      driver: { ...silentDriver, survey, disarm },
      settings: { TIMER_GRANULARITY: granularity },
    },
  });
  try {
    const dueIn = (ms: number) => {
      const deadline = {
        ...{ kind: 'payment', subjectId: randomUUID(), version: 1, dueAt: inMs(ms), failures: 0 },
      };
      return { deadline, alarm: alarmFor(deadline, granularity === 'order' ? 'subject' : 100) };
    };
    const [armed, missing, wrong] = [dueIn(60_000), dueIn(120_000), dueIn(180_000)] as const;
    const ofOlder = dueIn(200_000);
    const [beyond, gone] = [dueIn(7_200_000), dueIn(240_000)] as const;
    for (const { deadline } of [armed, missing, wrong, beyond, ofOlder]) {
      await world.rows(
        `INSERT INTO deadlines (kind, subject_id, version, due_at, far)
         VALUES ($1, $2, $3, $4, $4 > now() + interval '1 hour')`,
        [deadline.kind, deadline.subjectId, deadline.version, deadline.dueAt],
      );
    }
    const late = { id: 'slot-1', at: inMs(-60_000) };
    const foreign = { id: 'not-an-id-of-ours-99999999999999999999', at: inMs(300_000) };
    const elsewhere = { ...wrong.alarm, at: inMs(600_000) };
    // As a version armed slots that had them ring at their end: nobody notices but for the 100 ms.
    const atItsEnd = granularity === 'order' ? 0 : 100;
    const older = { ...ofOlder.alarm, at: new Date(ofOlder.alarm.at.getTime() + atItsEnd) };
    alarms.push(older, armed.alarm, elsewhere, beyond.alarm, gone.alarm, late, foreign);
    expect(await world.timeouts.verifyAlarms.run()).toMatchObject({
      ...{ alarms: 7, expected: 4 },
      missing: { count: 1, sample: [missing.alarm] },
      wrong: { count: 1, sample: [wrong.alarm] },
      orphaned: { count: 2, sample: [gone.alarm, foreign] },
      late: { count: 1, sample: [late] },
    });
    // As one that a process armed whose clock was a day ahead: nobody takes it for a day.
    await world.timeouts.verifyAlarms.run({ fix: true });
    expect(alarms).not.toContain(late);
    expect(await world.timeouts.verifyAlarms.run()).toMatchObject({ late: { count: 0 } });
  } finally {
    await world.close();
  }
});
