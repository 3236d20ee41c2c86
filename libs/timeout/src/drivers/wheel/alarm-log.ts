import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/** What was armed, and is not known to have rung. */
export interface LoggedAlarm {
  readonly id: string;
  readonly atMs: number;
  /** Each arming has its own: what is forgotten is one arming, not a later one of the same id. */
  readonly seq: number;
}

export type LogRecord =
  { readonly arm: LoggedAlarm } | { readonly forget: Pick<LoggedAlarm, 'id' | 'seq'> };

/** What was read back. */
export interface Recovered {
  readonly alarms: Map<string, LoggedAlarm>;
  readonly lastSeq: number;
  /** Lines whose checksum did not fit: the last one was torn by a crash, others by the disk. */
  readonly torn: number;
}

/** What the log does in the order in which it was asked: append, or begin anew. */
type Work = { readonly text: string } | { readonly logNumber: number };

const FILE = /^(log|snapshot|unfinished)-(\d+)$/;

/**
 * An append-only log in a folder, a line a record, each with its checksum. `append` resolves when
 * the disk has it; those that come while it writes go with the next write, together. From time to
 * time the state is written out whole, and the log begins anew: first the new log, then the
 * snapshot under another name, then its name, then away with the old: a crash at any point leaves
 * a snapshot and all logs since.
 */
export class AlarmLog {
  #file: FileHandle | undefined;
  #number = 0;
  readonly #pending: { what: Work; done: () => void; failed: (error: unknown) => void }[] = [];
  #writing: Promise<void> | undefined;
  #snapshot: Promise<void> = Promise.resolve();
  /** Records since the last snapshot. */
  length = 0;

  constructor(private readonly folder: string) {}

  /** Reads what there is, and opens a new log behind it. */
  async open(): Promise<Recovered> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const files = (await readdir(this.folder)).flatMap((name) => {
      const [, kind, number] = FILE.exec(name) ?? [];
      // What was not finished when its process died is in the logs as well.
      return kind && kind !== 'unfinished' ? [{ name, kind, number: Number(number) }] : [];
    });
    const newest = Math.max(
      0,
      ...files.filter(({ kind }) => kind === 'snapshot').map(({ number }) => number),
    );
    const since = files
      .filter(({ kind, number }) => number > newest || (number === newest && kind === 'snapshot'))
      .concat(files.filter(({ kind, number }) => number === newest && kind === 'log'))
      .sort((a, b) => a.number - b.number || (a.kind === 'snapshot' ? -1 : 1));
    const alarms = new Map<string, LoggedAlarm>();
    let [lastSeq, torn] = [0, 0];
    for (const { name } of since) {
      for (const line of (await readFile(join(this.folder, name), 'utf8')).split('\n')) {
        if (line === '') continue;
        const record = parse(line);
        if (!record) torn += 1;
        else lastSeq = Math.max(lastSeq, apply(alarms, record));
      }
    }
    this.#number = Math.max(0, ...files.map(({ number }) => number));
    await this.snapshot(alarms.values());
    return { alarms, lastSeq, torn };
  }

  append(records: readonly LogRecord[]): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    this.length += records.length;
    return this.#enqueue({ text: records.map(lineOf).join('') });
  }

  /**
   * Writes the state out. `alarms` is read at once: what was appended before is in it, and what is
   * appended from now on goes into the new log. One after the other, as each removes what is older
   * than itself, and would remove one that is still being written.
   */
  snapshot(alarms: Iterable<LoggedAlarm>): Promise<void> {
    const text = [...alarms].map((arm) => lineOf({ arm })).join('');
    const number = (this.#number += 1);
    this.length = 0;
    const begun = this.#enqueue({ logNumber: number });
    const before = this.#snapshot;
    const written = begun.then(() => before).then(() => this.#replace(number, text));
    this.#snapshot = written.catch(() => undefined);
    return written;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file?.close();
    this.#file = undefined;
  }

  #enqueue(what: Work): Promise<void> {
    return new Promise((done, failed) => {
      this.#pending.push({ what, done, failed });
      this.#writing ??= this.#work();
    });
  }

  /** One thing after the other; records that wait beside each other go with one write. */
  async #work(): Promise<void> {
    while (this.#pending.length > 0) {
      const isText = this.#pending.map(({ what }) => 'text' in what);
      const end = isText.indexOf(!isText[0]);
      const together = isText[0] ? (end < 0 ? this.#pending.length : end) : 1;
      const batch = this.#pending.splice(0, together);
      try {
        for (const { what } of batch) if ('logNumber' in what) await this.#begin(what.logNumber);
        const text = batch.map(({ what }) => ('text' in what ? what.text : '')).join('');
        if (text !== '') await this.#write(text);
        for (const { done } of batch) done();
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    this.#writing = undefined;
  }

  async #begin(number: number): Promise<void> {
    const file = await open(join(this.folder, `log-${number}`), 'a', 0o600);
    await this.#file?.close();
    this.#file = file;
  }

  async #replace(number: number, text: string): Promise<void> {
    const unfinished = join(this.folder, `unfinished-${number}`);
    await writeFile(unfinished, text, { mode: 0o600, flush: true });
    await rename(unfinished, join(this.folder, `snapshot-${number}`));
    await syncFolder(this.folder);
    for (const name of await readdir(this.folder)) {
      const [, kind, old] = FILE.exec(name) ?? [];
      if (kind && Number(old) < number) await rm(join(this.folder, name), { force: true });
    }
  }

  async #write(text: string): Promise<void> {
    if (!this.#file) throw new Error('the log is not open');
    // On a line of its own: behind half a one, which a write that failed has left, it would be lost with that.
    await this.#file.appendFile(`\n${text}`);
    await this.#file.datasync();
  }
}

/** The new name of a file is on the disk when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

function lineOf(record: LogRecord): string {
  const text =
    'arm' in record
      ? `A ${record.arm.seq} ${record.arm.id} ${record.arm.atMs}`
      : `F ${record.forget.seq} ${record.forget.id}`;
  return `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`;
}

function parse(line: string): LogRecord | undefined {
  const text = line.slice(9);
  if (crc32(text) !== Number.parseInt(line.slice(0, 8), 16)) return undefined;
  const [kind, seq, id = '', atMs] = text.split(' ');
  if (kind === 'A') return { arm: { id, atMs: Number(atMs), seq: Number(seq) } };
  return { forget: { id, seq: Number(seq) } };
}

/** Returns the record's number. */
function apply(alarms: Map<string, LoggedAlarm>, record: LogRecord): number {
  if ('arm' in record) {
    alarms.set(record.arm.id, record.arm);
    return record.arm.seq;
  }
  const { id, seq } = record.forget;
  if (alarms.get(id)?.seq === seq) alarms.delete(id);
  return seq;
}
