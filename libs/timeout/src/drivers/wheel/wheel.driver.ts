import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock';
import { withTimeLimit } from '../../time-limit';
import type { Alarm, OnRing, Survey, TimerDriver } from '../../timer-driver';
import { AlarmStoreError } from '../alarm-store.error';
import { type AlarmSource, RingLoop } from '../ring-loop';
import { AlarmLog, type LoggedAlarm, type LogRecord } from './alarm-log';
import { lockFolder } from './folder-lock';
import { HierarchicalWheel, type WheelEntry } from './hierarchical-wheel';
import { WHEEL_ABILITIES } from './wheel.abilities';

export interface WheelDriverOptions {
  /** Of this process alone: what it holds when a process dies is rung by the next one. */
  readonly folder: string;
  /** "Now" by the database. */
  readonly databaseClock: Clock;
  readonly onError: (error: Error) => void;
  /** How long the disk may take over what is armed or disarmed. Default: 1.8 s. */
  readonly callTimeoutMs?: number;
}

interface Entry extends WheelEntry, LoggedAlarm {}

/** A clock that is set is noticed within this time. */
const LONGEST_WAIT_MS = 1_000;
const CALL_LIMIT_MS = 1_800;
/** The log is written anew when it has so many records more than there are alarms. */
const SLACK = 10_000;

/**
 * Alarms in a hierarchical timing wheel of this process. An append-only log with checksums and a
 * snapshot bring them through a kill: after a start it rings what it has missed.
 */
export class WheelDriver implements TimerDriver {
  readonly name = 'wheel';
  readonly abilities = WHEEL_ABILITIES;
  readonly #log: AlarmLog;
  readonly #loop: RingLoop;
  readonly #wheel: HierarchicalWheel<Entry>;
  readonly #armed = new Map<string, Entry>();
  /** Those that ring just now, by id: the arming that rings. */
  readonly #ringing = new Map<string, Entry>();
  #seq = 0;
  #opening: Promise<void> | undefined;
  #unlock: (() => Promise<void>) | undefined;
  #snapshot: Promise<void> | undefined;
  #generation = '';
  #stopping: Promise<void> | undefined;

  constructor(private readonly options: WheelDriverOptions) {
    const { databaseClock: clock, onError } = options;
    this.#log = new AlarmLog(join(options.folder, 'alarms'));
    this.#wheel = new HierarchicalWheel(clock.nowMs());
    const longestWaitMs = (): number => LONGEST_WAIT_MS;
    this.#loop = new RingLoop(this.#source(), { clock, onError, longestWaitMs });
  }

  async start(onRing: OnRing): Promise<void> {
    await this.#open();
    this.#loop.start(onRing);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    await this.#open();
    const fresh: LogRecord[] = [];
    for (const { id, at } of alarms) {
      if (this.#armed.has(id)) continue;
      const arm = { id, atMs: at.getTime(), seq: (this.#seq += 1) };
      this.#add({ ...arm, ringAtMs: arm.atMs });
      fresh.push({ arm });
    }
    await this.#write(fresh);
    for (const { at } of alarms) this.#loop.lookAt(at.getTime());
  }

  async disarm(ids: readonly string[]): Promise<void> {
    await this.#open();
    const gone: LogRecord[] = [];
    for (const id of ids) {
      const entry = this.#armed.get(id);
      if (!entry) continue;
      this.#armed.delete(id);
      this.#wheel.remove(entry);
      gone.push({ forget: entry });
    }
    await this.#write(gone);
  }

  async survey(): Promise<Survey> {
    await this.#open();
    const armed = this.#armed;
    return {
      generation: this.#generation,
      async *alarms() {
        for (const { id, atMs } of armed.values()) yield { id, at: new Date(atMs) };
      },
    };
  }

  #source(): AlarmSource {
    return {
      take: async (nowMs, limit) => {
        const taken = this.#wheel.take(nowMs, limit);
        for (const entry of taken) {
          this.#armed.delete(entry.id);
          this.#ringing.set(entry.id, entry);
        }
        const due = taken.map(({ id, atMs }) => ({ id, at: new Date(atMs) }));
        return { due, nextAtMs: this.#wheel.nextAtMs };
      },
      // Only now: a process that is killed in its ring rings it again.
      forget: (rung) => this.#write(rung.flatMap(({ id }) => this.#rung(id))),
      putBack: async (again) => {
        for (const { alarm, inMs } of again) {
          const entry = this.#ringing.get(alarm.id);
          this.#ringing.delete(alarm.id);
          if (!entry || this.#armed.has(alarm.id)) continue;
          const { id, atMs, seq } = entry;
          this.#add({ id, atMs, seq, ringAtMs: this.options.databaseClock.nowMs() + inMs });
        }
      },
    };
  }

  #rung(id: string): LogRecord[] {
    const entry = this.#ringing.get(id);
    this.#ringing.delete(id);
    return entry ? [{ forget: entry }] : [];
  }

  #add(entry: Entry): void {
    this.#armed.set(entry.id, entry);
    this.#wheel.add(entry);
  }

  async #write(records: readonly LogRecord[]): Promise<void> {
    const written = this.#log.append(records).then(() => this.#compact());
    const { callTimeoutMs = CALL_LIMIT_MS } = this.options;
    await withTimeLimit(written, callTimeoutMs, 'The disk did not take it').catch(
      (error: unknown) => {
        throw new AlarmStoreError('The alarm store (the log of the wheel) did not take it', error);
      },
    );
  }

  #compact(): void {
    const { size } = this.#armed;
    if (this.#snapshot || this.#log.length < 2 * size + SLACK) return;
    const alarms = [...this.#armed.values(), ...this.#ringing.values()];
    this.#snapshot = this.#log
      .snapshot(alarms)
      .catch((error: unknown) => this.options.onError(error as Error))
      .finally(() => (this.#snapshot = undefined));
  }

  #open(): Promise<void> {
    if (this.#stopping) {
      return Promise.reject(new AlarmStoreError('The wheel driver was stopped'));
    }
    this.#opening ??= this.#read().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #read(): Promise<void> {
    const { folder, onError } = this.options;
    // Still ours, where reading failed before.
    this.#unlock ??= await lockFolder(folder);
    const { alarms, lastSeq, torn } = await this.#log.open();
    this.#seq = lastSeq;
    this.#generation = await generationOf(join(folder, 'generation'));
    for (const { id, atMs, seq } of alarms.values()) this.#add({ id, atMs, seq, ringAtMs: atMs });
    // One is what a killed process leaves behind; the sweep has it.
    if (torn > 0) onError(new AlarmStoreError(`${torn} records of the wheel's log were torn`));
  }

  async #stop(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    await this.#loop.stop();
    await this.#snapshot;
    await this.#log.close();
    await this.#unlock?.();
  }
}

/** Gone with the folder. Empty is what a full disk has left of one that was being written. */
async function generationOf(file: string): Promise<string> {
  const known = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '';
  });
  if (known !== '') return known;
  const generation = randomUUID();
  await writeFile(`${file}-unfinished`, generation);
  await rename(`${file}-unfinished`, file);
  return generation;
}
