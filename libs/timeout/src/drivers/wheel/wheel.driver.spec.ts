import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
} from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../clock';
import type { Alarm, TimerDriver } from '../../timer-driver';
import { alarmIn, HOUR_MS, surveyed } from '../driver-bench';
import { describeTimerDriver } from '../driver.contract';
import { AlarmLog } from './alarm-log';
import { WHEEL_ABILITIES } from './wheel.abilities';
import { WheelDriver } from './wheel.driver';
import { InFreeFolder } from '../../testing/in-free-folder';

let root: string;
beforeAll(() => (root = mkdtempSync(join(tmpdir(), 'lastcall-wheel-'))));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describeTimerDriver(
  'WheelDriver',
  { create: (wish) => new InFreeFolder(root, wish), abilities: WHEEL_ABILITIES },
  'essentials',
);

describe('WheelDriver', () => {
  const errors: string[] = [];
  beforeEach(() => errors.splice(0));
  const open = (folder: string, databaseClock = systemClock): WheelDriver =>
    new WheelDriver({
      folder,
      databaseClock,
      onError: ({ message }) => void errors.push(message),
      // A disk that takes seconds is not what is tested.
      callTimeoutMs: 30_000,
    });
  const idsIn = async (driver: TimerDriver): Promise<string[]> =>
    [...(await surveyed(driver)).keys()].sort();
  const far = (n: number): Alarm => alarmIn(HOUR_MS + n, `far-${n}`);
  /** What a killed process leaves: no goodbye, and its number in the lock. */
  const killed = (folder: string): void => rmSync(join(folder, 'owner'));

  it('rings after a kill what it has missed, and not what had rung', async () => {
    const folder = join(root, 'missed');
    const before = open(folder);
    const rung: string[] = [];
    const first = new Promise<void>((resolve) => {
      void before.start(async (alarms) => {
        rung.push(...alarms.map(({ id }) => id));
        resolve();
      });
    });
    await before.arm([alarmIn(0, 'rung-1'), alarmIn(HOUR_MS / 2, 'missed-1'), far(1)]);
    await first;
    await before.stop();
    const after = open(folder, { nowMs: () => systemClock.nowMs() + HOUR_MS / 2 });
    const second = new Promise<string[]>((resolve) => {
      void after.start(async (alarms) => void resolve(alarms.map(({ id }) => id)));
    });
    expect(await second).toEqual(['missed-1']);
    expect(rung).toEqual(['rung-1']);
    expect(await idsIn(after)).toEqual(['far-1']);
    await after.stop();
    expect(errors).toEqual([]);
  });

  it('reads a log that ends anywhere in a record, and loses that record alone', async () => {
    const folder = join(root, 'torn');
    const one = open(folder);
    await one.arm([far(1)]);
    await one.arm([far(2)]);
    await one.arm([far(3)]);
    const [log = ''] = readdirSync(join(folder, 'alarms')).filter((name) => /^log/.test(name));
    const path = join(folder, 'alarms', log);
    const whole = readFileSync(path);
    killed(folder);
    const lastLine = whole.lastIndexOf('\n', whole.length - 2) + 1;
    for (let length = whole.length; length >= lastLine; length -= 5) {
      const copy = join(root, `torn-at-${length}`);
      const empty = new AlarmLog(join(copy, 'alarms'));
      await empty.open();
      await empty.close();
      const [name = ''] = readdirSync(join(copy, 'alarms')).filter((file) => /^log/.test(file));
      appendFileSync(join(copy, 'alarms', name), whole);
      truncateSync(join(copy, 'alarms', name), length);
      const driver = open(copy);
      // A line without its end is whole as long as its checksum fits.
      const isWhole = length >= whole.length - 1;
      expect(await idsIn(driver)).toEqual(['far-1', 'far-2', ...(isWhole ? ['far-3'] : [])]);
      // What is armed next is not glued to what was torn.
      await driver.arm([far(4)]);
      await driver.stop();
      const again = open(copy);
      expect(await idsIn(again)).toContain('far-4');
      await again.stop();
    }
    await one.stop();
    expect(errors.every((message) => message.includes('1 records'))).toBe(true);
    expect(errors.length).toBeGreaterThan(0);
  });

  it('passes over a record that the disk has changed', async () => {
    const folder = join(root, 'rotten');
    const one = open(folder);
    for (const n of [1, 2, 3]) await one.arm([far(n)]);
    await one.stop();
    const [log = ''] = readdirSync(join(folder, 'alarms')).filter((name) => /^log/.test(name));
    const path = join(folder, 'alarms', log);
    const text = readFileSync(path, 'utf8');
    truncateSync(path, 0);
    appendFileSync(path, text.replace('far-2', 'far-9'));
    const driver = open(folder);
    expect(await idsIn(driver)).toEqual(['far-1', 'far-3']);
    await driver.stop();
    expect(errors).toEqual(["1 records of the wheel's log were torn"]);
  });

  it('keeps its log short, and everything in it', async () => {
    const folder = join(root, 'long');
    const driver = open(folder);
    await driver.arm([far(0)]);
    for (let round = 0; round < 12; round++) {
      const alarms = Array.from({ length: 1_000 }, (_, n) => far(1 + round * 1_000 + n));
      await driver.arm(alarms);
      await driver.disarm(alarms.map(({ id }) => id));
    }
    await driver.stop();
    const files = readdirSync(join(folder, 'alarms'));
    const lines = files.map((name) =>
      readFileSync(join(folder, 'alarms', name), 'utf8').split('\n'),
    );
    expect(lines.flat().length).toBeLessThan(15_000);
    const again = open(folder);
    expect(await idsIn(again)).toEqual(['far-0']);
    await again.stop();
  });

  it('loses nothing that is armed while its log begins anew', async () => {
    const folder = join(root, 'anew');
    const log = new AlarmLog(folder);
    await log.open();
    const alarm = (seq: number) => ({ id: `far-${seq}`, atMs: 1, seq });
    await log.append([{ arm: alarm(1) }]);
    const begun = [
      log.append([{ arm: alarm(2) }]),
      log.snapshot([alarm(1), alarm(2)]),
      log.append([{ arm: alarm(3) }]),
      log.snapshot([alarm(1), alarm(2), alarm(3)]),
      log.append([{ forget: alarm(1) }]),
    ];
    await Promise.all(begun);
    await log.close();
    const read = new AlarmLog(folder);
    const { alarms, lastSeq, torn } = await read.open();
    await read.close();
    expect([[...alarms.keys()], lastSeq, torn]).toEqual([['far-2', 'far-3'], 3, 0]);
  });

  it('writes one snapshot after the other, the larger one first', async () => {
    const folder = join(root, 'two');
    const log = new AlarmLog(folder);
    await log.open();
    const alarms = Array.from({ length: 100_000 }, (_, n) => ({ id: `far-${n}`, atMs: 1, seq: n }));
    await Promise.all([log.snapshot(alarms), log.snapshot(alarms.slice(0, 1))]);
    await log.close();
    expect(readdirSync(folder).sort()).toEqual(['log-3', 'snapshot-3']);
    const read = new AlarmLog(folder);
    const { alarms: kept } = await read.open();
    await read.close();
    expect([...kept.keys()]).toEqual(['far-0']);
  });

  it('loses nothing behind a record that a full disk has taken by half', async () => {
    const folder = join(root, 'full');
    const log = new AlarmLog(folder);
    await log.open();
    const alarm = (seq: number) => ({ id: `far-${seq}`, atMs: 1, seq });
    const probe = await openFile(join(root, 'probe'), 'w');
    const files = Object.getPrototypeOf(probe) as FileHandle;
    await probe.close();
    const { appendFile } = files;
    const full = jest.spyOn(files, 'appendFile').mockImplementationOnce(async function (
      this: FileHandle,
      text,
    ) {
      await appendFile.call(this, String(text).slice(0, 12));
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    });
    await expect(log.append([{ arm: alarm(1) }])).rejects.toThrow('no space left');
    full.mockRestore();
    await log.append([{ arm: alarm(2) }]);
    await log.append([{ arm: alarm(3) }]);
    await log.close();
    const read = new AlarmLog(folder);
    const { alarms, torn } = await read.open();
    await read.close();
    expect([[...alarms.keys()], torn]).toEqual([['far-2', 'far-3'], 1]);
  });

  it('works once its log can be opened, after it could not', async () => {
    const folder = join(root, 'mended');
    mkdirSync(folder);
    appendFileSync(join(folder, 'alarms'), '');
    const driver = open(folder);
    await expect(driver.arm([far(1)])).rejects.toThrow('EEXIST');
    rmSync(join(folder, 'alarms'));
    await driver.arm([far(1)]);
    expect(await idsIn(driver)).toEqual(['far-1']);
    await driver.stop();
  });

  it('begins a generation where a full disk has left an empty file of it', async () => {
    const folder = join(root, 'generation');
    mkdirSync(folder);
    appendFileSync(join(folder, 'generation'), '');
    const driver = open(folder);
    const { generation } = await driver.survey();
    expect(generation).toMatch(/^[\da-f-]{36}$/);
    await driver.stop();
    const again = open(folder);
    expect((await again.survey()).generation).toBe(generation);
    await again.stop();
  });

  it.each([
    ['that is a file', (file: string) => file],
    ['below a file', (file: string) => join(file, 'wheel')],
    ['where none can be', () => '/proc/lastcall/wheel'],
  ])('refuses a folder %s, and says what to do', async (_, folderOf) => {
    const file = join(root, 'file');
    appendFileSync(file, '');
    const folder = folderOf(file);
    await expect(open(folder).arm([far(1)])).rejects.toThrow(
      `TIMER_WHEEL_FOLDER must be a folder that this process can make and write to, not ${folder}`,
    );
  });

  it('refuses a folder that another process uses, and says what to do', async () => {
    const folder = join(root, 'shared');
    const one = open(folder);
    await one.arm([far(1)]);
    await expect(open(folder).arm([far(2)])).rejects.toThrow(
      /is used by process \d+: give each worker a TIMER_WHEEL_FOLDER of its own/,
    );
    await one.stop();
  });
});
