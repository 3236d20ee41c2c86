import type { Alarm, OnRing, TimerDriver } from '../timer-driver';
import { TRUSTED_ABILITIES } from './trusted-abilities';

/** Rings when the test says so. */
export class HandDriver implements TimerDriver {
  readonly name = 'hand';
  readonly abilities = TRUSTED_ABILITIES;
  readonly armed: Alarm[] = [];
  isAway = false;
  ring: OnRing = async () => undefined;

  async start(onRing: OnRing): Promise<void> {
    this.ring = onRing;
  }
  async stop(): Promise<void> {}
  async disarm(): Promise<void> {}
  async arm(alarms: readonly Alarm[]): Promise<void> {
    if (this.isAway) throw new Error('away');
    this.armed.push(...alarms);
  }
  async survey() {
    if (this.isAway) throw new Error('away');
    return { generation: 'one', alarms: async function* () {} };
  }
}
