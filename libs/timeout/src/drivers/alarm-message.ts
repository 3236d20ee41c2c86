/** An alarm as it lies in a broker. */
export interface AlarmMessage {
  readonly id: string;
  readonly atMs: number;
}

/** Undefined for what somebody else has put there. */
export function alarmIn(text: string): AlarmMessage | undefined {
  try {
    const { id, atMs } = JSON.parse(text) as Partial<AlarmMessage>;
    const isAlarm = typeof id === 'string' && typeof atMs === 'number' && isInstant(atMs);
    return isAlarm ? { id, atMs } : undefined;
  } catch {
    return undefined;
  }
}

/** More than 270,000 years away there is none. */
function isInstant(ms: number): boolean {
  return !Number.isNaN(new Date(ms).getTime());
}
