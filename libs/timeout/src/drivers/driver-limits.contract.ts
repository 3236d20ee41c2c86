import type { TimerAbilities } from '../timer-driver';
import { alarmIn, type Bench, HOUR_MS, surveyed } from './driver-bench';

/** What a driver does not claim is so: a row for each, so that nobody relies on it by accident. */
export function describeLimits(bench: () => Bench, abilities: TimerAbilities): void {
  if (abilities.scope === 'process') {
    it('shares no alarm with other processes', async () => {
      const [one, other] = [bench().openPatient(), bench().openPatient()];
      await one.arm([alarmIn(HOUR_MS)]);
      expect((await surveyed(one)).size).toBe(1);
      expect((await surveyed(other)).size).toBe(0);
    });
  }

  if (!abilities.durable && abilities.scope === 'shared') {
    it('loses what comes due while nobody listens', async () => {
      const [armer, listener] = [bench().openPatient(), bench().openPatient()];
      await armer.arm([alarmIn(20)]);
      const late = alarmIn(20 + 2 * abilities.precisionMs);
      await new Promise((resolve) => setTimeout(resolve, late.at.getTime() - Date.now()));
      await listener.start(bench().onRing());
      const fence = alarmIn(100);
      const ring = bench().ringOf(fence.id);
      await listener.arm([fence]);
      await ring;
      expect(bench().rung).toEqual([fence]);
    });
  }

  if (!abilities.durable && abilities.scope === 'process') {
    it('loses its alarms with its process', async () => {
      const driver = bench().openPatient();
      await driver.arm([alarmIn(HOUR_MS)]);
      await driver.stop();
      expect((await surveyed(bench().openPatient())).size).toBe(0);
    });
  }

  if (!abilities.dedupes) {
    it('rings, at worst, once for each arming', async () => {
      const driver = bench().openPatient();
      await driver.start(bench().onRing());
      const [twice, fence] = [alarmIn(100), alarmIn(400)];
      const ring = bench().ringOf(fence.id);
      await driver.arm([twice]);
      await driver.arm([twice, fence]);
      await ring;
      expect([1, 2]).toContain(bench().timesRung(twice.id));
    });
  }

  if (!abilities.disarms) {
    it('rings although it was told to disarm', async () => {
      const driver = bench().openPatient();
      await driver.start(bench().onRing());
      const alarm = alarmIn(100);
      const ring = bench().ringOf(alarm.id);
      await driver.arm([alarm]);
      await driver.disarm([alarm.id]);
      expect(await ring).toEqual(alarm);
    });
  }

  if (!abilities.surveys) {
    it('says that it cannot list its alarms, and has a generation all the same', async () => {
      const survey = await bench().openPatient().survey();
      expect(survey.generation).not.toBe('');
      await expect(surveyed(bench().openPatient())).rejects.toThrow('cannot be listed');
    });
  }
}
